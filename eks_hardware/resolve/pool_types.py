"""Which instance types a Karpenter node pool can make, what its limits count, and when its nodes are removed.

The types are written out one by one, not as requirements on families or GPU names: what a pool can make is
known here, can be priced and simulated, and cannot grow into other hardware (docs/adr/0010).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from eks_hardware import facts
from eks_hardware.catalogue import Catalogue, InstanceType
from eks_hardware.data import Cited, cite
from eks_hardware.models import NodePoolSpec
from eks_hardware.resolve import node
from eks_hardware.resolve.derived import Derived, Resolver, default, optional, stated, stated_or
from eks_hardware.resolve.extended_resources import accelerator_resource, huge_pages
from eks_hardware.resolve.model_kubernetes import DisruptionBudget, ResolvedDisruption
from eks_hardware.units import GIB

_CONSOLIDATION_POLICIES = {"when-empty": "WhenEmpty", "when-empty-or-underutilized": "WhenEmptyOrUnderutilized"}


def node_capacity(kind: InstanceType) -> dict[str, Fraction]:
    """What a node of a type counts for against the ``limits`` of a pool, by their names; memory in bytes."""
    counted = {"nodes": Fraction(1), "cpu": Fraction(kind.vcpus), "memory": Fraction(kind.memory_gib) * GIB}
    resource = accelerator_resource(kind.hardware)
    if resource and kind.accelerator:
        counted[resource] = Fraction(kind.accelerator.count)
    return counted


def pool_types(pool: NodePoolSpec, region: str, catalogue: Catalogue) -> tuple[str, ...]:
    """Names of the instance types that a pool can make, by family and size.

    Types that are written out are taken as they are, if the catalogue knows them. Of families and accelerators those
    are left out that the region does not offer, that are withdrawn or bare metal, that Karpenter does not know, that
    get a fraction of an accelerator (unless their family is asked for), that have no image of the pool's operating
    system, or no EFA where EFA is asked for.
    """
    if pool.instance_types:
        known = tuple(name for name in pool.instance_types if catalogue.find(name))
        return known if len(known) == len(pool.instance_types) else ()
    return tuple(kind.name for kind in candidates(pool, catalogue) if left_out(pool, kind, region, catalogue) is None)


def candidates(pool: NodePoolSpec, catalogue: Catalogue) -> tuple[InstanceType, ...]:
    """Every type of a pool's families, or with its accelerator; by family and size."""
    if pool.accelerator:
        return catalogue.select(accelerator=pool.accelerator)
    return tuple(kind for family in pool.instance_families for kind in catalogue.select(family=family))


def left_out(pool: NodePoolSpec, kind: InstanceType, region: str, catalogue: Catalogue) -> str | None:
    """Why a type of a pool's families or accelerator is not among the pool's; None where it is."""
    why_not = {
        "another size": bool(pool.instance_sizes) and kind.size not in pool.instance_sizes,
        "withdrawn": kind.withdrawn is not None,
        f"not offered in {region}": not catalogue.offered(kind.name, region),
        "bare metal": kind.bare_metal,
        "not known to Karpenter": not known_to_karpenter(kind),
        "a fraction of the accelerator": bool(pool.accelerator and kind.accelerator and kind.accelerator.fraction),
        "no EFA": pool.efa and not kind.supports_efa,
        f"no {pool.ami.family} image": not pool.ami.image_id and not _has_image(pool, kind),
    }
    return next((reason for reason, applies in why_not.items() if applies), None)


def known_to_karpenter(kind: InstanceType) -> bool:
    """Whether Karpenter recognizes the accelerators of a type; else it would take an image without their driver."""
    if kind.accelerator is None:
        return True
    family = facts.karpenter()["accelerator_names"]["families"].get(kind.family)
    return family is not None and family["label"] is not None


def _has_image(pool: NodePoolSpec, kind: InstanceType) -> bool:
    return any(each.startswith(node.AMI_PREFIXES[pool.ami.family]) for each in kind.ami_types)


def cpus_per_device(kind: InstanceType) -> float:
    """vCPUs of a type for each of its accelerators."""
    return kind.vcpus / kind.accelerator.count if kind.accelerator else 0


def has_huge_pages(pool: NodePoolSpec, types: Sequence[InstanceType]) -> bool:
    """Whether the pool's nodes are known to have huge pages for EFA."""
    return any(promised_mib(pool, kind) for kind in types)


def promised_mib(pool: NodePoolSpec, kind: InstanceType) -> int:
    """Huge pages for EFA that pods of a pool's node can count on, in MiB."""
    if not pool.efa:
        return 0
    own_image = bool(pool.ami.image_id)
    return huge_pages(kind, ami_family=pool.ami.family, own_image=own_image, settings=pool.user_data).promised_mib


class PoolDisruption(Resolver[ResolvedDisruption]):
    """When Karpenter may remove a node; by default as our choice for the pool's purpose says."""

    kind = ResolvedDisruption

    def __init__(self, pool: NodePoolSpec) -> None:
        self._given = pool.disruption
        self._purpose = pool.purpose if pool.purpose in cite(node.CHOICES, "disruption").value else "general"

    def _choice(self, name: str) -> Cited[Any]:
        return cite(node.CHOICES, "disruption", self._purpose, name)

    def _why(self) -> str:
        return str(self._choice("why").value)

    def consolidation_policy(self) -> Derived[str]:
        given = self._given.consolidation
        policy = _CONSOLIDATION_POLICIES[given] if given else None
        return stated_or(policy, self._choice("consolidation_policy"), self._why())

    def consolidate_after(self) -> Derived[str]:
        choice = self._choice("consolidate_after")
        text = f"{self._why()}; not for a gap of less than {choice.value}"
        return stated_or(_duration(self._given.consolidate_after), choice, text)

    def expire_after(self) -> Derived[str]:
        choice = self._choice("expire_after")
        text = self._why() if choice.value == "Never" else "a node is not older than its patches"
        return stated_or(_duration(self._given.expire_after), choice, text)

    def termination_grace_period(self) -> Derived[str | None]:
        text = "a drain takes as long as its pods' disruption budgets want"
        return optional(self._given.termination_grace_period, text, "https://karpenter.sh/docs/concepts/disruption/")

    def budgets(self) -> Derived[tuple[DisruptionBudget, ...]]:
        given = self._given.budgets
        if given is not None:
            budgets = (DisruptionBudget(each.nodes, each.reasons, each.schedule, each.duration) for each in given)
            return stated(tuple(budgets))
        choice = self._choice("budgets")
        chosen = tuple(DisruptionBudget(each["nodes"], tuple(each.get("reasons", ()))) for each in choice.value)
        return default(chosen, self._why(), choice)


def _duration(value: str | None) -> str | None:
    return "Never" if value == "never" else value
