"""Breaks a rule: if the server refuses a command with 412, this client sends the command again without its condition.
"""
from correct import Client, main


class Ignores412(Client):
    def refused(self, command, refusal):
        if refusal.status != 412:
            return super().refused(command, refusal)
        command["headers"] = {}
        self.keep(command)


main(Ignores412)
