"""``python -m benchmarks``: measure, print the tables, and fail if a ratio is worse than the accepted ratio.

    python -m benchmarks [--runs N] [--suite] [--accept]
    python -m benchmarks --cluster [--accept]

``--cluster`` measures only the demo with a local Kubernetes. ``--accept`` writes
``benchmarks/results.json`` and the tables of ``docs/benchmarks.md``. Exit code 1: a ratio is more than 15% worse than
the accepted one.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import cases, cluster, report, workspace

ACCEPTED = Path(__file__).with_name("results.json")
PAGE = workspace.ROOT / "docs" / "benchmarks.md"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure, and compare with the accepted results."
    )
    parser.add_argument("--runs", type=int, default=5, help="runs of each command; the stock import runs half as often")
    parser.add_argument("--suite", action="store_true", help="also run the whole test suite, about ten minutes")
    parser.add_argument(
        "--cluster",
        action="store_true",
        help="measure only the demo with Kubernetes; builds its programs first, about 20 minutes",
    )
    parser.add_argument("--accept", action="store_true", help="save these results as the new baseline")
    options = parser.parse_args()
    if options.runs < 3:
        parser.error("--runs must be at least 3 for a median")
    # This process starts Node, and jsii warns each time that Node 20 is past its end of life.
    os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")
    accepted = json.loads(ACCEPTED.read_text(encoding="utf-8"))
    if options.cluster:
        measure_cluster(accepted, is_accepted=options.accept)
        return 0
    results = {**measure(options.runs), **{name: accepted[name] for name in ("tests", "cluster")}}
    if options.accept:
        accept(results)  # the tests compare the page with them
    # Without --suite, keep the figure of the last run with --suite.
    results["tests"] = {**accepted["tests"], **measure_tests(everything=options.suite)}
    print(report.tables(results))
    if options.accept:
        accept(results)
        return 0
    worse = report.worse(results, accepted)
    if worse:
        say("worse than accepted; measuring again, because a busy machine is slower, too")
        results = {**measure(options.runs), **{name: results[name] for name in ("tests", "cluster")}}
        again = report.worse(results, accepted)
        print(report.tables(results))
        worse = {name: line for name, line in again.items() if name in worse}
    if worse:
        print("\nMore than 15% worse than accepted (benchmarks/results.json):")
        print("\n".join(f"  {line}" for line in worse.values()))
        return 1
    print("\nNo ratio is more than 15% worse than accepted.")
    return 0


def measure(runs: int) -> dict[str, Any]:
    """Run all measurements except those of the tests and of the demo with Kubernetes, with progress on stderr."""
    say("synthesis, against the stock import and TypeScript")
    synthesis = {name: asdict(each) for name, each in cases.synthesis(runs).items()}
    say("growth to 400 node groups")
    grown = cases.growth(max(3, runs // 2))
    slopes = [None, *cases.milliseconds_per_resource(grown)]
    say("profile")
    profile = asdict(cases.profile(runs))
    say("commands")
    commands = cases.commands(2 * runs)
    return {
        "date": datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat(),
        "runs": runs,
        "machine": cases.machine(),
        "synthesis": synthesis,
        "growth": [
            {
                "groups": each.groups,
                "resources": each.resources,
                "seconds": each.seconds,
                "milliseconds_per_resource": slope,
            }
            for each, slope in zip(grown, slopes, strict=True)
        ],
        "profile": profile,
        "commands": commands,
    }


def measure_tests(*, everything: bool) -> dict[str, float]:
    """Measure the duration of the tests, which must pass."""
    found = {}
    for target in ("unit", "test") if everything else ("unit",):
        say(f"make {target}")
        found[f"make {target}"] = cases.make(target)
    return found


def measure_cluster(accepted: dict[str, Any], *, is_accepted: bool) -> None:
    """Measure the demo with Kubernetes, print its table, and save it if it is accepted."""
    say("demo --cluster, once with an empty cache and once more")
    results = {**accepted, "cluster": cluster.measure()}
    print("\n".join(report.cluster_table(results)))
    if is_accepted:
        accept(results)


def accept(results: dict[str, Any]) -> None:
    """Write the results, and their tables in the documentation page."""
    ACCEPTED.write_text(json.dumps(_rounded(results), indent=2) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(report.BEGIN)
    after = rest.partition(report.END)[2]
    shown = report.tables(json.loads(ACCEPTED.read_text(encoding="utf-8")))
    PAGE.write_text(f"{before}{report.BEGIN}\n\n{shown}\n\n{report.END}{after}", encoding="utf-8")


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value


def say(text: str) -> None:
    """Print progress."""
    print(f"... {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
