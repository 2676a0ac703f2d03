"""A module for testcontainers-python: `pip install 'braid-server-testing[testcontainers]'`."""
from __future__ import annotations

import os
import pathlib
import secrets
from typing import Any

from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import LogMessageWaitStrategy

from .server import Server

IMAGE = "braid-server:0.2.0"


class BraidContainer(DockerContainer):
    """A container of Braid Server in test mode:

        with BraidContainer("fixtures") as braid:
            braid.server.session("party").snapshot()
    """

    def __init__(self, fixtures: str | os.PathLike[str], image: str = IMAGE, **options: Any) -> None:
        super().__init__(image, **options)
        self._token = secrets.token_hex(16)
        self._server: Server | None = None
        self.with_volume_mapping(str(pathlib.Path(fixtures).resolve()), "/fixtures", "ro")
        self.with_exposed_ports(8080)
        self.waiting_for(LogMessageWaitStrategy("listening on "))
        settings = {
            "TEST_MODE": "true", "DETERMINISTIC": "true", "DATABASE": ":memory:", "FIXTURES": "/fixtures", "TOKEN": self._token,
        }
        for name, value in settings.items():
            self.with_env(f"BRAID_{name}", value)

    @property
    def server(self) -> Server:
        """The server that runs in the started container."""
        if self._server is None:
            raise RuntimeError("Start the container first: `with BraidContainer(…) as braid:`.")
        return self._server

    def start(self) -> BraidContainer:
        """Starts the container, and returns once the server accepts connections."""
        super().start()
        self._server = Server(f"http://{self.get_container_host_ip()}:{self.get_exposed_port(8080)}", self._token)
        return self
