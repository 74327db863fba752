"""Unknown fields that have another name, or another place, in a strategy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from eks_hardware import facts, models
from eks_hardware.loader.model_fields import fields
from eks_hardware.loader.other_names import field_here, has_path
from eks_hardware.models import ClusterSpec, NodeGroupSpec, NodePoolSpec, Strategy
from eks_hardware.models.network import NetworkSpec
from eks_hardware.models.nodes import Disruption, Scaling
from eks_hardware.suggestions import close

SECTIONS = {
    each.__name__: each
    for each in (ClusterSpec, Disruption, NetworkSpec, NodeGroupSpec, NodePoolSpec, Scaling, Strategy)
} | {"KubernetesSpec": models.KubernetesSpec}


def rows() -> Iterator[tuple[str, str, str]]:
    """Yield section, name and path of every row."""
    for tool in facts.other_names()["tools"].values():
        for section, names in tool["fields"].items():
            for name, path in names.items():
                yield section, name, path


def test_every_path_exists() -> None:
    wrong = [
        row
        for row in rows()
        if not (has_path(SECTIONS[row[0]], row[2]) or (row[0] != "Strategy" and has_path(Strategy, row[2])))
    ]
    assert wrong == []


def test_every_row_is_needed() -> None:
    """A similar name is suggested without a row."""
    similar = [(section, name) for section, name, path in rows() if close(name, fields(SECTIONS[section])) == (path,)]
    assert similar == []


def test_no_row_contradicts_another() -> None:
    found: dict[tuple[str, str], set[str]] = {}
    for section, name, path in rows():
        found.setdefault((section, name.replace("_", "").lower()), set()).add(path)
    assert {key: paths for key, paths in found.items() if len(paths) > 1} == {}


def test_a_path_without_a_field_does_not_exist() -> None:
    assert has_path(NodeGroupSpec, "scaling.min")
    assert not has_path(NodeGroupSpec, "scaling.minimum")
    assert not has_path(NodeGroupSpec, "name.min")


@pytest.mark.parametrize(
    ("section", "key", "path"),
    [
        (Strategy, "kubernetes_version", "cluster.kubernetes_version"),
        (Strategy, "node_pools", "karpenter.node_pools"),
        (Strategy, "vpc_id", "network.existing.vpc_id"),
        (ClusterSpec, "version", "kubernetes_version"),
        (NodeGroupSpec, "min", "scaling.min"),
        (NodeGroupSpec, "maxSize", "scaling.max"),
        (NodeGroupSpec, "nodes", "scaling.desired"),
        (NodeGroupSpec, "disk_size", "disk.size_gib"),
        (NodeGroupSpec, "max_pods", "kubelet.max_pods"),
        (NodeGroupSpec, "subnet_ids", "zones"),
        (NodeGroupSpec, "version", "cluster.kubernetes_version"),
        (NodePoolSpec, "volumeSize", "disk.size_gib"),
        (NodePoolSpec, "max_size", "limits"),
        (NodePoolSpec, "consolidateAfter", "disruption.consolidate_after"),
    ],
)
def test_another_name_and_place(section: type[object], key: str, path: str) -> None:
    assert field_here(section, key) == path


@pytest.mark.parametrize("key", ["enabled", "id", "key", "nothing_like_it"])
def test_general_and_unknown_names(key: str) -> None:
    assert field_here(NodeGroupSpec, key) is None
