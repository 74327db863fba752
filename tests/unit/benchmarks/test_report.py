"""The benchmark's report of its figures, and the page that quotes them."""

from __future__ import annotations

import copy
import json
from typing import Any

from benchmarks import report
from benchmarks.__main__ import ACCEPTED, PAGE
from helpers.cases import in_one_test

RESULTS: dict[str, Any] = json.loads(ACCEPTED.read_text(encoding="utf-8"))


def _changed(*path: str | int, by: float) -> dict[str, Any]:
    """Return the accepted results with one figure multiplied."""
    results = copy.deepcopy(RESULTS)
    *parents, last = path
    holder: Any = results
    for each in parents:
        holder = holder[each]
    holder[last] *= by
    return results


def test_the_page_quotes_the_accepted_results() -> None:
    quoted = PAGE.read_text(encoding="utf-8").partition(report.BEGIN)[2].partition(report.END)[0]
    assert quoted.strip() == report.tables(RESULTS)


def test_nothing_is_worse_than_itself() -> None:
    assert report.worse(RESULTS, RESULTS) == {}


@in_one_test(
    ("path", "name"),
    [
        (("synthesis", "mixed-hardware", "seconds", "ours"), "synth mixed-hardware, time / stock"),
        (("synthesis", "mixed-hardware", "seconds", "ours"), "synth mixed-hardware, time / typescript"),
        (("synthesis", "all", "megabytes", "ours"), "synth all, memory / stock"),
        (("commands", "validate"), "validate, time / import of the models"),
        (("synthesis", "mixed-hardware", "megabytes", "ours"), "MB of mixed-hardware / limit"),
        (("profile", "phases", "define the resources", "requests"), "requests to Node / resource"),
        (("commands", "recommend"), "recommend, time / import of the models"),
    ],
)
def test_more_than_15_percent_is_worse(path: tuple[str | int, ...], name: str) -> None:
    assert name in report.worse(_changed(*path, by=1.16), RESULTS)
    assert report.worse(_changed(*path, by=1.14), RESULTS) == {}
    assert report.worse(_changed(*path, by=0.5), RESULTS) == {}


def test_growth_is_compared_as_a_whole_and_by_the_resource() -> None:
    slower = report.worse(_changed("growth", -1, "seconds", by=1.2), RESULTS)
    assert set(slower) == {"400 node groups, time / 1", "ms per resource / of the TypeScript app"}


def test_nothing_leaves_the_comparison_unseen() -> None:
    fewer = copy.deepcopy(RESULTS)
    del fewer["commands"]["explain"]
    assert list(report.worse(fewer, RESULTS)) == ["explain, time / import of the models"]
    assert list(report.worse(RESULTS, fewer)) == ["explain, time / import of the models"]


def test_a_slower_machine_is_not_worse() -> None:
    slower = copy.deepcopy(RESULTS)
    for each in slower["synthesis"].values():
        each["seconds"] = {name: 3 * value for name, value in each["seconds"].items()}
    for each in slower["growth"]:
        each["seconds"] *= 3
    slower["commands"] = {name: 3 * value for name, value in slower["commands"].items()}
    assert report.worse(slower, RESULTS) == {}


def test_a_missed_target_is_reported() -> None:
    missed = report.tables(_changed("commands", "validate", by=100))
    row = next(line for line in missed.splitlines() if line.startswith("| validate, time") and "missed" in line)
    assert "1.5" in row


def test_every_target_of_the_project_is_measured() -> None:
    # The tests are measured last, after the other results are accepted.
    with_tests = {**RESULTS, "tests": {"make unit": 1.0, "make test": 1.0}}
    limits = {each.name: each.limit for each in report.targets(with_tests)}
    assert limits == {
        "mixed-hardware, time / stock import": 0.10,
        "mixed-hardware, time / TypeScript": 4,
        "mixed-hardware, memory of Python and Node": 250,
        "each resource, from 1 to 400 node groups": 4,
        "time per resource, 100 to 400 / 10 to 100": 1.5,
        "--version, time / bare Python": 4,
        "validate, time / import of the models": 1.5,
        "diff of mixed-hardware and gpu-training": 3,
        "make unit": 25,
        "make test": 1080,
    }
