"""Breaks a rule: this client does not repeat a request that the server answered with 503."""
from correct import Client, main


class StopsAt503(Client):
    RETRIED = Client.RETRIED - {503}


main(StopsAt503)
