"""For each fault that the server can produce, the client and its subscriptions end with the right table."""
import pytest

from braid_testing import ConnectionLost, Problem, fault

EDITS = "/v1/sessions/*/edits"
UPDATES = "/v1/sessions/*/updates"


def kinds(copy):
    return [event.kind for event in copy.events]


@pytest.mark.parametrize("rule, lost", [
    (fault.close, False), (fault.lose_answer, True), (lambda **match: fault.truncate(20, **match), True),
    (lambda **match: fault.respond(503, **match), False),
    (lambda **match: fault.respond(429, retry_after=1, **match), False), (lambda **match: fault.refuse_connections(30, **match), False),
])
def test_a_command_is_applied_once_whatever_happens_to_its_answer(party, braid_faults, braid_server, rule, lost):
    braid_server.requests.clear()
    braid_faults.set(rule(id="first", path=EDITS, times=1))
    answer = party.delete({"id": "Sara"})
    assert answer["outcome"] == "applied" and answer["revision"] == 1
    assert "Sara" not in party.ids("attending") and braid_faults.applied("first") == 1
    braid_server.requests.verify(exactly=1 if lost else 0, session=party.id, path=EDITS, replayed=True)


def test_a_lost_answer_without_a_key_is_thrown(party, braid_faults):
    braid_faults.set(fault.lose_answer(path=EDITS, times=1))
    with pytest.raises(ConnectionLost):
        party.delete({"id": "Sara"}, key=None)
    assert "Sara" not in party.ids("attending"), "the server has carried out the command"


def test_a_refusal_is_thrown_with_its_type(party, braid_faults):
    braid_faults.set(fault.respond(422, type="model-invalid", path=EDITS))
    with pytest.raises(Problem) as refusal:
        party.delete({"id": "Sara"})
    assert (refusal.value.status, refusal.value.kind, refusal.value.tries) == (422, "model-invalid", 1)
    assert party.summary()["revision"] == 0


def test_slow_answers_arrive(party, braid_faults):
    braid_faults.set(fault.delay(30, jitter=10, path=EDITS), fault.throttle(20_000, path="/v1/sessions/*/snapshot"))
    party.delete({"id": "Sara"})
    assert party.snapshot()["revision"] == 1
    assert braid_faults.applied() == 2


@pytest.mark.parametrize("bytes", [0, 1, 30, 100])
def test_a_copy_is_complete_after_its_stream_was_cut(party, braid_faults, bytes):
    """The first stream ends right before the second update, or in the middle of this update."""
    braid_faults.set(fault.cut_stream(3, bytes, id="cut", session=party.id, path=UPDATES, times=1))
    with party.subscribe() as copy:
        copy.wait_until_live()
        for name in ["Sara", "Omar"]:
            party.delete({"id": name})
        assert copy.wait_for_revision(2) == party.snapshot()
        assert copy.wait_until(lambda copy: kinds(copy).count("live") == 2)
    assert kinds(copy).count("snapshot") == 1 and kinds(copy).count("update") == 2 and kinds(copy).count("waiting") == 1


def test_a_copy_gets_what_a_paused_stream_delivers_later(party, braid_faults):
    braid_faults.set(fault.pause_stream(2, 50, path=UPDATES, times=1))
    with party.subscribe() as copy:
        copy.wait_until_live()
        party.delete({"id": "Sara"})
        assert copy.wait_for_revision(1) == party.snapshot()
    assert "waiting" not in kinds(copy)


def test_a_silent_stream_counts_as_lost(party, braid_faults):
    braid_faults.set(fault.pause_stream(1, 60_000, path=UPDATES, times=1))
    with party.subscribe(silence=0.1) as copy:
        copy.wait_until_live()
    assert kinds(copy).count("waiting") >= 1


def test_a_snapshot_replaces_a_copy(party, braid_faults):
    shown = party.snapshot()
    party.delete({"id": "Sara"})
    braid_faults.set(fault.snapshot(path=UPDATES))
    with party.subscribe(since=shown) as copy:
        assert copy.wait_until_live() == party.snapshot()
    assert kinds(copy) == ["snapshot", "live"]
    assert party.updates(shown)["reset"] is True


def test_a_copy_of_another_epoch_starts_again(party, braid_faults):
    with party.subscribe() as copy:
        first = copy.wait_until_live()
        braid_faults.set(fault.new_epoch(path=EDITS, times=1))
        party.delete({"id": "Sara"})
        # The subscription may have continued before the edit, with a snapshot of revision 0.
        last = copy.wait_until(
            lambda copy: copy.snapshot if copy.snapshot["epoch"] != first["epoch"] and copy.snapshot["revision"] == 1 else None)
        assert last == party.snapshot()
    with pytest.raises(Problem) as refusal:
        party.delete({"id": "Omar"}, base=first)
    assert refusal.value.kind == "base-too-old"


def test_a_subscription_outlives_a_restart(party, braid_faults):
    with party.subscribe() as copy:
        copy.wait_until_live()
        braid_faults.set(fault.refuse_connections(50, path=EDITS, times=1))
        party.delete({"id": "Sara"})
        assert copy.wait_for_revision(1) == party.snapshot()


def test_probabilities_are_the_same_for_the_same_seed(party, braid_faults):
    def applied(seed):
        braid_faults.set(fault.respond(404, probability=0.5, path="/v1/sessions/*/snapshot"), seed=seed)
        found = []
        for _ in range(16):
            try:
                party.snapshot()
                found.append(0)
            except Problem:
                found.append(1)
        return found

    first = applied(1)
    assert first == applied(1) and first != applied(2) and 0 < sum(first) < 16


def test_a_bad_rule_is_refused_and_changes_nothing(braid_faults):
    braid_faults.set(fault.close(id="kept", path="/nowhere"))
    with pytest.raises(Problem):
        braid_faults.set(fault.respond(99))
    assert [rule["id"] for rule in braid_faults.all()] == ["kept"]
    with pytest.raises(LookupError):
        braid_faults.applied("another")
