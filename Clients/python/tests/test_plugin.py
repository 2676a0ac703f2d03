"""Tests of the pytest plugin. Each test writes a small project and runs pytest in it."""
import shutil
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "Examples"


@pytest.fixture
def project(pytester):
    pytester.makeini("[pytest]\nbraid_fixtures = tables\n")
    shutil.copytree(EXAMPLES / "attendees", pytester.path / "tables")
    return pytester


def test_each_test_has_a_session_of_its_own(project, run):
    project.makepyfile("""
        import pytest
        from braid_testing import fault

        @pytest.mark.parametrize("number", range(3))
        def test_a_guest_is_turned_down(braid_session, number):
            assert braid_session.ids("attending") == ["Jonathan", "Omar", "Sara"]
            braid_session.delete({"id": "Sara"})
            assert braid_session.ids("attending") == ["Jonathan", "Omar"] and braid_session.snapshot()["revision"] == 1

        def test_faults_are_removed(braid_session, braid_faults):
            braid_faults.set(fault.respond(404))

        def test_no_fault_is_left(braid_session, braid_faults, braid_server):
            assert braid_faults.all() == []
            braid_session.end()
            assert [session["id"] for session in braid_server.client.sessions()] == ["party"]
    """)
    run().assert_outcomes(passed=5)


def test_the_session_is_chosen_by_a_marker_or_a_setting(project, run):
    shutil.copytree(EXAMPLES / "form", project.path / "tables", dirs_exist_ok=True)
    project.makepyfile("""
        import pytest

        @pytest.mark.braid_session("party")
        def test_marked(braid_session):
            assert braid_session.snapshot()["table"] == "attendees"

        def test_unmarked(braid_session):
            assert braid_session.snapshot()["table"] == "form"
    """)
    result = run()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*The server has 2 sessions (event, party). Name the one to copy*"])
    run("-o", "braid_session=event").assert_outcomes(passed=2)


def test_a_project_without_a_folder_or_a_binary_hears_what_to_set(project, run):
    project.makepyfile("def test_it(braid_server): pass")
    run("-o", "braid_fixtures=").stdout.fnmatch_lines(["*Set braid_fixtures in pytest.ini*"])
    result = run("--braid-binary", "/nowhere")
    result.stdout.fnmatch_lines(["*No such file or directory: '/nowhere'*"])


def test_a_running_server_is_used(project, run, braid_server, monkeypatch):
    monkeypatch.setenv("BRAID_SERVER_TOKEN", braid_server.token)
    project.makepyfile(f"""
        def test_it(braid_server):
            assert braid_server.url == {braid_server.url!r} and braid_server.client.sessions()
    """)
    run("--braid-url", braid_server.url).assert_outcomes(passed=1)


def test_options_reach_the_server(project, run):
    project.makepyfile("""
        import pytest
        from braid_testing import BraidClient, Problem

        def test_it(braid_server):
            with pytest.raises(Problem, match="too-many-sessions"):
                BraidClient(braid_server.url, braid_server.token, retries=0).fork("party")
    """)
    run("-o", "braid_options=--max-sessions 1").assert_outcomes(passed=1)
