"""Follows from now on after a lost connection, in place of from where it was."""
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
