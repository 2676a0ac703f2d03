"""Checks that the targets of the links in the documents exist."""
import re

import pytest

from documents import ROOT, Document, linking_documents


@pytest.mark.parametrize("document", linking_documents(), ids=lambda document: document.name.replace("/", "-"))
def test_every_link_leads_somewhere(document):
    for number, target in document.links():
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        found = (document.path.parent / path).resolve() if path else document.path
        where = f"{document.name}:{number}: {target}"
        assert found.exists() and found.is_relative_to(ROOT), where
        if anchor:
            assert found.suffix == ".md" and anchor in Document(found).anchors(), where


def test_every_document_is_found_from_the_readme():
    """A reader who starts at README.md and follows all links reaches every document."""
    found, waiting = set(), [ROOT / "README.md"]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        for _, target in Document(path).links():
            other = (path.parent / target.partition("#")[0]).resolve()
            if not re.match(r"[a-z]+:", target) and other.suffix == ".md" and other.exists():
                waiting.append(other)
    missed = [str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md") if path not in found]
    assert not missed
