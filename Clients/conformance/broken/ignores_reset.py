"""Takes only the first snapshot in: a later one, in the place of updates, is ignored."""
from correct import Client, main


class IgnoresReset(Client):
    def take_snapshot(self, snapshot):
        if self.copy is None:
            super().take_snapshot(snapshot)


main(IgnoresReset)
