"""Sends a command that must be sent again behind those that wait."""
from correct import Client, main


class Reorders(Client):
    def keep(self, command):
        self.commands.append(command)


main(Reorders)
