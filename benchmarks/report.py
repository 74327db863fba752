"""The results as the tables of ``docs/benchmarks.md``, and compared with the accepted results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

ALLOWED_INCREASE = 0.15
MOST_MEGABYTES = 250
TEST_SECONDS = {"make unit": 25, "make test": 480 + 600}
"""For `make test`, 480 s and another 600 s for the tests that run a real Kubernetes and Karpenter."""

BEGIN = "<!-- results: begin -->"
END = "<!-- results: end -->"


@dataclass(frozen=True)
class Target:
    """A figure with its limit."""

    name: str
    value: float
    limit: float
    unit: str

    @property
    def is_met(self) -> bool:
        return self.value <= self.limit


def ratios(results: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures that hardly depend on the machine, because each compares two runs side by side."""
    found: dict[str, float] = {}
    for name, each in results["synthesis"].items():
        for other in ("stock", "typescript"):
            found[f"synth {name}, time / {other}"] = each["seconds"]["ours"] / each["seconds"][other]
            found[f"synth {name}, memory / {other}"] = each["megabytes"]["ours"] / each["megabytes"][other]
    small, *_, large = results["growth"]
    found[f"{large['groups']} node groups, time / {small['groups']}"] = large["seconds"] / small["seconds"]
    found["ms per resource / of the TypeScript app"] = _slope(results) / _typescript_slope(results)
    found["MB of mixed-hardware / limit"] = results["synthesis"]["mixed-hardware"]["megabytes"]["ours"] / MOST_MEGABYTES
    phases = results["profile"]["phases"].values()
    found["requests to Node / resource"] = sum(each["requests"] for each in phases) / results["profile"]["resources"]
    commands = results["commands"]
    for name, took in commands.items():
        if name == "--version":
            found["--version, time / bare Python"] = took / commands["python"]
        elif name not in ("python", "models"):
            found[f"{name}, time / import of the models"] = took / commands["models"]
    return found


def targets(results: Mapping[str, Any]) -> list[Target]:
    """Return the targets."""
    mixed = results["synthesis"]["mixed-hardware"]
    took, memory = mixed["seconds"], mixed["megabytes"]
    *_, before, after = (each["milliseconds_per_resource"] for each in results["growth"])
    commands, tests = results["commands"], results.get("tests", {})
    return [
        Target("mixed-hardware, time / stock import", took["ours"] / took["stock"], 0.10, ""),
        Target("mixed-hardware, time / TypeScript", took["ours"] / took["typescript"], 4, ""),
        Target("mixed-hardware, memory of Python and Node", memory["ours"], MOST_MEGABYTES, "MB"),
        Target("each resource, from 1 to 400 node groups", _slope(results), 4, "ms"),
        Target("time per resource, 100 to 400 / 10 to 100", after / before, 1.5, ""),
        Target("--version, time / bare Python", commands["--version"] / commands["python"], 4, ""),
        Target("validate, time / import of the models", commands["validate"] / commands["models"], 1.5, ""),
        Target("diff of mixed-hardware and gpu-training", commands["diff"], 3, "s"),
        *(Target(name, tests[name], limit, "s") for name, limit in TEST_SECONDS.items() if name in tests),
    ]


def worse(results: Mapping[str, Any], accepted: Mapping[str, Any]) -> dict[str, str]:
    """Return a line of text for each ratio that is more than 15% above the accepted ratio.

    A ratio that is missing from either result is reported, too.
    """
    now, before = ratios(results), ratios(accepted)
    return {name: f"{name}: missing in one of the two" for name in now.keys() ^ before.keys()} | {
        name: f"{name}: {value:.3f}, accepted {before[name]:.3f} ({value / before[name] - 1:+.0%})"
        for name, value in now.items()
        if name in before and value > before[name] * (1 + ALLOWED_INCREASE)
    }


def _slope(results: Mapping[str, Any]) -> float:
    """Return the milliseconds per additional resource, from the smallest to the largest strategy."""
    first, *_, last = results["growth"]
    return float(1000 * (last["seconds"] - first["seconds"]) / (last["resources"] - first["resources"]))


def _typescript_slope(results: Mapping[str, Any]) -> float:
    """Return the TypeScript app's milliseconds per additional resource, from one strategy to all."""
    one, every = results["synthesis"]["mixed-hardware"], results["synthesis"]["all"]
    seconds = every["seconds"]["typescript"] - one["seconds"]["typescript"]
    return float(1000 * seconds / (every["resources"] - one["resources"]))


def tables(results: Mapping[str, Any]) -> str:
    """Return the results as Markdown that is also readable in a terminal."""
    machine = results["machine"]
    lines = [
        f"Measured {results['date']}: {machine['cores']} cores, Python {machine['python']}, Node {machine['node']}; "
        f"medians of {results['runs']} runs.",
        "",
        *table(("target", "limit", "measured", ""), _target_rows(results)),
        "",
        *table(("synth", "resources", "", "seconds", "MB"), _synthesis_rows(results)),
        "",
        *table(("node groups", "resources", "seconds", "ms per resource"), _growth_rows(results)),
        "",
        *table(("phase", "seconds", "waiting for Node", "requests to Node"), _profile_rows(results)),
        "",
        *table(("command", "seconds"), ((name, f"{took:.2f}") for name, took in results["commands"].items())),
    ]
    if results.get("tests"):
        lines += ["", *table(("tests", "seconds"), ((name, f"{took:.0f}") for name, took in results["tests"].items()))]
    return "\n".join([*lines, "", *cluster_table(results)])


def cluster_table(results: Mapping[str, Any]) -> list[str]:
    """Return the lines of the table for the demo with Kubernetes."""
    measured = results["cluster"]
    cold, warm = (measured["seconds"][name] for name in ("cold", "warm"))
    rows = ((name, f"{took:.1f}", f"{warm[name]:.1f}") for name, took in cold.items())
    return list(table((f"demo --cluster, measured {measured['date']}", "seconds, cold", "seconds, warm"), rows))


def _target_rows(results: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for each in targets(results):
        digits = 0 if each.value >= 100 else 3 if each.limit < 1 else 2
        limit, value = f"{each.limit:g} {each.unit}".strip(), f"{each.value:.{digits}f} {each.unit}".strip()
        yield each.name, limit, value, "met" if each.is_met else "missed"


def _synthesis_rows(results: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    shown = {"ours": "eks-hardware", "stock": "stock import", "typescript": "TypeScript"}
    for name, each in results["synthesis"].items():
        for key, label in shown.items():
            yield name, str(each["resources"]), label, f"{each['seconds'][key]:.2f}", f"{each['megabytes'][key]:.0f}"


def _growth_rows(results: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for each in results["growth"]:
        slope = each["milliseconds_per_resource"]
        yield str(each["groups"]), str(each["resources"]), f"{each['seconds']:.2f}", f"{slope:.1f}" if slope else ""


def _profile_rows(results: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    phases = results["profile"]["phases"]
    for name, each in phases.items():
        yield name, f"{each['seconds']:.2f}", f"{each['waited']:.2f}", str(each["requests"])
    total = [sum(each[key] for each in phases.values()) for key in ("seconds", "waited", "requests")]
    yield "total", f"{total[0]:.2f}", f"{total[1]:.2f}", str(total[2])


def table(heads: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> list[str]:
    body = list(rows)
    widths = [max(len(row[column]) for row in [heads, *body]) for column in range(len(heads))]

    def line(cells: tuple[str, ...]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"

    return [line(heads), "|" + "|".join("-" * (width + 2) for width in widths) + "|", *map(line, body)]
