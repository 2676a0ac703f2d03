"""Starts and stops servers for the Python tests."""
import os
import pathlib
import signal
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = pathlib.Path(os.environ.get("BRAID_SERVER_BINARY", ROOT / ".build/debug/braid-server")).resolve()


class Server:
    """A server on a free port. As a context manager, it stops the server at the end of `with`."""

    def __init__(self, *options, database=":memory:", port=0, token=None):
        self.options = ["--database", str(database), "--log-level", "warning", *map(str, options)]
        # The server refuses to start if an environment variable `BRAID_…` is not one of its settings.
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("BRAID_")} | ({"BRAID_TOKEN": token} if token else {})
        self.token = token
        self.port = port
        self.start()

    def start(self):
        """Starts the server. After a stop, the server starts on the same port again."""
        command = [BINARY, "serve", "--port", str(self.port), *self.options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=self.environment)
        self.url = self.process.stdout.readline().removeprefix("listening on ").strip()
        self.port = int(self.url.rsplit(":", 1)[1])

    def stop(self):
        """Stops the server, which must end without an error."""
        self.process.terminate()
        assert self.process.wait(timeout=60) == 0

    def kill(self):
        """Kills the server with SIGKILL, so that the server cannot clean up."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def wait_until(condition, sleep=time.sleep):
    """Polls a condition. Only for what announces no change: the port, the files or the metrics of another process. In a
    browser's tests, `sleep` lets Playwright call the test's handlers.
    """
    deadline = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < deadline, "the condition is never met"
        sleep(0.02)
