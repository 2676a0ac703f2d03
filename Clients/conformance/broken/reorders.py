"""Breaks a rule: this client puts a command that must be sent again behind the commands that were not sent yet."""
from correct import Client, main


class Reorders(Client):
    def keep(self, command):
        self.commands.append(command)


main(Reorders)
