"""Compare the capacity of a pool's nodes as Karpenter's own code computes it with ours.

``make cluster-tools`` builds the program ``karpenter-types``, which computes instance types from our EC2NodeClasses.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml

from eks_hardware import facts
from eks_hardware.catalogue import InstanceType, load
from eks_hardware.kubernetes.allocatable import DEFAULT_PODS, allocatable, efa_huge_pages
from eks_hardware.kubernetes.node_pool import node_class, node_overlays
from eks_hardware.local.emulator_patches.ec2_offers import instance_types
from eks_hardware.resolve import ResolvedNodePool, resolve
from eks_hardware.resolve.extended_resources import extended_resources_of
from eks_hardware.resolve.node import AMI_PREFIXES
from eks_hardware.resolve.pool_types import known_to_karpenter
from eks_hardware.units import GIB, amount
from helpers.strategies import pool, pools, strategy

REASONS = Path(__file__).parents[1] / "cluster" / "karpenter_types.yaml"

_POOLS_PER_STRATEGY = 100
_POD_SUBNETS = {"network": {"pod_cidr": "100.64.0.0/16"}}


@dataclass(frozen=True)
class Setting:
    """Fields of a pool and a strategy that change what pods can use on a node.

    Attributes:
        title: the setting, for messages.
        pool: fields of each pool.
        strategy: fields of the strategy.
        environment: settings of the controller that follow from it.
    """

    title: str
    pool: Mapping[str, Any] = field(default_factory=dict)
    strategy: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def with_efa(self) -> bool:
        return bool(self.pool.get("efa"))


SETTINGS = (
    Setting("default"),
    Setting("own subnets for pods", strategy=_POD_SUBNETS, environment={"RESERVED_ENIS": "1"}),
    Setting("efa", {"efa": True}),
    Setting("efa, own subnets for pods", {"efa": True}, _POD_SUBNETS, {"RESERVED_ENIS": "1"}),
    Setting(
        "own kubelet and disk",
        {
            "kubelet": {
                "max_pods": 20,
                "kube_reserved": {"memory": "2Gi"},
                "system_reserved": {"cpu": "500m", "memory": "1Gi"},
            },
            "disk": {"size_gib": 500},
            "instance_store": "none",
        },
    ),
)
FAMILIES = ("al2023", "bottlerocket")


@dataclass(frozen=True)
class Difference:
    """A resource of a node for which Karpenter and our code expect amounts that differ by more than 1%."""

    family: str
    setting: str
    type_name: str
    resource: str
    ours: Fraction
    karpenters: Fraction

    def __str__(self) -> str:
        sides = f"ours {float(self.ours):.6g}, Karpenter's {float(self.karpenters):.6g}"
        return f"{self.type_name} ({self.family}, {self.setting}): {self.resource}: {sides}"


def nameable(family: str, *, efa: bool = False) -> list[InstanceType]:
    """Return the types that a pool can name."""
    return [
        kind
        for kind in load().select()
        if known_to_karpenter(kind)
        and any(each.startswith(AMI_PREFIXES[family]) for each in kind.ami_types)
        # The rule POOL_EFA_UNSUPPORTED refuses types with EFA on the primary interface.
        and (not efa or (kind.supports_efa and kind.efa_interfaces[0].interface_type != "efa"))
    ]


def not_described(family: str) -> list[str]:
    """Return the types that a pool can name and EC2's recorded answers lack."""
    return [kind.name for kind in nameable(family) if kind.name not in instance_types()]


def amounts_that_differ(program: Path, family: str, setting: Setting) -> Iterator[Difference]:
    """Yield the differences of all types that a pool can name."""
    kinds = [kind for kind in nameable(family, efa=setting.with_efa) if kind.name in instance_types()]
    resolved = _pools(family, setting, kinds)
    computed = _computed(program, resolved, setting)
    for node, kind in zip(resolved, kinds, strict=True):
        ours, karpenters = _ours(node, kind), computed[node.name][kind.name]
        for resource in sorted(ours.keys() | karpenters.keys()):
            mine, its = ours.get(resource, Fraction(0)), karpenters.get(resource, Fraction(0))
            if abs(mine - its) * 100 > its:
                yield Difference(family, setting.title, kind.name, resource, mine, its)


def _pools(family: str, setting: Setting, kinds: list[InstanceType]) -> list[ResolvedNodePool]:
    """Return one pool for each type."""
    found: list[ResolvedNodePool] = []
    for start in range(0, len(kinds), _POOLS_PER_STRATEGY):
        some = [
            pool(kind.name.replace(".", "-"), instance_types=[kind.name], ami={"family": family}, **setting.pool)
            for kind in kinds[start : start + _POOLS_PER_STRATEGY]
        ]
        found += resolve(strategy(**pools(*some), **setting.strategy)).node_pools
    return found


def _computed(
    program: Path, resolved: list[ResolvedNodePool], setting: Setting
) -> dict[str, dict[str, dict[str, Fraction]]]:
    """Return what Karpenter computes for each pool and type, by our names of resources."""
    asked = [
        {
            "name": each.name,
            "class": node_class(each, instance_profile=False),
            "types": each.instance_types,
            "overlays": {
                name: overlay["spec"]["capacity"]
                for overlay in node_overlays(each)
                for name in overlay["spec"]["requirements"][1]["values"]
            },
        }
        for each in resolved
    ]
    run = subprocess.run(
        [program],
        input=json.dumps({"types": list(instance_types().values()), "pools": asked}),
        env={**os.environ, **setting.environment},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return {
        name: {kind: _karpenters(found) for kind, found in kinds.items()}
        for name, kinds in json.loads(run.stdout).items()
    }


def _karpenters(found: Mapping[str, Mapping[str, str]]) -> dict[str, Fraction]:
    """Return what is allocatable, and the whole disk: our code does not say how much of it pods can use."""
    # Karpenter reserves more than small nodes have.
    resources = {
        name: Fraction(0) if value.startswith("-") else amount(value) for name, value in found["allocatable"].items()
    }
    return {**resources, "ephemeral-storage": amount(found["capacity"]["ephemeral-storage"])}


def _ours(node: ResolvedNodePool, kind: InstanceType) -> dict[str, Fraction]:
    devices = extended_resources_of(kind, efa_count=node.efa_count, shares=node.gpu_shares)
    disks = kind.instance_store if node.instance_store == "raid0" else None
    return {
        **allocatable(node, kind),
        **{name: Fraction(count) for name, count in devices.items()},
        "pods": Fraction(node.max_pods or DEFAULT_PODS),
        "ephemeral-storage": Fraction(disks.total_gb * 10**9 if disks else node.block_devices[-1].size_gib * GIB),
        facts.eks()["efa_huge_pages"]["resource"]: Fraction(efa_huge_pages(node, kind).promised_mib * 2**20),
    }


@dataclass
class Listed:
    """Why amounts differ, from ``karpenter_types.yaml``.

    Attributes:
        rows: resource, types and reason, with the settings that have the difference, by default all.
        not_described: the types that are not compared.
        used: the number of a row and a type for each of its differences.
    """

    rows: list[dict[str, Any]]
    not_described: set[str]
    used: set[tuple[int, str]] = field(default_factory=set)

    @classmethod
    def read(cls) -> Listed:
        read = yaml.safe_load(REASONS.read_text(encoding="utf-8"))
        return cls(read["differences"], set(read["not_described"]))

    def explains(self, difference: Difference) -> bool:
        """Return whether a row lists a difference."""
        for number, row in enumerate(self.rows):
            of_setting = difference.setting in row.get("settings", [difference.setting])
            pattern = next((each for each in row["types"] if fnmatchcase(difference.type_name, each)), None)
            if row["resource"] == difference.resource and of_setting and pattern:
                self.used.add((number, pattern))
                return True
        return False

    def without_difference(self) -> list[str]:
        """Return the types that a row lists without need."""
        return [
            f"{row['resource']}: {pattern}"
            for number, row in enumerate(self.rows)
            for pattern in row["types"]
            if (number, pattern) not in self.used
        ]
