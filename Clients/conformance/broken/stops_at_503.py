"""Gives up if the server has no time."""
from correct import Client, main


class StopsAt503(Client):
    RETRIED = Client.RETRIED - {503}


main(StopsAt503)
