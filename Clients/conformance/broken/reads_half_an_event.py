"""Breaks a rule: this client stores the id of an event as its position before it has received the whole event."""
from correct import Client, main


class ReadsHalfAnEvent(Client):
    def reads_field(self, name, value):
        if name == "id":
            self.position = value


main(ReadsHalfAnEvent)
