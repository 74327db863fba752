"""Critical path of a deployment: the longest chain of steps in an apply and a destroy, with published durations.

    python -m benchmarks.critical_path [strategy] [--details] [--edges]

The order follows ``terraform graph``. For the whole stack, ``terraform graph`` would need the Helm provider, so the
edges are derived from the synthesized JSON. Each run also derives the edges of the AWS half, without charts, and
compares them with the real ``terraform graph``.

``durations.json`` contains the duration of each step, ``terraform_aws_eks_edges.json`` the order of the
``terraform-aws-eks`` module, and ``explicit_edges.json`` the reason for each of our ``depends_on``.

The program needs Node, Terraform and the AWS provider, like ``make test``. It needs no AWS account and deploys nothing.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from eks_hardware.local import terraform

ROOT = Path(__file__).resolve().parents[1]
DURATIONS = Path(__file__).with_name("durations.json")
EXPLICIT_EDGES = Path(__file__).with_name("explicit_edges.json")
MODULE_EDGES = Path(__file__).with_name("terraform_aws_eks_edges.json")
STRATEGY = "mixed-hardware"
# https://developer.hashicorp.com/terraform/cli/commands/apply#parallelism-n
PARALLELISM = 10

_EDGE = re.compile(r'"(?P<user>[^"]+)" -> "(?P<needed>[^"]+)"')
_NODE = re.compile(r'^\s*"(?P<address>[^"]+)" \[label')
_ADDRESS = re.compile(r"(?:data\.)?[a-z][a-z0-9_]*\.[A-Za-z_][A-Za-z0-9_-]*")
# cdktf appends a hash to each id.
_HASH = re.compile(r"_[0-9A-F]{8}$")


@dataclass(frozen=True)
class Graph:
    """Resources, and the resources that must be created before each of them.

    Attributes:
        resources: attributes by address.
        needs: the addresses that each resource waits for, including at least its direct dependencies.
    """

    resources: Mapping[str, Mapping[str, Any]]
    needs: Mapping[str, frozenset[str]]

    def closure(self) -> dict[str, frozenset[str]]:
        """Return all direct and indirect dependencies of each resource."""
        found: dict[str, frozenset[str]] = {}
        for address in self.order():
            direct = self.needs.get(address, frozenset())
            found[address] = direct.union(*(found[each] for each in direct))
        return found

    def reversed(self) -> Graph:
        """Return the graph of a destroy, in which each resource waits for its dependents."""
        users: dict[str, set[str]] = {address: set() for address in self.resources}
        for address, needed in self.needs.items():
            for each in needed:
                users[each].add(address)
        return Graph(self.resources, {address: frozenset(each) for address, each in users.items()})

    def order(self) -> list[str]:
        """Return the addresses in order of creation.

        Raises:
            ValueError: resources wait for each other.
        """
        waiting = {address: len(self.needs.get(address, ())) for address in self.resources}
        users = {address: list[str]() for address in self.resources}
        for address, needed in self.needs.items():
            for each in needed:
                users[each].append(address)
        ready = sorted(address for address, count in waiting.items() if not count)
        heapq.heapify(ready)
        done: list[str] = []
        while ready:
            address = heapq.heappop(ready)
            done.append(address)
            for user in users[address]:
                waiting[user] -= 1
                if not waiting[user]:
                    heapq.heappush(ready, user)
        if len(done) < len(self.resources):
            raise ValueError(f"these wait for each other: {sorted(set(self.resources) - set(done))}")
        return done


class Estimate(NamedTuple):
    """The duration of a step, in seconds.

    Attributes:
        seconds: the median published duration; 0 if none is published.
        least: the shortest published duration.
        most: the longest published duration.
        known: whether a duration is published.
    """

    seconds: float
    least: float
    most: float
    known: bool


@dataclass(frozen=True)
class Durations:
    """Published durations, by type and attributes; the first matching rule applies."""

    rules: Sequence[Mapping[str, Any]]

    @classmethod
    def read(cls, file: Path = DURATIONS) -> Durations:
        """Read the durations from a data file."""
        return cls(json.loads(file.read_text(encoding="utf-8"))["rules"])

    @staticmethod
    def sources(file: Path = DURATIONS) -> dict[str, dict[str, str]]:
        """Return the durations' sources, by name."""
        found: dict[str, dict[str, str]] = json.loads(file.read_text(encoding="utf-8"))["sources"]
        return found

    def of(self, address: str, attributes: Mapping[str, Any], phase: str) -> Estimate:
        """Return the estimate for one resource; ``phase`` is ``create`` or ``destroy``.

        Raises:
            KeyError: no rule exists for this type.
        """
        if address.startswith("data."):
            return Estimate(0, 0, 0, True)
        kind = resource_type(address)
        for rule in self.rules:
            if rule["type"] == kind and _fits(attributes, rule.get("when", {})):
                seconds = [observed["seconds"] for observed in rule[phase]]
                if not seconds:
                    return Estimate(0, 0, 0, False)
                return Estimate(median(seconds), min(seconds), max(seconds), True)
        raise KeyError(f"{address}: durations.json has no rule for {kind}")


class Step(NamedTuple):
    """A resource in a schedule. Times are in seconds from the start."""

    address: str
    start: float
    end: float
    slack: float
    known: bool


@dataclass(frozen=True)
class Schedule:
    """The start and end of each step, if steps wait only for their dependencies.

    Attributes:
        steps: the steps by address.
        path: the addresses of the longest chain, in order.
    """

    steps: Mapping[str, Step]
    path: Sequence[str] = field(default=())

    @property
    def seconds(self) -> float:
        """The total duration, in seconds."""
        return max((step.end for step in self.steps.values()), default=0)


def resource_type(address: str) -> str:
    """Return the type in an address: ``aws_vpc`` in ``module.vpc.aws_vpc.this[0]``."""
    parts = [part for part in re.sub(r"\[[^]]*\]", "", address).split(".") if part != "data"]
    return parts[-2]


def _fits(attributes: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    for path, value in wanted.items():
        found: Any = attributes
        for key in path.split("."):
            found = found.get(key) if isinstance(found, Mapping) else None
        if found != value:
            return False
    return True


def from_dot(text: str, resources: Mapping[str, Mapping[str, Any]]) -> Graph:
    """Read the output of ``terraform graph``."""
    addresses = [found["address"] for line in text.splitlines() if (found := _NODE.match(line))]
    needs: dict[str, set[str]] = {address: set() for address in addresses}
    for found in _EDGE.finditer(text):
        needs[found["user"]].add(found["needed"])
    return Graph(
        {address: resources.get(address, {}) for address in addresses},
        {address: frozenset(each) for address, each in needs.items()},
    )


def from_json(document: Mapping[str, Any]) -> Graph:
    """Derive a synthesized stack's graph from references, ``depends_on``, and the provider's references."""
    resources: dict[str, Mapping[str, Any]] = {}
    for section, prefix in (("resource", ""), ("data", "data.")):
        for kind, named in document.get(section, {}).items():
            resources |= {f"{prefix}{kind}.{name}": block for name, block in named.items()}
    of_provider = {name: _references(blocks, resources) for name, blocks in document.get("provider", {}).items()}
    needs = {}
    for address, block in resources.items():
        provider = resource_type(address).partition("_")[0]
        found = _references(block, resources) | set(block.get("depends_on", ())) | of_provider.get(provider, set())
        needs[address] = frozenset(found - {address})
    return Graph(resources, needs)


def _references(value: Any, known: Mapping[str, Any]) -> set[str]:
    """Return the resources that the expressions of a block refer to."""
    if isinstance(value, Mapping):
        return {each for key, item in value.items() if key != "//" for each in _references(item, known)}
    if isinstance(value, (list, tuple)):
        return {each for item in value for each in _references(item, known)}
    if not isinstance(value, str):
        return set()
    found = {address for expression in _expressions(value) for address in _ADDRESS.findall(expression)}
    return found & set(known)


def _expressions(text: str) -> Iterator[str]:
    """Yield the expressions in ``${...}``; ``$${`` is plain text in Terraform."""
    place = 0
    while (start := text.find("${", place)) >= 0:
        place = start + 2
        if start and text[start - 1] == "$":
            continue
        depth = 1
        while depth and place < len(text):
            depth += {"{": 1, "}": -1}.get(text[place], 0)
            place += 1
        yield text[start + 2 : place - 1]


def from_edges(file: Path = MODULE_EDGES, *, variant: str | None = None) -> Graph:
    """Read a graph from a list of resources.

    Args:
        file: JSON with ``resources``, each with its dependencies (``after``) and its number of instances (``count``).
        variant: the name of one of the file's ``variants``; its resources are added.
    """
    document = json.loads(file.read_text(encoding="utf-8"))
    rows = [*document["resources"], *(document["variants"][variant]["resources"] if variant else ())]
    members = {
        row["address"]: [row["address"]]
        if "count" not in row
        else [f"{row['address']}[{index}]" for index in range(row["count"])]
        for row in rows
    }
    resources: dict[str, Mapping[str, Any]] = {}
    needs: dict[str, frozenset[str]] = {}
    for row in rows:
        needed = frozenset(each for name in row.get("after", ()) for each in members[name])
        for address in members[row["address"]]:
            resources[address] = row.get("attributes", {})
            needs[address] = needed
    return Graph(resources, needs)


def schedule(graph: Graph, durations: Durations, phase: str, bound: str = "seconds") -> Schedule:
    """Compute the earliest times, the slack of each step, and the longest chain.

    Args:
        graph: the order of creation; it is reversed for ``destroy``.
        durations: the duration of each step.
        phase: ``create`` or ``destroy``.
        bound: ``seconds`` for the medians, ``least`` or ``most`` for the shortest or longest published durations.
    """
    turned = graph if phase == "create" else graph.reversed()
    order = turned.order()
    estimates = {address: durations.of(address, graph.resources[address], phase) for address in order}
    length = {address: float(getattr(estimates[address], bound)) for address in order}
    end: dict[str, float] = {}
    behind: dict[str, str | None] = {}
    for address in order:
        # If several steps end at the same time, prefer one with a duration.
        last = max(turned.needs.get(address, ()), key=lambda each: (end[each], length[each], each), default=None)
        behind[address] = last
        end[address] = (end[last] if last else 0.0) + length[address]
    total = max(end.values(), default=0.0)
    latest = dict.fromkeys(order, total)
    for address in reversed(order):
        for each in turned.needs.get(address, ()):
            latest[each] = min(latest[each], latest[address] - length[address])
    steps = {
        address: Step(
            address,
            end[address] - length[address],
            end[address],
            latest[address] - end[address],
            estimates[address].known,
        )
        for address in order
    }
    path: list[str] = []
    current: str | None = max(order, key=lambda each: (end[each], length[each], each), default=None)
    while current:
        path.append(current)
        current = behind[current]
    return Schedule(steps, tuple(reversed(path)))


def with_parallelism(graph: Graph, durations: Durations, phase: str, limit: int = PARALLELISM) -> float:
    """Return the duration in seconds with at most ``limit`` resources at a time, first come, first served."""
    turned = graph if phase == "create" else graph.reversed()
    waiting = {address: len(turned.needs.get(address, ())) for address in turned.resources}
    users = turned.reversed().needs
    ready = sorted(address for address, count in waiting.items() if not count)
    running: list[tuple[float, str]] = []
    now = 0.0
    while ready or running:
        while ready and len(running) < limit:
            address = ready.pop(0)
            seconds = durations.of(address, graph.resources[address], phase).seconds
            heapq.heappush(running, (now + seconds, address))
        now, done = heapq.heappop(running)
        for user in sorted(users[done]):
            waiting[user] -= 1
            if not waiting[user]:
                ready.append(user)
    return now


def explicit_edges(document: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Yield each ``depends_on`` of a synthesized stack: user, dependency, and whether the edge is implied.

    An edge is implied if the resource refers to the dependency, or reaches it through another edge.
    """
    graph = from_json(document)
    closure = graph.closure()
    for address, block in graph.resources.items():
        named = set(block.get("depends_on", ()))
        direct = graph.needs[address]
        referred = _references(block, graph.resources)
        for each in named:
            implied = each in referred or any(each in closure[other] for other in direct - {each})
            yield address, each, implied


def synthesized(strategy: str, outdir: Path, *, overlay: str | None = None) -> dict[str, Any]:
    """Synthesize a strategy in a separate process, and read its stack."""
    environment = {
        **os.environ,
        "CDKTF_OUTDIR": str(outdir),
        "EKS_HARDWARE_STRATEGIES": str(ROOT / "config" / "strategies" / f"{strategy}.yaml"),
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
    }
    environment.pop("EKS_HARDWARE_OVERLAY", None)
    if overlay:
        environment["EKS_HARDWARE_OVERLAY"] = overlay
    _run([sys.executable, "main.py"], cwd=ROOT, environment=environment)
    document: dict[str, Any] = json.loads((outdir / "stacks" / strategy / "cdk.tf.json").read_text(encoding="utf-8"))
    return document


def terraform_graph(document: Mapping[str, Any], folder: Path) -> str:
    """Return the output of the real ``terraform graph`` for a synthesized stack."""
    # Omit the backend: Terraform would connect to it, and it does not affect the order.
    settings = {key: value for key, value in document["terraform"].items() if key != "backend"}
    (folder / "cdk.tf.json").write_text(json.dumps({**document, "terraform": settings}), encoding="utf-8")
    program = str(terraform.find_terraform().path)
    environment = {**os.environ, **terraform.prepare(ROOT).environment, "CHECKPOINT_DISABLE": "1"}
    _run([program, "init", "-input=false", "-no-color"], cwd=folder, environment=environment)
    return _run([program, "graph"], cwd=folder, environment=environment)


def _run(command: Sequence[str], *, cwd: Path, environment: Mapping[str, str]) -> str:
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"error: {' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def derivation_differs(document: Mapping[str, Any], dot: str) -> list[str]:
    """List the differences between the derived edges and ``terraform graph``; empty if both imply the same order.

    ``terraform graph`` omits edges that follow from others, so all direct and indirect dependencies are compared.
    """
    derived = from_json(document)
    real = from_dot(dot, derived.resources)
    ours, theirs = derived.closure(), real.closure()
    return [
        *(f"{address} is only in the JSON" for address in sorted(set(ours) - set(theirs))),
        *(f"{address} is only in terraform graph" for address in sorted(set(theirs) - set(ours))),
        *(
            f"{address}: {sorted(ours[address] ^ theirs[address])}"
            for address in sorted(set(ours) & set(theirs))
            if ours[address] != theirs[address]
        ),
    ]


def clock(seconds: float) -> str:
    """Format seconds as minutes and seconds: ``9:24``."""
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02d}"


def short(address: str) -> str:
    """Shorten an address for a table: its type without ``aws_``, its name without the hash."""
    if address.startswith("module."):
        parts = address.split(".")
        return f"{parts[-2].removeprefix('aws_')} {parts[-1]}".replace(" this", "")
    kind, _, name = address.removeprefix("data.").partition(".")
    return f"{kind.removeprefix('aws_')} {_HASH.sub('', name).removeprefix('platform_').removeprefix('kubernetes_')}"


def path_table(found: Schedule) -> list[str]:
    """Return the steps of the longest chain that take time or have no published duration, and a note on the latter."""
    lines = [f"{'Start':>6} {'Takes':>6} {'End':>6}  Step"]
    unknown = 0
    for address in found.path:
        step = found.steps[address]
        if not step.known:
            unknown += 1
        if step.end > step.start or not step.known:
            takes = clock(step.end - step.start) if step.known else "?"
            lines.append(f"{clock(step.start):>6} {takes:>6} {clock(step.end):>6}  {short(address)[:58]}")
    if unknown:
        lines.append(f"{'':6} {'?':>6} {'':6}  no published duration; counted as 0")
    return lines


def slack_table(found: Schedule, *, rows: int = 8) -> list[str]:
    """Return the longest steps off the path, with the time by which each could be longer."""
    others = [
        step
        for step in found.steps.values()
        if step.slack >= 1 and step.end > step.start and step.address not in found.path
    ]
    others.sort(key=lambda step: (-(step.end - step.start), step.address))
    return [
        f"{'Slack':>6} {'Takes':>6} {'End':>6}  Off the path",
        *(
            f"{clock(step.slack):>6} {clock(step.end - step.start):>6} {clock(step.end):>6}  {short(step.address)[:58]}"
            for step in others[:rows]
        ),
    ]


def summary(name: str, graph: Graph, durations: Durations) -> str:
    """Return a line of the comparison."""
    cells = []
    for phase in ("create", "destroy"):
        bounds = [schedule(graph, durations, phase, bound).seconds for bound in ("seconds", "least", "most")]
        middle, least, most = (clock(each) for each in bounds)
        cells.append(f"{middle:>7} {f'{least}-{most}':>11}")
    return f"{name:<39} {cells[0]} {cells[1]}"


def report(
    whole: Graph, durations: Durations, variants: Iterable[tuple[str, str, Graph]], *, details: bool
) -> list[str]:
    """Return the report's lines: the paths of an apply and a destroy, and the comparison."""
    lines: list[str] = []
    for phase, title in (("create", "Apply"), ("destroy", "Destroy")):
        found = schedule(whole, durations, phase)
        limited = with_parallelism(whole, durations, phase)
        binds = f"adds {clock(limited - found.seconds)}" if limited > found.seconds else "adds nothing"
        lines += [
            f"{title}: {clock(found.seconds)} ({len(whole.resources)} steps; parallelism {PARALLELISM} {binds})",
            "",
            *path_table(found),
            "",
            *slack_table(found, rows=40 if details else 8),
            "",
        ]
        unknown = [step.address for step in found.steps.values() if not step.known]
        if unknown:
            kinds = sorted({resource_type(each).removeprefix("aws_") for each in unknown})
            lines.append(f"No published duration, counted as 0: {len(unknown)} steps of {len(kinds)} types.")
            lines += textwrap.wrap(", ".join(kinds), 80) if details else []
            lines.append("")
        charts = [step.end for step in found.steps.values() if resource_type(step.address) == "helm_release"]
        if phase == "create" and charts:
            lines += [f"The last chart is installed after {clock(max(charts))}.", ""]
    lines += [
        f"{'':<39} {'apply':>7} {'range':>11} {'destroy':>7} {'range':>11}",
        summary("eks-hardware", whole, durations),
    ]
    before = with_removed_edges(whole)
    if before.needs != whole.needs:
        lines.append(summary("with the removed edges", before, durations))
    lines += [summary(title, graph, durations) for title, _, graph in variants]
    return lines


def module_variants(file: Path = MODULE_EDGES) -> list[tuple[str, str, Graph]]:
    """Return the module's graph for each common order of its charts."""
    document = json.loads(file.read_text(encoding="utf-8"))
    return [(variant["title"], name, from_edges(file, variant=name)) for name, variant in document["variants"].items()]


def with_removed_edges(graph: Graph, file: Path = EXPLICIT_EDGES) -> Graph:
    """Return the graph with the removed edges of ``explicit_edges.json`` added."""
    charts: dict[str, str] = {}
    addons: dict[str, str] = {}
    for address, attributes in graph.resources.items():
        kind = resource_type(address)
        if kind == "helm_release":
            charts[attributes.get("name", "")] = address
        elif kind == "aws_eks_addon":
            addons[attributes.get("addon_name", "")] = address
    needs = dict(graph.needs)
    for row in json.loads(file.read_text(encoding="utf-8"))["removed"]:
        needed = {addons[name] for name in row["addons"] if name in addons}
        for chart in row["charts"]:
            if chart in charts:
                needs[charts[chart]] |= needed
    return Graph(graph.resources, needs)


def edges_table(file: Path = EXPLICIT_EDGES) -> list[str]:
    """Return the reasons for the explicit edges as a Markdown table."""
    rows = json.loads(file.read_text(encoding="utf-8"))["edges"]
    lines = ["| resource | waits for | because | to |", "|---|---|---|---|"]
    for row in rows:
        why = f"[{row['why']}]({row['source']})"
        both = "create and destroy" if row["holds"] == "both" else row["holds"]
        lines.append(f"| `{row['user']}` | `{row['needed']}` | {why} | {both} |")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; return 1 if the derived edges differ from ``terraform graph``."""
    parser = argparse.ArgumentParser(prog="critical_path", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("strategy", nargs="?", default=STRATEGY, help="a strategy in config/strategies")
    parser.add_argument("--details", action="store_true", help="list more steps off the path")
    parser.add_argument("--edges", action="store_true", help="print only a table with the reason for each depends_on")
    options = parser.parse_args(arguments)
    if options.edges:
        print("\n".join(edges_table()))
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        aws = synthesized(options.strategy, folder / "aws", overlay="manifests")
        whole = from_json(synthesized(options.strategy, folder / "whole"))
        stack = folder / "terraform"
        stack.mkdir()
        differs = derivation_differs(aws, terraform_graph(aws, stack))
    if differs:
        print("The derived edges differ from terraform graph:", *differs, sep="\n", file=sys.stderr)
        return 1
    variants = module_variants() if options.strategy == STRATEGY else []
    print("\n".join(report(whole, Durations.read(), variants, details=options.details)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
