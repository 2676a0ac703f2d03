"""Sends a command again without its condition if the server refuses it with 412."""
from correct import Client, main


class Ignores412(Client):
    def refused(self, command, refusal):
        if refusal.status != 412:
            return super().refused(command, refusal)
        command["headers"] = {}
        self.keep(command)


main(Ignores412)
