"""Comparisons of strategies whose stacks are synthesized once per run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from eks_hardware.diff import Changes, compare
from eks_hardware.diff.resources import Document
from eks_hardware.diff.synthesis import synthesize
from eks_hardware.models import Strategy
from eks_hardware.resolve import ResolvedStrategy
from helpers.sections import cluster, node_groups
from helpers.strategies import SYSTEM, gpu_pool, group, pools, strategy

_BEFORE = strategy(
    group("g5.xlarge", name="inference", scaling={"min": 1, "max": 4}),
    group("p4d.24xlarge", name="training", efa=True, scaling={"max": 2}),
    **pools(gpu_pool("burst", instance_families=["g5"])),
)

_AFTER = strategy(
    node_groups=[
        SYSTEM,
        group("g5.xlarge", name="inference", capacity="spot", scaling={"min": 1, "max": 8}),
        group("trn1.32xlarge", name="neuron", scaling={"max": 2}),
    ],
    network={"nat_gateways": "one-per-zone"},
    tags={"team": "ml"},
    **pools(gpu_pool("burst", instance_families=["g6"], disk={"size_gib": 400})),
)

EVERYTHING = (_BEFORE, _AFTER)
"""Two strategies with every kind of change between them: replaced, updated, removed, new."""

_SYNTHESIZED: dict[str, Sequence[Document]] = {}


def synthesized_once(resolved: ResolvedStrategy) -> Sequence[Document]:
    """Return the Terraform JSON of a strategy's stacks."""
    key = repr(resolved)
    if key not in _SYNTHESIZED:
        _SYNTHESIZED[key] = synthesize(resolved)
    return _SYNTHESIZED[key]


def compared(before: Strategy | Mapping[str, Any], after: Strategy | Mapping[str, Any]) -> Changes:
    """Compare two strategies, or sections of them, with their synthesized resources."""
    return compare(_strategy(before), _strategy(after), synthesize=synthesized_once)


def compared_without_node(before: Strategy | Mapping[str, Any], after: Strategy | Mapping[str, Any]) -> Changes:
    """Compare two strategies, or sections of them, with generated resources for node groups only."""
    return compare(_strategy(before), _strategy(after), synthesize=_nodes)


def with_cluster(**fields: Any) -> dict[str, Any]:
    """Return a node group, and the section ``cluster``."""
    return node_groups(group("g5.xlarge"), **cluster(**fields))


def write_pair(folder: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, str]:
    """Write the old and the new strategy; return the names of the files."""
    for name, content in (("old.yaml", old), ("new.yaml", new)):
        (folder / name).write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return str(folder / "old.yaml"), str(folder / "new.yaml")


def headings(markdown: str) -> list[str]:
    """Return the headings of a comment's strategies."""
    return [line for line in markdown.splitlines() if line.startswith("### ")]


def _strategy(given: Strategy | Mapping[str, Any]) -> Strategy:
    return given if isinstance(given, Strategy) else strategy(**given)


def _nodes(resolved: ResolvedStrategy) -> Sequence[Document]:
    """Return the node groups of a strategy with their launch templates, as Terraform JSON."""
    templates, groups = {}, {}
    for each in resolved.node_groups:
        path = f"{resolved.name}/platform/nodes-{each.name}"
        templates[each.name] = {"//": {"metadata": {"path": f"{path}/launch-template"}}, "name": each.name}
        groups[each.name] = {
            "//": {"metadata": {"path": f"{path}/Resource"}},
            "node_group_name": each.name,
            "capacity_type": each.capacity_type,
            "labels": dict(each.labels),
            "scaling_config": {"max_size": each.max_size},
        }
    return ({"resource": {"aws_launch_template": templates, "aws_eks_node_group": groups}},)
