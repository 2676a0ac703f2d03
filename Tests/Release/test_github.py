"""Checks that GitHub understands the files in .github."""
import pathlib
import re
import subprocess
import sys

import pytest
import yaml

from server import ROOT

FOLDER = ROOT / ".github"
SCHEMAS = {"workflows": "github-workflows", "dependabot": "dependabot", "config": "github-issue-config", "ISSUE_TEMPLATE": "github-issue-forms"}
FILES = sorted(FOLDER.rglob("*.yml"))
WORKFLOWS = [path for path in FILES if path.parent.name == "workflows"]
EACH_WORKFLOW = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)


def uses(path):
    """Returns the actions and other workflows that a workflow uses."""
    return re.findall(r"uses: (\S+)", path.read_text())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_follow_their_schemas(path):
    schema = SCHEMAS.get(path.stem) or SCHEMAS[path.parent.name]
    command = [pathlib.Path(sys.executable).with_name("check-jsonschema"), "--builtin-schema", f"vendor.{schema}", path]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


@EACH_WORKFLOW
def test_permissions(path):
    """A workflow without `permissions` has the permissions that the repository grants, which may be all permissions."""
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] in ({}, {"contents": "read"})
    for name, job in workflow["jobs"].items():
        assert "permissions" in job or workflow["permissions"], name
        assert "timeout-minutes" in job or "uses" in job, name


@EACH_WORKFLOW
def test_actions_have_a_fixed_version(path):
    for action in uses(path):
        assert action.startswith("./") or re.fullmatch(r"[\w./-]+@(v\d+|[0-9a-f]{40})", action), action
        assert not action.startswith("./") or (ROOT / action).is_file(), action


@EACH_WORKFLOW
def test_scripts(path):
    """Scripts of workflows exist and are valid."""
    for job in yaml.safe_load(path.read_text())["jobs"].values():
        for step in job.get("steps", []):
            script = re.sub(r"\$\{\{.*?\}\}", "x", step.get("run", ""))
            assert subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0
            for program in re.findall(r"^(Scripts/[\w-]+|\./\w+)", script, re.M):
                assert (ROOT / program).is_file(), program


def test_a_release_publishes_every_part():
    workflow = yaml.safe_load((FOLDER / "workflows/release.yml").read_text())
    built = {entry["architecture"]: set(entry["parts"].split()) for entry in workflow["jobs"]["build"]["strategy"]["matrix"]["include"]}
    parts = set(re.search(r"^parts=\((.*)\)", (ROOT / "Scripts/release").read_text(), re.M)[1].split())
    assert built["amd64"] == parts and built["arm64"] == parts - {"documentation", "client"}


def test_dependabot_knows_the_folders():
    for update in yaml.safe_load((FOLDER / "dependabot.yml").read_text())["updates"]:
        file = {"swift": "Package.swift", "docker": "Dockerfile", "pip": "requirements.txt", "github-actions": ".github/workflows"}[update["package-ecosystem"]]
        assert (ROOT / update["directory"].strip("/") / file).exists(), update
