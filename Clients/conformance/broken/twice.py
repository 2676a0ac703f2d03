"""Breaks a rule: after this client has applied the update of a command's answer, it applies the same update again from
the stream.
"""
from correct import Client, main


class Twice(Client):
    def take_update(self, update):
        with self.lock:
            self.copy = self.applied(update, self.copy)
            self.report({"copy": self.copy, "by": "update"})


main(Twice)
