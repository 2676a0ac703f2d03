"""Makes a new key for each try."""
from correct import Client, main


class RetriesWithoutItsKey(Client):
    def key(self, command):
        return self.new_key()


main(RetriesWithoutItsKey)
