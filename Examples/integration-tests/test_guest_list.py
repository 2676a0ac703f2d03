"""Shows how to test a program against the real server: pytest Examples/integration-tests"""
from guest_list import GuestList


def test_a_guest_who_is_turned_down_is_invited_again(braid):
    guests = GuestList(braid)
    name = guests.attending()[1]
    assert guests.turn_down(1)
    assert name not in guests.attending()
    assert braid.rows("invited")[0] == name


def test_every_test_starts_with_the_party_as_it_was(braid):
    assert len(GuestList(braid).attending()) == 3


def test_two_people_at_once_mean_the_guest_that_they_saw(braid):
    mine, theirs = GuestList(braid), GuestList(braid)
    first, second, third = mine.attending()
    assert theirs.turn_down(0)
    # In the copy of `mine`, the second guest is still in row 1. On the server, this guest is in row 0 now.
    assert mine.turn_down(1)
    assert mine.attending() == braid.rows("attending") == [third]


def test_a_guest_who_is_gone_cannot_be_turned_down_twice(braid):
    mine, theirs = GuestList(braid), GuestList(braid)
    name = mine.attending()[0]
    assert theirs.turn_down(0)
    # The server finds the guest who is in row 0 of the copy of `mine`. This guest is now in the section `invited`,
    # where nobody can be deleted.
    assert not mine.turn_down(0)
    assert braid.rows("invited")[0] == name
    assert mine.attending() == braid.rows("attending")


def test_what_the_table_does_not_allow_is_refused(braid):
    status, problem = braid.request("POST", "/v1/sessions/party/edits", {"delete": {"section": "invited", "row": 0}})
    assert (status, problem["type"]) == (403, "/problems/editing-not-allowed")


def test_ids_and_times_are_the_same_in_every_run(braid):
    status, opened = braid.request("POST", "/v1/sessions", {"table": "attendees"})
    assert (status, opened["session"], opened["revision"]) == (201, "session-1", 0)
    _, facts = braid.request("GET", "/v1/sessions/session-1")
    assert facts["created"].startswith("2000-01-01T00:00:00.")
