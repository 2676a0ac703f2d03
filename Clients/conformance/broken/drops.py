"""Breaks a rule: after a lost connection, this client follows from the current revision instead of continuing from its
own position.
"""
from correct import Client, main


class Drops(Client):
    is_back = False

    def reconnects(self):
        self.position, self.is_back = None, True

    def take_snapshot(self, snapshot):
        if not self.is_back:
            super().take_snapshot(snapshot)
        self.is_back = False


main(Drops)
