"""Breaks a rule: this client always names positions with the epoch of its first snapshot, even after the epoch has
changed.
"""
from correct import Client, main


class KeepsAStaleEpoch(Client):
    epoch = None

    def position_of(self, snapshot):
        self.epoch = self.epoch or snapshot["epoch"]
        return f"{self.epoch}.{snapshot['revision']}"


main(KeepsAStaleEpoch)
