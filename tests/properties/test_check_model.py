"""Every public model gets an answer for every kind of accelerator."""

from __future__ import annotations

from typing import Any

from eks_hardware.advisor.fitting.migration import check_model as check
from helpers.advisor import CONFIGS, request_for
from helpers.cases import in_one_test


@in_one_test("name", [file.stem for file in sorted(CONFIGS.glob("*.json"))])
@in_one_test("target", ["trainium", "inferentia", "gpu"])
@in_one_test("task", ["training", "inference"])
def test_every_model_has_an_answer_for_every_target(name: str, target: Any, task: str) -> None:
    found = check(request_for(name, task=task), target)
    assert (found.verdict == "no") is (not found.fits)
    assert found.reason
    assert bool(found.changes) is (bool(found.fits) and target != "gpu")
