"""Breaks a rule: this client processes only its first snapshot, and ignores a later snapshot that the server sends in
place of updates.
"""
from correct import Client, main


class IgnoresReset(Client):
    def take_snapshot(self, snapshot):
        if self.copy is None:
            super().take_snapshot(snapshot)


main(IgnoresReset)
