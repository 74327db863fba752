"""Put instance types in place of ``workload: {...}``: the step between loading a strategy and resolving it.

The types come from the lock file beside the strategy, and from nowhere else: where it has no answer to what the
strategy asks, that is an error, which says what the recommender would choose today.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from eks_hardware import field_paths
from eks_hardware.advisor.strategies import lock
from eks_hardware.advisor.strategies.choose import NothingFitsError, Recommender, choose, too_few_nodes
from eks_hardware.advisor.strategies.filled import Filled
from eks_hardware.advisor.strategies.questions import (
    Node,
    Question,
    QuestionError,
    answer_in,
    described_nodes,
    differences,
    question_of,
)
from eks_hardware.catalogue import Catalogue, load
from eks_hardware.findings import Finding, Position, Severity
from eks_hardware.loader import LoadedStrategy, SourceMap
from eks_hardware.loader import yaml_nodes as yn
from eks_hardware.loader.yaml_files import display_name
from eks_hardware.models import NodeGroupSpec
from eks_hardware.models.node_lists import nodes_by_path, with_nodes
from eks_hardware.printable import shown

_MOST_DIFFERENCES = 4


def fill(
    loaded: LoadedStrategy,
    *,
    overlays: Sequence[str] = (),
    recommender: Recommender | None = None,
    catalogue: Catalogue | None = None,
) -> Filled:
    """A strategy with the hardware that is locked for its workloads.

    Args:
        loaded: the strategy.
        overlays: those that it was loaded with: a lock file keeps apart what was asked with others.
        recommender: for tests; what says which hardware would be chosen today.
        catalogue: the packaged one by default.
    """
    described = described_nodes(loaded)
    path = lock.lock_path(loaded.path) if loaded.path else None
    try:
        entries = lock.read(path) if path else ()
    except lock.LockError as error:
        # Of a strategy that asks nothing it is no business what lies beside it.
        return Filled(loaded, frozenset(described), (_of_lock(error),) if described else ())
    filling = _Filling(loaded, tuple(overlays), entries, recommender, catalogue)
    for each, node in described.items():
        filling.take(each, node)
    findings = (*filling.findings, *filling.unused(set(described)))
    filled = filled_in(loaded, filling.chosen) if filling.chosen else loaded
    return Filled(filled, frozenset(described) - set(filling.chosen), findings)


class _Filling:
    """One strategy on its way."""

    def __init__(
        self,
        loaded: LoadedStrategy,
        overlays: tuple[str, ...],
        entries: Sequence[lock.Entry],
        recommender: Recommender | None,
        catalogue: Catalogue | None,
    ) -> None:
        self._loaded = loaded
        self._overlays = overlays
        self._entries = entries
        self._recommender = recommender
        self._catalogue = catalogue
        self._used: list[lock.Entry] = []
        self.chosen: dict[str, lock.Chosen] = {}
        self.findings: list[Finding] = []

    def take(self, path: str, node: Node) -> None:
        """Fill one group or pool, or say why not."""
        try:
            question = question_of(self._loaded, path, node)
        except QuestionError as error:
            self._say(error.finding)
            return
        entry = answer_in(self._entries, question)
        if entry:
            self._used.append(entry)
            self.chosen[path] = entry.chosen
            self._say(too_few_nodes(path, node, entry.chosen, self._catalogue))
        # Of a region that the catalogue does not know REGION_UNKNOWN says enough.
        elif self._loaded.strategy.region in (self._catalogue or load()).regions:
            self._ask(question)

    def _ask(self, question: Question) -> None:
        try:
            answer = choose(
                question,
                self._loaded.strategy.network,
                recommender=self._recommender,
                catalogue=self._catalogue,
            )
        except NothingFitsError as error:
            self._say(error.finding)
            return
        today = answer.entry.chosen
        self._say(self._unlocked(question, today))
        self._say(too_few_nodes(question.path, question.node, today, self._catalogue))

    def _unlocked(self, question: Question, today: lock.Chosen) -> Finding:
        command = f"run `{lock_command(self._loaded, self._overlays)}` and commit {self._lock_name}"
        others = [each for each in self._entries if each.path == question.path]
        if not others:
            message = (
                f"the hardware for it is not locked: the recommender would choose {today.instance_types[0]} today; "
                f"{command}"
            )
            return Finding("LOCK_MISSING", f"{question.path}.workload", message)
        # Of choices for several overlays the one that is meant is the one that is most alike.
        nearest = min(others, key=lambda each: len(differences(question.asked, each.asked)))
        changed = differences(question.asked, nearest.asked)
        more = f" and {len(changed) - _MOST_DIFFERENCES} more" if len(changed) > _MOST_DIFFERENCES else ""
        message = (
            f"{nearest.chosen.instance_types[0]} is locked for another question: "
            f"{shown('; '.join(changed[:_MOST_DIFFERENCES]), 300)}{more}; the recommender would choose "
            f"{today.instance_types[0]} today: {command}"
        )
        return Finding("LOCK_OUTDATED", f"{question.path}.workload", message)

    @property
    def _lock_name(self) -> str:
        return lock.lock_path(self._loaded.path).name if self._loaded.path else "the lock file"

    def unused(self, described: Collection[str]) -> list[Finding]:
        """Choices that nobody asks for any more; those made with other overlays are for other runs."""
        answered = {each.path for each in self._used}
        stale = [
            each
            for each in self._entries
            if each.overlays == self._overlays
            and each not in self._used
            and (each.path not in described or each.path in answered)
        ]
        position = Position(display_name(lock.lock_path(self._loaded.path))) if self._loaded.path else None
        return [
            Finding(
                "LOCK_UNUSED",
                "",
                f"nothing asks for the choice of {each.chosen.instance_types[0]} for {each.path} any more; run "
                f"`{lock_command(self._loaded, self._overlays)}` to remove it",
                Severity.WARNING,
                position,
            )
            for each in stale
        ]

    def _say(self, finding: Finding | None) -> None:
        if finding:
            self.findings.append(replace(finding, position=self._loaded.source.locate(finding.path)))


def lock_command(loaded: LoadedStrategy, overlays: Sequence[str] = ()) -> str:
    """What to run to lock a strategy."""
    return " ".join(["eks-hardware lock", loaded.file, *(f"--overlay {name}" for name in overlays)])


def _of_lock(error: lock.LockError) -> Finding:
    return Finding(error.code, "", error.message, position=Position(error.file))


# --- filling in


def filled_in(loaded: LoadedStrategy, chosen: Mapping[str, lock.Chosen]) -> LoadedStrategy:
    """A strategy with what was chosen for some groups and pools; findings about it point to their workload."""
    nodes = {
        path: _with(node, chosen[path]) if path in chosen else node
        for path, node in nodes_by_path(loaded.strategy).items()
    }
    root = loaded.source.root
    for path in chosen:
        root = yn.changed(root, field_paths.split(path), partial(_with_types, names=chosen[path].instance_types))
    return replace(loaded, strategy=with_nodes(loaded.strategy, nodes), source=SourceMap(root))


def _with(node: Node, chosen: lock.Chosen) -> Node:
    """What the strategy says itself stays."""
    given = node.model_fields_set
    update: dict[str, object] = {"instance_types": chosen.instance_types}
    if chosen.efa and "efa" not in given:
        update["efa"] = True
    capacity = chosen.capacity[0] if isinstance(node, NodeGroupSpec) else chosen.capacity
    if "capacity" not in given and capacity != node.capacity:
        update["capacity"] = capacity
    own = node.needs.model_dump(exclude_none=True)
    update["needs"] = node.needs.model_copy(update={**chosen.needs.model_dump(exclude_none=True), **own})
    return node.model_copy(update=update)


def _with_types(node: yn.Node, names: Sequence[str]) -> yn.Node:
    """A group or pool with the types that were chosen, where its workload stands."""
    workload = node.entries.get("workload") if isinstance(node, yn.Mapping) else None
    if not isinstance(node, yn.Mapping) or workload is None:
        return node
    # As the workload is found: by its key, where it goes over several lines.
    at = workload.node.position
    at = workload.key_position if workload.key_position.line != at.line else at
    types = yn.Sequence([yn.Scalar(name, name, True, at) for name in names], at)
    entries = {**node.entries}
    for field in ("instance_types", "efa", "needs", "capacity"):
        entries.setdefault(field, yn.Entry(at, types))
    return yn.Mapping(entries, node.position, removed=node.removed)
