"""Runs the examples of the kit's README.md."""
import re
import shutil
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
TABLES = Path(__file__).parents[3] / "Examples/attendees"
[INI] = re.findall(r"```ini\n(.*?)```", README, re.S)
# The last example needs a container, so this test does not run it.
TESTS, SCRIPT, CLIENT, _ = re.findall(r"```python\n(.*?)```", README, re.S)


@pytest.fixture
def project(pytester):
    shutil.copytree(TABLES, pytester.path / "tables")
    pytester.makeini(INI)
    return pytester


def test_the_tests_of_the_readme_pass(project, run):
    project.makepyfile(TESTS)
    run().assert_outcomes(passed=2)


def test_the_tests_of_the_readme_can_fail(project, run):
    project.makepyfile(TESTS.replace("exactly=2", "exactly=3"))
    result = run()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*VerificationFailed*"])


def test_the_program_of_the_readme_runs(project):
    project.makepyfile(program=SCRIPT)
    assert project.runpython("program.py").outlines == ["6"]


def test_the_example_of_the_client_is_true(project, braid_server):
    braid_server.reset()
    project.makepyfile(program=CLIENT.replace("http://127.0.0.1:8080", braid_server.url).replace("token=None", f"token={braid_server.token!r}"))
    result = project.runpython("program.py")
    assert result.ret == 0, result.stderr.str()
    braid_server.reset()
