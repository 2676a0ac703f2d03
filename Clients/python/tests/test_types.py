"""Checks that the type annotations of the package are complete and correct."""
import subprocess
import sys
from pathlib import Path

import pytest


def test_mypy_finds_no_faults(tmp_path):
    pytest.importorskip("mypy")
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", tmp_path], cwd=Path(__file__).parents[1], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout


def test_mypy_finds_a_wrong_rule(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text("from braid_testing import fault\nfault.close(methd='POST')\nfault.close(method='POST', times=1)\n")
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", tmp_path, "--config-file", "", tmp_path / "program.py"], cwd=Path(__file__).parents[1],
        capture_output=True, text=True)
    assert 'Unexpected keyword argument "methd"' in run.stdout and "Found 1 error" in run.stdout, run.stdout
