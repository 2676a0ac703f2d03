import pytest

from braid_testing import Subscription

# On a busy machine, an update can arrive later than after the ten seconds for which a subscription waits by default.
for wait in (Subscription.wait_until, Subscription.wait_for_revision, Subscription.wait_until_live):
    wait.__defaults__ = (60,)


@pytest.fixture
def run(pytester, monkeypatch):
    """Runs pytest in a project that the test has written, without the other pytest plugins that are installed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return lambda *arguments: pytester.runpytest_subprocess("-p", "braid_testing.plugin", "-p", "no:cacheprovider", *arguments)


@pytest.fixture
def client(braid_server):
    """A client that waits for 10 ms before each retry. It repeats a request often, because a busy server can refuse
    connections for longer than the test has asked for.
    """
    client = braid_server.client.with_token(braid_server.token)
    client.retries = 6_000
    client.delay = lambda tries, retry_after=None, first=0: 0.01
    return client


@pytest.fixture
def party(client, braid_session):
    """The session of this test, used through `client`, whose retries are fast."""
    return client.session(braid_session.id)
