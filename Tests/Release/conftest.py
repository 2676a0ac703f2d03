import os
import shutil
import subprocess

import pytest

from server import ROOT

LEFT_OUT = shutil.ignore_patterns(".git", ".build*", "data", "dist", "Corpora", "images", "__pycache__", "node_modules")


class Repository:
    """A git repository with one commit of all files in this checkout. So a test also covers files that are not
    committed yet.
    """

    def __init__(self, root):
        self.root = root
        shutil.copytree(ROOT, root, ignore=LEFT_OUT, symlinks=True)
        self.run("git", "init", "--quiet")
        self.commit()

    def run(self, *command, check=True, umask=-1, **variables):
        return subprocess.run(
            command, cwd=self.root, check=check, capture_output=True, text=True, umask=umask, env=os.environ | variables)

    def commit(self):
        self.run("git", "add", "--all")
        date = "2026-01-02T03:04:05Z"
        self.run(
            "git", "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit", "--quiet", "--message", "A release",
            GIT_AUTHOR_DATE=date, GIT_COMMITTER_DATE=date)


@pytest.fixture(scope="session")
def repository(tmp_path_factory):
    return Repository(tmp_path_factory.mktemp("release") / "braid-server")
