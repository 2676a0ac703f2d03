"""Applies the updates of tables and windows in Tests/Golden, which the engine made. Compares the results with the
snapshots of the engine.
"""
import copy
import json
import pathlib

import pytest

from braid_testing import UpdateFault, applying, stages

GOLDEN = pathlib.Path(__file__).parents[3] / "Tests/Golden"
CASES = json.loads((GOLDEN / "updates.json").read_text(encoding="utf-8"))["cases"]
WINDOWS = json.loads((GOLDEN / "windows.json").read_text(encoding="utf-8"))["cases"]


def test_a_golden_update_leads_to_the_snapshot_after_it_and_leaves_the_one_before():
    assert len(CASES) > 60 and len(WINDOWS) > 60
    for case in CASES + WINDOWS:
        before = copy.deepcopy(case["before"])
        assert applying(case["update"], before) == case["after"], case["name"]
        assert before == case["before"], case["name"]


def test_a_faulty_update_is_refused_for_the_reason_that_the_engine_names():
    count = 0
    for case in CASES + WINDOWS:
        for faulty in case["faults"]:
            with pytest.raises(UpdateFault) as fault:
                applying(faulty["update"], case["before"])
            assert str(fault.value) == faulty["fault"], case["name"]
            count += 1
    assert count > 206


def test_snapshots_share_what_an_update_did_not_change():
    for case in CASES:
        after = applying(case["update"], case["before"])
        if not case["update"]["stages"]:
            assert after["sections"] is case["before"]["sections"]


def test_each_stage_has_the_snapshot_before_and_after_it():
    count = 0
    for case in CASES:
        shown = case["before"]
        for step in stages(case["update"], case["before"]):
            assert step.before is shown and step.stage is case["update"]["stages"][step.number]
            shown = step.after
            count += 1
        assert shown["sections"] == case["after"]["sections"]
    assert count > 60
