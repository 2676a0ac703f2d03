"""Names positions by the epoch of the first snapshot."""
from correct import Client, main


class KeepsAStaleEpoch(Client):
    epoch = None

    def position_of(self, snapshot):
        self.epoch = self.epoch or snapshot["epoch"]
        return f"{self.epoch}.{snapshot['revision']}"


main(KeepsAStaleEpoch)
