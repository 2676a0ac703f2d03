"""Checks that the cookbook's table descriptions are valid, and that each page of the cookbook shows its whole
description.
"""
import json
import subprocess

import jsonschema
import pytest

from documents import ROOT, Document
from terminal import BINARY

COOKBOOK = ROOT / "docs/cookbook"
TABLES = sorted((COOKBOOK / "tables").glob("*.table.json"))
PAGES = [Document(path) for path in sorted(COOKBOOK.glob("*.md")) if path.name != "README.md"]


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.name)
def test_valid_descriptions(table):
    """A description of the cookbook is valid without a warning."""
    check = subprocess.run([BINARY, "check", table], capture_output=True, text=True)
    assert check.returncode == 0 and not check.stdout + check.stderr, check.stdout + check.stderr


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.name)
def test_schema_for_editors(table):
    """The schema for editors accepts a description of the cookbook."""
    schema = json.loads((ROOT / "docs/table-description.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(json.loads(table.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path.name)
def test_one_description(page):
    """A page of the cookbook shows one description in full."""
    copies = {block.marks["copy of"]: block.text for block in page.blocks if "copy of" in block.marks}
    [(path, text)] = copies.items()
    assert text == (ROOT / path).read_text(encoding="utf-8"), f"{page.name}: the block is not all of {path}"


def test_pages_in_list():
    """Every description of the cookbook has a page in its list."""
    shown = [block.marks["copy of"] for page in PAGES for block in page.blocks if "copy of" in block.marks]
    assert sorted(shown) == sorted(str(table.relative_to(ROOT)) for table in TABLES)
    listed = [target for _, target in Document(COOKBOOK / "README.md").links() if target.endswith(".md") and "/" not in target]
    assert sorted(listed) == sorted(page.path.name for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path.name)
def test_page_commands(page):
    """A page of the cookbook opens its table and shows the answers."""
    commands = "".join(block.text for block in page.of("sh"))
    [path] = [block.marks["copy of"] for block in page.blocks if "copy of" in block.marks]
    table = path.rpartition("/")[2].removesuffix(".table.json")
    assert f'"table": "{table}"' in commands
    answers = [block for block in page.of("json") if block.before is not None and block.before.language == "sh"]
    assert len(answers) >= 3, "the snapshot, and a flow of two commands or more"
