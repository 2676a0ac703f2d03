"""Breaks a rule: this client makes a new idempotency key for each try of a command."""
from correct import Client, main


class RetriesWithoutItsKey(Client):
    def key(self, command):
        return self.new_key()


main(RetriesWithoutItsKey)
