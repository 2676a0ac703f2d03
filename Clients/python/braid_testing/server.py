"""A server for tests: a process of the binary, a container, or a server that is already running."""
from __future__ import annotations

import os
import pathlib
import queue
import secrets
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence

from .client import BraidClient, Session
from .test_mode import Clock, Faults, Requests

ARGUMENTS = ["serve", "--test-mode", "--deterministic", "--database", ":memory:", "--exit-with-stdin"]


class Server:
    """A server in test mode. A server that `start` or `run` started ends at the end of a `with` block.

    A server that `start` or `run` starts has a new token for its controller, so that roles can be tested. The
    environment variables of this process that begin with `BRAID_` are not passed to the server.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        """Uses a server that is already running, with its controller's token."""
        self.url = url.rstrip("/")
        self.token = token
        self.client = BraidClient(self.url, token)
        self.faults = Faults(self.client)
        self.requests = Requests(self.client)
        self.clock = Clock(self.client)
        self._process: subprocess.Popen[str] | None = None
        self._log = tempfile.TemporaryFile("w+")
        self._container: list[str] = []

    @classmethod
    def find(cls, fixtures: str | os.PathLike[str], *, options: Sequence[str] = (), environment: Mapping[str, str] = os.environ) -> Server:
        """Returns the server that the environment names, or starts one:

        - `BRAID_SERVER_URL`, with `BRAID_SERVER_TOKEN`: a server that is already running. Then `fixtures` and `options`
          have no effect.
        - `BRAID_SERVER_IMAGE`: a container of this image.
        - `BRAID_SERVER_BINARY`, or `braid-server` on the `PATH`: a process of this binary.
        """
        if url := environment.get("BRAID_SERVER_URL"):
            return cls(url, environment.get("BRAID_SERVER_TOKEN"))
        if image := environment.get("BRAID_SERVER_IMAGE"):
            return cls.run(image, fixtures, options=options)
        binary = environment.get("BRAID_SERVER_BINARY") or shutil.which("braid-server")
        if not binary:
            raise FileNotFoundError(
                "No server was found. Set BRAID_SERVER_BINARY to the path of braid-server, BRAID_SERVER_IMAGE to an image, "
                "or BRAID_SERVER_URL to the address of a server in test mode.")
        return cls.start(binary, fixtures, options=options)

    @classmethod
    def start(cls, binary: str | os.PathLike[str], fixtures: str | os.PathLike[str], *, options: Sequence[str] = ()) -> Server:
        """Starts a server from the binary on a free port. Returns once the server accepts connections.

        - `fixtures`: the folder with the files `*.table.json` and `*.session.json`.
        - `options`: more command-line options of `braid-server serve`.
        """
        command = [os.fspath(binary), *ARGUMENTS, "--port", "0", "--fixtures", os.fspath(fixtures), *options]
        return cls._started(command)

    @classmethod
    def run(cls, image: str, fixtures: str | os.PathLike[str], *, options: Sequence[str] = (), engine: str | None = None) -> Server:
        """Starts a container of the image with `docker` or `podman`. Returns once the server accepts connections.

        The container's port is published only on the loopback address of this machine.
        """
        engine = engine or shutil.which("docker") or shutil.which("podman")
        if not engine:
            raise FileNotFoundError("To run the image, install docker or podman.")
        name = f"braid-{secrets.token_hex(6)}"
        command = [
            engine, "run", "--rm", "--interactive", "--name", name, "--publish", "127.0.0.1::8080",
            "--volume", f"{pathlib.Path(fixtures).resolve()}:/fixtures:ro", "--env", "BRAID_TOKEN", "--env", "BRAID_LOG_LEVEL",
            image, *ARGUMENTS, "--fixtures", "/fixtures", *options,
        ]
        server = cls._started(command)
        server._container = [engine, "rm", "--force", name]
        ports = subprocess.run([engine, "port", name, "8080/tcp"], capture_output=True, text=True)
        if ports.returncode != 0:
            server.stop()
            raise RuntimeError(f"{engine} does not name the port of the container: {ports.stderr}")
        server._move(f"http://{ports.stdout.split()[0]}")
        return server

    @classmethod
    def _started(cls, command: list[str]) -> Server:
        token = secrets.token_hex(16)
        server = cls("", token)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("BRAID_")}
        server._process = subprocess.Popen(
            command, env={**kept, "BRAID_LOG_LEVEL": "warning", "BRAID_TOKEN": token}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=server._log)
        lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=lambda output: lines.put(output.readline()), args=[server._process.stdout], daemon=True).start()
        try:
            line = lines.get(timeout=60)
        except queue.Empty:
            line = ""
        if not line.startswith("listening on "):
            server.stop()
            raise RuntimeError(f"The server did not start: {' '.join(command)}\n{server.log()}")
        server._move(line.removeprefix("listening on ").strip())
        return server

    def _move(self, url: str) -> None:
        self.url = self.client.url = url

    def log(self) -> str:
        """The server's log, by default its warnings and errors. Empty for a server that `start` or `run` did not start.
        """
        self._log.seek(0)
        return self._log.read()

    def session(self, id: str) -> Session:
        return self.client.session(id)

    def reset(self) -> None:
        """Resets the server to its state after the start: tables, sessions, tokens, faults, recorded requests and the
        clock.
        """
        self.client.send("POST", "/v1/test/reset", is_repeatable=True)

    def stop(self) -> None:
        """Ends the server, if `start` or `run` started it."""
        if self._process is None:
            return
        process, self._process = self._process, None
        if process.stdin:
            process.stdin.close()
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            if self._container:
                subprocess.run(self._container, capture_output=True)
        if process.stdout:
            process.stdout.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._log.close()
