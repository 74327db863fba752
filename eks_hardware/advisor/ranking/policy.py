"""The policy: which branch of the decision trees applies to a workload, and how well hardware matches it.

The shipped trees are data (``policy/selection_guide.json``), with exact quotes from the documents. Users can have their
own (``--policy FILE``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal, cast

from eks_hardware import facts
from eks_hardware.advisor.model import Shape
from eks_hardware.catalogue import InstanceType, load
from eks_hardware.models import WorkloadSpec

if TYPE_CHECKING:
    from eks_hardware.advisor.model import Request
    from eks_hardware.facts.schemas.policy import Today, When

Match = Literal["named", "instead", "hardware", "other"]


@dataclass(frozen=True, kw_only=True)
class Branch:
    """A branch of a decision tree."""

    id: str
    tree: str
    policy: str  # name of the policy, as messages use it
    quote: str  # its exact words
    under: str  # the heading above the quote: that of the tree, or a closer one
    document: str  # title of the document
    reading: str  # how the quote maps to workload fields
    when: When  # its conditions, including those of its tree
    families: tuple[str, ...]  # patterns of the families that it names
    hardware: tuple[str, ...]  # kinds of hardware that it names
    instead: tuple[str, ...]  # current substitutes for these families
    today: Today | None  # changes since then to the hardware that it names; None if the quote is still correct

    @property
    def applies(self) -> bool:
        """Whether it is a branch of the policy; false if none applies."""
        return self is not _NO_BRANCH

    def names_family(self, family: str) -> bool:
        """Return whether the branch names a family, rather than only its kind of hardware."""
        return _any(self.families, family)

    def match(self, kind: InstanceType) -> Match:
        """Return how a type compares with the hardware that the branch names."""
        if self.names_family(kind.family) or kind.hardware.value in self.hardware:
            return "named"
        if _any(self.instead, kind.family):
            return "instead"
        return "hardware" if kind.hardware.value in _hardware_of(self.families) else "other"

    def rank(self, kind: InstanceType) -> float:
        """Return the policy's part of a type's score, from 0 to 1."""
        return facts.ranking()["match"][self.match(kind)]["score"]


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Decision trees."""

    name: str  # as messages use it: selection guide
    branches: tuple[Branch, ...]  # of all trees, in the order in which they are checked
    cautions: tuple[Branch, ...]  # warnings about hardware, whatever the branch

    def branch(self, workload: WorkloadSpec, shape: Shape) -> Branch:
        """Return the branch for a workload: the first whose conditions are met, or an empty branch."""
        asked = _Asked.by(workload, shape)
        return next((each for each in self.branches if asked.meets(each.when)), _NO_BRANCH)

    def warnings(self, workload: WorkloadSpec, shape: Shape) -> tuple[Branch, ...]:
        """Return the cautions for a workload."""
        asked = _Asked.by(workload, shape)
        return tuple(caution for caution in self.cautions if asked.meets(caution.when))


_NO_BRANCH = Branch(
    id="none",
    tree="none",
    policy="policy",
    quote="",
    under="",
    document="",
    reading="no branch of the policy applies",
    when={},
    families=(),
    hardware=(),
    instead=(),
    today=None,
)


def policy_for(request: Request) -> Policy:
    """Return the policy of a request: its own, or the shipped one."""
    return request.policy or shipped()


def branch_for(request: Request) -> Branch:
    """Return the branch of the request's policy for its workload."""
    return policy_for(request).branch(request.workload, request.shape)


@cache
def exclusion(kind: InstanceType) -> tuple[str, str] | None:
    """Return the code and the reason of the rule that excludes a type; None for most types."""
    for row in facts.ranking()["excluded"]:
        if (row.get("bare_metal") and kind.bare_metal) or (row.get("burstable") and kind.burstable):
            return row["code"], row["why"]
    return None


def way_of(workload: WorkloadSpec) -> str:
    """Return the policy's kind of work: the task, or for inference the kind of serving."""
    return (workload.serving or "real-time") if workload.task == "inference" else workload.task


# --- conditions


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """The properties of a workload that conditions of branches check."""

    task: str
    adapters: bool  # whether only adapters are trained
    parameters: int
    kind: str  # kind of model: transformer if unknown, vision, tabular, ...
    budget: str
    framework: str | None
    precision: str | None
    attention: bool
    serving: str | None  # real-time or batch; None for anything but inference
    focus: str | None  # latency or throughput; None for anything but inference
    latency_ms: float  # lowest target

    @classmethod
    def by(cls, workload: WorkloadSpec, shape: Shape) -> _Asked:
        serving = way_of(workload) if workload.task == "inference" else None
        kinds = facts.ranking()["kinds"].items()
        targets = [workload.latency.first_token_ms, workload.latency.per_token_ms] if workload.latency else []
        return cls(
            task=workload.task,
            adapters=workload.method in ("lora", "qlora"),
            parameters=shape.parameters,
            kind=next((kind for kind, names in kinds if shape.architecture in names), "transformer"),
            budget=workload.budget,
            framework=workload.framework,
            precision=workload.precision,
            attention=workload.attention is not None,
            serving=serving,
            focus=workload.focus or ("latency" if serving == "real-time" else "throughput") if serving else None,
            latency_ms=min((target for target in targets if target is not None), default=math.inf),
        )

    def meets(self, when: When) -> bool:
        return all(_CONDITIONS[name](self, value) for name, value in when.items())


_CONDITIONS: Mapping[str, Callable[[_Asked, Any], bool]] = {
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
    "latency_ms_at_most": lambda asked, value: asked.latency_ms <= value,
}


@lru_cache(maxsize=4096)
def _any(patterns: tuple[str, ...], family: str) -> bool:
    return any(fnmatchcase(family, pattern) for pattern in patterns)


@cache
def _hardware_of(patterns: tuple[str, ...]) -> frozenset[str]:
    """Return the kinds of hardware of the families that match."""
    known = load()
    families = (family for family in known.families if _any(patterns, family))
    return frozenset(known.select(family=family)[0].hardware.value for family in families)


# --- from a file


@cache
def shipped() -> Policy:
    """Return the shipped policy: the decision trees of the documents on which the project is based."""
    content = facts.selection_guide()
    return policy_of(content)


def policy_of(content: Mapping[str, Any]) -> Policy:
    """Return the policy of a file with valid content."""
    content = {"documents": {}, "cautions": (), **content}
    return Policy(
        name=content["name"],
        branches=tuple(
            _branch(content, row, tree, cast("When", {**tree.get("when", {}), **row.get("when", {})}))
            for tree in content["trees"]
            for row in tree["branches"]
        ),
        cautions=tuple(_branch(content, row, row, row.get("when", {})) for row in content["cautions"]),
    )


def _branch(content: Mapping[str, Any], row: Mapping[str, Any], tree: Mapping[str, Any], when: When) -> Branch:
    today: Today | None = row.get("today")
    named = row["names"]
    return Branch(
        id=row["id"],
        tree=tree["id"],
        policy=content["name"],
        quote=row["quote"],
        under=row.get("under", tree.get("heading", "")),
        document=content["documents"].get(tree.get("document"), content["name"]),
        reading=row.get("reading", ""),
        when=when,
        families=tuple(named.get("families", ())),
        hardware=tuple(named.get("hardware", ())),
        instead=tuple(row.get("instead", ())),
        today=today and {**today, "source": content["sources"][today["source"]]},
    )
