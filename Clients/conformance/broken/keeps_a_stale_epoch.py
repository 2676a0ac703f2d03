"""Breaks a rule: in commands and in requests for lists of updates, this client names positions with the epoch of its
first snapshot, even after the epoch has changed.
"""
from correct import Client, main


class KeepsAStaleEpoch(Client):
    epoch = None

    def position_of(self, snapshot):
        self.epoch = self.epoch or snapshot["epoch"]
        return f"{self.epoch}.{snapshot['revision']}"


main(KeepsAStaleEpoch)
