"""The program that the tests check. The program keeps its own copy of the guests, and updates the copy with the
server's updates.
"""


class GuestList:
    def __init__(self, server):
        self.server = server
        snapshot = server.snapshot()
        self.revision = snapshot["revision"]
        self.sections = [list(section["rows"]) for section in snapshot["sections"]]
        self.names = [section["id"] for section in snapshot["sections"]]

    def attending(self):
        return [row["id"] for row in self.sections[self.names.index("attending")]]

    def turn_down(self, row):
        """Deletes a guest from the list `attending`. `row` is the guest's row number in this program's copy."""
        status, answer = self.server.request(
            "POST", f"/v1/sessions/party/edits?base={self.revision}&form=sequential", {"delete": {"section": "attending", "row": row}})
        # Other programs may have changed the table before this command, so the copy first needs their updates. The list
        # of updates contains all updates in order.
        self.catch_up()
        return status == 200 and answer["outcome"] == "applied"

    def catch_up(self):
        _, answer = self.server.request("GET", f"/v1/sessions/party/updates?since={self.revision}&form=sequential")
        for update in answer["updates"]:
            for operation in update["operations"]:
                self.apply(operation)
        self.revision = answer["to"]

    def apply(self, operation):
        ((name, value),) = operation.items()
        if name == "moveRow":
            (section, row), (to_section, to_row) = value["from"], value["to"]
            moved = self.sections[section].pop(row)
            self.sections[to_section].insert(to_row, value.get("row", moved))
        elif name == "deleteRow":
            del self.sections[value[0]][value[1]]
        elif name == "insertRow":
            self.sections[value["at"][0]].insert(value["at"][1], value["row"])
        elif name in ("reloadRow", "updateRow"):
            self.sections[value["at"][0]][value["at"][1]] = value["row"]
        else:
            raise NotImplementedError(name)
