"""The pytest plugin: the fixtures `braid_server`, `braid_session` and `braid_faults`.

| name | in `pytest.ini` or `pyproject.toml` |
|---|---|
| `braid_fixtures` | the folder with `*.table.json` and `*.session.json`, relative to the configuration file |
| `braid_session` | the session that the fixture `braid_session` copies for each test |
| `braid_options` | more command-line options of `braid-server serve` |
"""
from __future__ import annotations

import os
import pathlib
import shlex
from collections.abc import Iterator

import pytest

from .client import Session
from .server import Server
from .test_mode import Faults
from .wire import Problem


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("braid", "Braid Server")
    group.addoption("--braid-binary", metavar="PATH", help="the server's binary (or BRAID_SERVER_BINARY, or braid-server on the PATH)")
    group.addoption("--braid-image", metavar="IMAGE", help="the server's container image (or BRAID_SERVER_IMAGE)")
    group.addoption("--braid-url", metavar="URL", help="a server in test mode that runs already (or BRAID_SERVER_URL)")
    parser.addini("braid_fixtures", "the folder of *.table.json and *.session.json")
    parser.addini("braid_session", "the session that the fixture braid_session forks")
    parser.addini("braid_options", "more options of braid-server serve")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "braid_session(id): the session that the fixture braid_session forks for this test")


@pytest.fixture(scope="session")
def braid_fixtures(pytestconfig: pytest.Config) -> pathlib.Path:
    """The folder with the files `*.table.json` and `*.session.json`. To generate the files in your tests, override this
    fixture.
    """
    name = pytestconfig.getini("braid_fixtures")
    if not name:
        raise pytest.UsageError("Set braid_fixtures in pytest.ini to the folder of your *.table.json and *.session.json.")
    folder = pytestconfig.inipath.parent if pytestconfig.inipath else pytestconfig.rootpath
    return folder / str(name)


@pytest.fixture(scope="session")
def braid_server(pytestconfig: pytest.Config, braid_fixtures: pathlib.Path) -> Iterator[Server]:
    """A server in test mode for the whole test run. With pytest-xdist, each worker starts its own server, unless the
    tests use a server that runs already.
    """
    names = {"braid_url": "BRAID_SERVER_URL", "braid_image": "BRAID_SERVER_IMAGE", "braid_binary": "BRAID_SERVER_BINARY"}
    chosen = {variable: pytestconfig.getoption(name) for name, variable in names.items() if pytestconfig.getoption(name)}
    # If a command-line option names a server, the environment variables that name a server are ignored.
    environment = {name: value for name, value in os.environ.items() if not chosen or name not in names.values()}
    options = shlex.split(pytestconfig.getini("braid_options"))
    with Server.find(braid_fixtures, options=options, environment={**environment, **chosen}) as server:
        yield server


@pytest.fixture
def braid_session(request: pytest.FixtureRequest, braid_server: Server) -> Iterator[Session]:
    """A fork for one test: a copy of a session of the server.

    The marker `braid_session("party")` or the setting `braid_session` names the session to copy. If the server
    has only one session, neither is needed.
    """
    marker = request.node.get_closest_marker("braid_session")
    name = marker.args[0] if marker else request.config.getini("braid_session")
    if not name:
        ids = [session["id"] for session in braid_server.client.sessions()]
        if len(ids) != 1:
            raise pytest.UsageError(
                f"The server has {len(ids)} sessions ({', '.join(ids)}). Name the one to copy with "
                '@pytest.mark.braid_session("…"), or set braid_session in pytest.ini.')
        name = ids[0]
    session = braid_server.client.fork(name)
    yield session
    # The rules are removed first, because they could otherwise apply to the request that ends the session.
    braid_server.faults.clear()
    try:
        session.end()
    except Problem as problem:
        # The server answers 404 if the test has already ended the session or reset the server.
        if problem.status != 404:
            raise


@pytest.fixture
def braid_faults(braid_server: Server) -> Iterator[Faults]:
    """The rules that make the server fail. Before and after each test that uses this fixture, all rules are removed."""
    braid_server.faults.clear()
    yield braid_server.faults
    braid_server.faults.clear()
