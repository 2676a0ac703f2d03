"""Applies an update of a command's answer again when the stream brings it."""
from correct import Client, main


class Twice(Client):
    def take_update(self, update):
        with self.lock:
            self.copy = self.applied(update, self.copy)
            self.report({"copy": self.copy, "by": "update"})


main(Twice)
