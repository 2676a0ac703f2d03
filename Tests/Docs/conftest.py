import subprocess

import pytest

from terminal import BINARY


@pytest.fixture(scope="session")
def url():
    """A server that is asked what it knows."""
    command = [BINARY, "serve", "--port", "0", "--database", ":memory:", "--log-level", "error"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    yield process.stdout.readline().removeprefix("listening on ").strip()
    process.terminate()
    process.wait(timeout=15)
