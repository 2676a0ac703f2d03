"""Checks that docs/json-e.md lists exactly the operators and functions that the engine has."""
import re

from documents import ROOT, Document, rows, section

PAGE = Document(ROOT / "docs/json-e.md")
ENGINE = ROOT / "Sources/BraidEngine/JSONe"


def test_the_page_lists_every_operator():
    source = (ENGINE / "JSONeCompiler.swift").read_text()
    known = set(re.findall(r'"(\$\w+)"', re.search(r"operatorNames: Set<String> = \[(.*?)\]", source, re.S)[1]))
    listed = [re.search(r"\$\w+", cells[0])[0] for cells in rows(section(PAGE, "Operators"))[1:]]
    assert len(known) == 16 and sorted(listed) == sorted(known)


def test_the_page_lists_every_function():
    cases = re.search(r"enum Builtin: [^{]*\{(.*?)\n\n", (ENGINE / "Builtin.swift").read_text(), re.S)[1]
    known = set(re.findall(r"\b(?!case\b)(\w+)", cases))
    listed = [re.match(r"`(\w+)\(", cells[0])[1] for cells in rows(section(PAGE, "Functions"))[1:]]
    assert len(known) == 21 and sorted(listed) == sorted(known)


def test_the_page_lists_every_infix_operator():
    levels = re.search(r"levels: \[\[String\]\] = \[(.*?)\n    \]", (ENGINE / "ExpressionParser.swift").read_text(), re.S)[1]
    known = [re.findall(r'"(.*?)"', level) for level in re.findall(r"\[(.*?)\]", levels)]
    table = section(PAGE, "Expressions").split("from the weakest to the strongest binding:")[1]
    listed = [re.findall(r"`(.*?)`", cells[0].replace("\\|", "|")) for cells in rows(table)[1:]]
    assert [set(level) for level in listed[:len(known)]] == [set(level) for level in known]
