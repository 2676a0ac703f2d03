"""The program that is tested: it keeps its own copy of the guests, and follows what the server says became of them."""


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
        """Takes a guest off the list, as of the revision that is shown here."""
        status, answer = self.server.request(
            "POST", f"/v1/sessions/party/edits?base={self.revision}&form=sequential", {"delete": {"section": "attending", "row": row}})
        # The answer's update leads on from what others did meanwhile: that comes first, in the list of updates.
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
