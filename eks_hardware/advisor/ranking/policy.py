"""Which branch of the documents' decision trees a workload takes, and how far hardware is what the branch names.

Trees, branches and weights are data (``policy/ranking.json``), with the exact words of the documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from eks_hardware import facts
from eks_hardware.advisor.model import Shape
from eks_hardware.catalogue import InstanceType
from eks_hardware.models import WorkloadSpec

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.policy import Basis, Ranking, Tree, When
    from eks_hardware.facts.schemas.policy import Branch as BranchRow
    from eks_hardware.facts.schemas.policy import Today as TodayRow

Match = Literal["named", "instead", "hardware", "other"]

_TRANSFORMER = "transformer"
_PARTS: tuple[Literal["cost", "policy", "maturity", "speed"], ...] = ("cost", "policy", "maturity", "speed")


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What the conditions of branches ask of a workload.

    Attributes:
        task: ``training``, ``fine-tuning``, ``inference`` or ``development``.
        adapters: whether adapters are trained, and not every weight.
        parameters: all parameters of the model.
        kind: kind of model: ``transformer`` where nothing else is known, ``vision``, ``tabular``, ...
        budget: ``cost``, ``balanced`` or ``performance``.
        framework: framework or server, None where none is said.
        precision: format of the weights, None where none is said.
        attention: whether an attention kernel is asked for.
        serving: ``real-time`` or ``batch``; None for anything but inference.
        focus: ``latency`` or ``throughput``; None for anything but inference.
        latency_ms: the tightest latency target in milliseconds, None for none.
    """

    task: str
    adapters: bool
    parameters: int
    kind: str
    budget: str
    framework: str | None
    precision: str | None
    attention: bool
    serving: str | None
    focus: str | None
    latency_ms: float | None


@dataclass(frozen=True, kw_only=True)
class Today:
    """What became of the hardware that a branch names.

    Attributes:
        text: a sentence.
        source: who says so.
        as_of: day or month of it (ISO 8601).
    """

    text: str
    source: str
    as_of: str


@dataclass(frozen=True, kw_only=True)
class Branch:
    """A branch of a decision tree.

    Attributes:
        id: stable name.
        tree: name of its tree.
        quote: its exact words.
        under: the line that it stands below: the heading of its tree, or a nearer one.
        document: title of the document.
        reading: how its words are read in a workload's fields.
        when: its conditions, those of its tree included.
        names: what it names: ``families`` (patterns) and kinds of ``hardware``.
        instead: families that stand in for them today.
        today: what became of them; None where all holds as it is written.
    """

    id: str
    tree: str
    quote: str
    under: str
    document: str
    reading: str
    when: When
    names: Mapping[str, tuple[str, ...]]
    instead: tuple[str, ...] = ()
    today: Today | None = None

    def names_family(self, family: str) -> bool:
        """Whether it names a family, and not only a kind of hardware."""
        return _any(self.names.get("families", ()), family)

    def match(self, kind: InstanceType) -> Match:
        """How a type stands to what the branch names."""
        if self.names_family(kind.family) or kind.hardware.value in self.names.get("hardware", ()):
            return "named"
        if _any(self.instead, kind.family):
            return "instead"
        return "hardware" if kind.hardware.value in self._hardware else "other"

    def rank(self, kind: InstanceType) -> float:
        """The policy's part of the score of a type, from 0 to 1."""
        return load().match_scores[self.match(kind)]

    @property
    def _hardware(self) -> frozenset[str]:
        return _hardware_of(tuple(self.names.get("families", ())))


@dataclass(frozen=True, kw_only=True)
class Exclusion:
    """Instance types that are never proposed.

    Attributes:
        code: ``BARE_METAL``, ``BURSTABLE``, ``HARDWARE``.
        why: the reason.
        test: what the types have: ``bare_metal``, ``burstable`` or a list of ``hardware``.
    """

    code: str
    why: str
    test: Mapping[str, Any]

    def holds(self, kind: InstanceType) -> bool:
        """Whether it is about a type."""
        if "hardware" in self.test:
            return kind.hardware.value in self.test["hardware"]
        return any(getattr(kind, name) is wanted for name, wanted in self.test.items())


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The documents' decision trees, and how candidates are weighed.

    Attributes:
        branches: in the order in which they are asked.
        cautions: what the documents say against hardware, whatever the branch.
        match_scores: the policy's part of the score, by match.
        weights: of the parts of the score, by budget; each sums up to 1.
        weights_why: a sentence for each budget.
        cost_basis: the figures of cost that count, by task or way of serving: the first that is known.
        cost_basis_why: a sentence for each.
        of_unknown_speed: the share of its part for cost that hardware of unknown speed gets, by task or way of
            serving: an hour of it may do less.
        several_nodes: what a score is multiplied by where one replica takes several nodes, by task or way of serving.
        several_nodes_why: why, in a sentence.
        least_hours: the shortest time that a run is counted for.
        least_hours_why: why, in a sentence.
        halvings: how often cost may double, or speed halve, until that part of the score is 0.
        maturity_scores: the part of the score, by maturity.
        kinds: kind of model, by its architecture.
        cpu_families: patterns of the CPU families that are proposed.
        cpu_parameters_at_most: the largest model that CPU types are proposed for.
        cpu_vcpus_at_least: the smallest of them, in vCPUs.
        cpu_why: why so, in a sentence.
        exclusions: types that are never proposed.
    """

    branches: tuple[Branch, ...]
    cautions: tuple[Branch, ...]
    match_scores: Mapping[str, float]
    weights: Mapping[str, Mapping[str, float]]
    weights_why: Mapping[str, str]
    cost_basis: Mapping[str, tuple[Basis, ...]]
    cost_basis_why: Mapping[str, str]
    of_unknown_speed: Mapping[str, float]
    several_nodes: Mapping[str, float]
    several_nodes_why: str
    least_hours: float
    least_hours_why: str
    halvings: Mapping[str, float]
    maturity_scores: Mapping[str, float]
    kinds: Mapping[str, str]
    cpu_families: tuple[str, ...]
    cpu_parameters_at_most: int
    cpu_vcpus_at_least: int
    cpu_why: str
    exclusions: tuple[Exclusion, ...]


def branch(workload: WorkloadSpec, shape: Shape) -> Branch:
    """The branch that a workload takes: the first one whose conditions hold. There always is one.

    Args:
        workload: what is to run.
        shape: its model.
    """
    asked = facts_of(workload, shape)
    return next(each for each in load().branches if _holds(each.when, asked))


def cautions(workload: WorkloadSpec, shape: Shape) -> tuple[Branch, ...]:
    """What the documents say against hardware for a workload, whatever branch it takes."""
    asked = facts_of(workload, shape)
    return tuple(each for each in load().cautions if _holds(each.when, asked))


def facts_of(workload: WorkloadSpec, shape: Shape) -> Facts:
    """What the conditions of branches ask, with the defaults of a workload filled in."""
    serving = workload.serving or "real-time" if workload.task == "inference" else None
    focus = workload.focus or ("latency" if serving == "real-time" else "throughput") if serving else None
    targets = [workload.latency.first_token_ms, workload.latency.per_token_ms] if workload.latency else []
    return Facts(
        task=workload.task,
        adapters=workload.method in ("lora", "qlora"),
        parameters=shape.parameters,
        kind=load().kinds.get(shape.architecture or "", _TRANSFORMER),
        budget=workload.budget,
        framework=workload.framework,
        precision=workload.precision,
        attention=workload.attention is not None,
        serving=serving,
        focus=focus,
        latency_ms=min((each for each in targets if each is not None), default=None),
    )


def _holds(when: When, asked: Facts) -> bool:
    return all(_TESTS[name](asked, value) for name, value in when.items())


_TESTS: Mapping[str, Any] = {
    "tasks": lambda asked, value: asked.task in value,
    "adapters": lambda asked, value: asked.adapters is value,
    "parameters_above": lambda asked, value: asked.parameters > value,
    "parameters_at_least": lambda asked, value: asked.parameters >= value,
    "parameters_at_most": lambda asked, value: asked.parameters <= value,
    "parameters_below": lambda asked, value: asked.parameters < value,
    "kinds": lambda asked, value: asked.kind in value,
    "not_kinds": lambda asked, value: asked.kind not in value,
    "budgets": lambda asked, value: asked.budget in value,
    "frameworks": lambda asked, value: asked.framework in value,
    "not_frameworks": lambda asked, value: asked.framework not in value,
    "precisions": lambda asked, value: asked.precision in value,
    "attention": lambda asked, value: asked.attention is value,
    "serving": lambda asked, value: asked.serving in value,
    "focus": lambda asked, value: asked.focus == value,
    "latency_ms_at_most": lambda asked, value: asked.latency_ms is not None and asked.latency_ms <= value,
}


def _any(patterns: tuple[str, ...], family: str) -> bool:
    return any(fnmatchcase(family, pattern) for pattern in patterns)


@cache
def _hardware_of(patterns: tuple[str, ...]) -> frozenset[str]:
    """The kinds of hardware that families are of."""
    from eks_hardware.catalogue import load as catalogue

    known = catalogue()
    return frozenset(
        kind.hardware.value
        for family in known.families
        if _any(patterns, family)
        for kind in known.select(family=family)[:1]
    )


@cache
def load() -> Policy:
    """Return the policy that ships with the package; read once."""
    table = facts.ranking()
    return Policy(
        branches=tuple(branch for tree in table["trees"] for branch in _branches(tree, table)),
        cautions=tuple(
            _branch(row, table, tree=row["id"], document=row["document"], when=row["when"]) for row in table["cautions"]
        ),
        match_scores={name: row["score"] for name, row in table["match"].items()},
        weights={budget: {part: row[part] for part in _PARTS} for budget, row in table["weights"].items()},
        weights_why={budget: row["why"] for budget, row in table["weights"].items()},
        cost_basis={name: tuple(row["figures"]) for name, row in table["cost_basis"].items()},
        cost_basis_why={name: row["why"] for name, row in table["cost_basis"].items()},
        of_unknown_speed={name: row["of_unknown_speed"] for name, row in table["cost_basis"].items()},
        several_nodes=dict.fromkeys(table["several_nodes"]["ways"], table["several_nodes"]["factor"]),
        several_nodes_why=table["several_nodes"]["why"],
        least_hours=table["run"]["least_hours"],
        least_hours_why=table["run"]["why"],
        halvings={"cost": table["halvings"]["cost"], "speed": table["halvings"]["speed"]},
        maturity_scores=table["maturity"],
        kinds={name: kind for kind, names in table["kinds"].items() for name in names},
        cpu_families=tuple(table["cpu"]["families"]),
        cpu_parameters_at_most=table["cpu"]["parameters_at_most"],
        cpu_vcpus_at_least=table["cpu"]["vcpus_at_least"],
        cpu_why=table["cpu"]["why"],
        exclusions=tuple(
            Exclusion(
                code=row["code"],
                why=row["why"],
                test={name: value for name, value in row.items() if name not in ("code", "why")},
            )
            for row in table["excluded"]
        ),
    )


def _branches(tree: Tree, table: Ranking) -> Iterator[Branch]:
    for row in tree["branches"]:
        when: When = {**tree["when"], **row["when"]}
        yield _branch(row, table, tree=tree["id"], document=tree["document"], heading=tree["heading"], when=when)


def _branch(row: BranchRow, table: Ranking, *, tree: str, document: str, heading: str = "", when: When) -> Branch:
    return Branch(
        id=row["id"],
        tree=tree,
        quote=row["quote"],
        under=row.get("under", heading),
        document=table["documents"][document],
        reading=row["reading"],
        when=when,
        names={name: tuple(values) for name, values in row["names"].items()},
        instead=tuple(row.get("instead", ())),
        today=_today(today, table) if (today := row.get("today")) else None,
    )


def _today(row: TodayRow, table: Ranking) -> Today:
    return Today(text=row["text"], source=table["sources"][row["source"]], as_of=row["as_of"])
