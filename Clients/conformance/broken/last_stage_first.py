"""Breaks a rule: this client applies the stages of an update in the wrong order."""
from correct import Client, main


class LastStageFirst(Client):
    def stages(self, update):
        return reversed(update["stages"])


main(LastStageFirst)
