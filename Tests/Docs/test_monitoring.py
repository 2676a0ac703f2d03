"""Checks that Prometheus accepts the files in Examples/monitoring, and that they use only metrics that a server
exports.
"""
import json
import re
import shutil
import subprocess
import urllib.request

import pytest
import yaml

from documents import ROOT, Document, rows, section
from server import Server

MONITORING = Document(ROOT / "docs/monitoring.md")
FOLDER = ROOT / "Examples/monitoring"
RULES = [rule for group in yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"] for rule in group["rules"]]
TESTS = yaml.safe_load((FOLDER / "alerts.test.yml").read_text())["tests"]
DASHBOARD = json.loads((FOLDER / "dashboard.json").read_text())
OF_PROMETHEUS = {"up": set()}  # metrics that Prometheus itself adds
OF_SCRAPES = {"job", "instance"}  # labels that Prometheus adds to each sample


def promtool():
    """Returns the path of promtool, which is either unpacked from Debian's package or installed."""
    found = ROOT / ".build/prometheus/usr/bin/promtool"
    program = str(found) if found.exists() else shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not here: apt could not be asked for it")
    return program


def run(*arguments, text=None):
    return subprocess.run([promtool(), *map(str, arguments)], input=text, capture_output=True, text=True, cwd=ROOT)


def expressions():
    """Returns all expressions in the rules and in the dashboard, with values in place of Grafana's variables."""
    panels = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    values = {"$__rate_interval": "5m", "$job": "braid", "$instance": ".*"}
    for name, value in values.items():
        panels = [text.replace(name, value) for text in panels]
    return [rule["expr"] for rule in RULES] + panels


# MARK: promtool


def test_the_commands_of_the_page_succeed():
    [block] = [block for block in MONITORING.of("sh") if block.text.startswith("promtool ")]
    for line in block.text.splitlines():
        name, *arguments = line.split()
        assert name == "promtool"
        done = run(*arguments)
        assert done.returncode == 0 and "SUCCESS" in done.stdout, done


def test_rules_and_dashboard(tmp_path):
    """The rules are valid and the dashboard is written in the same language."""
    records = [{"record": f"test:{number}", "expr": text} for number, text in enumerate(expressions())]
    path = tmp_path / "rules.yml"
    path.write_text(json.dumps({"groups": [{"name": "test", "rules": records}]}))
    done = run("check", "rules", path)
    assert done.returncode == 0 and f"{len(records)} rules found" in done.stdout, done


def test_form_of_metrics():
    """The metrics of a server have the form that prometheus recommends."""
    with Server() as server, urllib.request.urlopen(server.url + "/metrics") as answer:
        done = run("check", "metrics", text=answer.read().decode())
    assert done.returncode == 0 and not done.stdout + done.stderr, done


# MARK: Metrics and labels


def test_used_metrics(exported):
    """Alerts and dashboard use metrics and labels that a server has."""
    known = exported | OF_PROMETHEUS
    words = {"by", "without", "on", "rate", "increase", "changes", "sum", "le", "histogram_quantile"}
    for text in expressions():
        # Each label that an expression groups by or matches must be a label of one of its metrics.
        grouped = [name for names in re.findall(r"\b(?:by|without|on) \(([^)]*)\)", text) for name in names.split(", ")]
        matched = [name for labels in re.findall(r"\{([^}]*)\}", text) for name in re.findall(r"(\w+)(?:=~|!~|!=|=)", labels)]
        bare = re.sub(r"\b(?:by|without|on) \([^)]*\)|\{[^}]*\}|\[[^\]]*\]", " ", text)
        metrics = [re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(r"[a-z_]{2,}", bare) if name not in words]
        assert metrics and set(metrics) <= set(known), text
        assert set(grouped + matched) <= set().union(*(known[name] for name in metrics)) | OF_SCRAPES | {"le"}, text


def test_limits(exported):
    """Every limit has an alert and a panel."""
    limits = {name for name in exported if name.endswith("_max")}
    assert len(limits) == 5
    for texts in [[rule["expr"] for rule in RULES], [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]]:
        assert limits <= set(re.findall(r"[a-z_]+_max\b", " ".join(texts)))


# MARK: Alerts


def test_alerts():
    """Every alert is documented and has a test in which it fires and one in which it does not."""
    names = [rule["alert"] for rule in RULES]
    assert len(set(names)) == len(names)
    assert [cells[0].strip("`") for cells in rows(section(MONITORING, "Alerts"))[1:]] == names
    for name in names:
        cases = [case for test in TESTS for case in test["alert_rule_test"] if case["alertname"] == name]
        last = [test["alert_rule_test"][-1].get("exp_alerts") for test in TESTS if test["name"].startswith(name + " ")]
        assert len(cases) >= 2 and sorted(map(bool, last)) == [False, True], name


def test_a_wrong_expectation_fails(tmp_path):
    """Shows that the tests of the rules can fail: with a wrong limit, or without its metric, an alert does not fire."""
    shutil.copy(FOLDER / "alerts.test.yml", tmp_path)
    rules = (FOLDER / "alerts.yml").read_text()
    for right, wrong in [("braid_http_connections_max > 0.9", "braid_http_connections_max > 0.99"), ("braid_database_up == 0", "braid_database_upp == 0")]:
        assert right in rules
        (tmp_path / "alerts.yml").write_text(rules.replace(right, wrong))
        assert run("test", "rules", tmp_path / "alerts.test.yml").returncode == 1
