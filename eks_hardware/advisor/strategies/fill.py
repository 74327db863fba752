"""Replace ``workload: {...}`` with instance types, after a strategy is loaded and before it is resolved.

The types come only from the lock file next to the strategy. A workload without a locked choice is an error, whose
message names the recommender's current choice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from eks_hardware import field_paths
from eks_hardware.advisor.strategies import lock
from eks_hardware.advisor.strategies.choose import Recommender, choose, too_few_nodes
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
    """Return the strategy with the hardware that is locked for its workloads.

    A lock file separates choices for different ``overlays``. ``recommender`` and ``catalogue`` are for tests.
    """
    described = described_nodes(loaded)
    path = lock.lock_path(loaded.path) if loaded.path else None
    try:
        entries = lock.read(path) if path else ()
    except lock.LockError as error:
        # A strategy without workloads ignores lock files.
        broken = Finding(error.code, "", error.message, position=Position(error.file))
        return Filled(loaded, frozenset(described), (broken,) if described else ())
    filling = _Filling(loaded, tuple(overlays), entries, recommender, catalogue)
    for each, node in described.items():
        filling.take(each, node)
    findings = (*filling.findings, *filling.unused(set(described)))
    filled = filled_in(loaded, filling.chosen) if filling.chosen else loaded
    return Filled(filled, frozenset(described) - set(filling.chosen), findings)


@dataclass
class _Filling:
    """Fills one strategy, one group or pool at a time."""

    loaded: LoadedStrategy
    overlays: tuple[str, ...]
    entries: Sequence[lock.Entry]
    recommender: Recommender | None
    catalogue: Catalogue | None
    chosen: dict[str, lock.Chosen] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    _used: list[lock.Entry] = field(default_factory=list)

    def take(self, path: str, node: Node) -> None:
        """Fill one group or pool, or report why not."""
        try:
            question = question_of(self.loaded, path, node)
            entry = answer_in(self.entries, question)
            if entry:
                chosen = self.chosen[path] = entry.chosen
                self._used.append(entry)
            # REGION_UNKNOWN already reports a region that is not in the catalogue.
            elif self.loaded.strategy.region in (self.catalogue or load()).regions:
                network = self.loaded.strategy.network
                today = choose(question, network, recommender=self.recommender, catalogue=self.catalogue)
                chosen = today.chosen
                self._say(self._unlocked(question, chosen))
            else:
                return
        except QuestionError as error:
            self._say(error.finding)
            return
        self._say(too_few_nodes(path, node, chosen, self.catalogue))

    def _unlocked(self, question: Question, today: lock.Chosen) -> Finding:
        lock_name = lock.lock_path(self.loaded.path).name if self.loaded.path else "the lock file"
        command, path = f"run `{self._command}` and commit {lock_name}", field_paths.below(question.path, "workload")
        others = [entry for entry in self.entries if entry.path == question.path]
        if not others:
            message = (
                f"the workload's hardware is not locked: the recommender would choose {today.instance_types[0]} today; "
                f"{command}"
            )
            return Finding("LOCK_MISSING", path, message)
        # If there are choices for several overlays, use the one with the fewest differences.
        nearest = min(others, key=lambda other: len(differences(question.asked, other.asked)))
        changed = differences(question.asked, nearest.asked)
        more = f" and {len(changed) - _MOST_DIFFERENCES} more" if len(changed) > _MOST_DIFFERENCES else ""
        message = (
            f"{nearest.chosen.instance_types[0]} is locked for a different workload: "
            f"{shown('; '.join(changed[:_MOST_DIFFERENCES]), 300)}{more}; the recommender would choose "
            f"{today.instance_types[0]} today; {command}"
        )
        return Finding("LOCK_OUTDATED", path, message)

    @property
    def _command(self) -> str:
        return " ".join(["eks-hardware lock", self.loaded.file, *(f"--overlay {name}" for name in self.overlays)])

    def unused(self, described: Collection[str]) -> Iterator[Finding]:
        """Yield findings for choices that are no longer used. Choices made with other overlays are kept."""
        answered = {each.path for each in self._used}
        position = Position(display_name(lock.lock_path(self.loaded.path))) if self.loaded.path else None
        for entry in self.entries:
            stale = entry not in self._used and (entry.path not in described or entry.path in answered)
            if stale and entry.overlays == self.overlays:
                message = (
                    f"the choice of {entry.chosen.instance_types[0]} for {entry.path} is no longer used; run "
                    f"`{self._command}` to remove it"
                )
                yield Finding("LOCK_UNUSED", "", message, Severity.WARNING, position)

    def _say(self, finding: Finding | None) -> None:
        if finding:
            self.findings.append(replace(finding, position=self.loaded.source.locate(finding.path)))


# --- filling in


def filled_in(loaded: LoadedStrategy, chosen: Mapping[str, lock.Chosen]) -> LoadedStrategy:
    """Return a strategy with the choices for some groups and pools. Findings about them point to their workload."""
    nodes = {
        path: _with(node, chosen[path]) if path in chosen else node
        for path, node in nodes_by_path(loaded.strategy).items()
    }
    root = loaded.source.root
    for path in chosen:
        root = yn.changed(root, field_paths.split(path), partial(_with_types, names=chosen[path].instance_types))
    return loaded._replace(strategy=with_nodes(loaded.strategy, nodes), source=SourceMap(root))


def _with(node: Node, chosen: lock.Chosen) -> Node:
    """Return a group or pool with the choice, except for fields that the strategy sets."""
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
    """Return a group or pool with the chosen types, at the position of its workload."""
    workload = node.entries.get("workload") if isinstance(node, yn.Mapping) else None
    if not isinstance(node, yn.Mapping) or workload is None:
        return node
    # Findings about a multi-line workload point to its key.
    at = workload.node.position
    at = workload.key_position if workload.key_position.line != at.line else at
    types = yn.Sequence([yn.Scalar(name, name, True, at) for name in names], at)
    entries = {**node.entries}
    for key in ("instance_types", "efa", "needs", "capacity"):
        entries.setdefault(key, yn.Entry(at, types))
    return yn.Mapping(entries, node.position, removed=node.removed)
