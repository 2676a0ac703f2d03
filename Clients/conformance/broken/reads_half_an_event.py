"""Takes the position of an event in before the event is complete."""
from correct import Client, main


class ReadsHalfAnEvent(Client):
    def reads_field(self, name, value):
        if name == "id":
            self.position = value


main(ReadsHalfAnEvent)
