"""The instance types that a Karpenter node pool can launch, and what its limits count.

The pool lists single types, not requirements on families or GPU names. The types of a pool are therefore known here,
can be priced and simulated, and never extend to other hardware (docs/adr/0010).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType

from eks_hardware import facts
from eks_hardware.catalogue import Catalogue, InstanceType
from eks_hardware.models import NetworkSpec, NodePoolSpec
from eks_hardware.resolve import node
from eks_hardware.resolve.extended_resources import accelerator_resource
from eks_hardware.resolve.huge_pages import huge_pages
from eks_hardware.resolve.reserved import memory_of_guest
from eks_hardware.resolve.values import GpuShares
from eks_hardware.units import GIB


@lru_cache(maxsize=2048)
def node_capacity(kind: InstanceType) -> Mapping[str, Fraction]:
    """Return what a node of a type counts towards a pool's ``limits``, by limit name; memory in bytes."""
    counted = {"nodes": Fraction(1), "cpu": Fraction(kind.vcpus), "memory": Fraction(kind.memory_gib) * GIB}
    resource = accelerator_resource(kind.hardware)
    if resource and kind.accelerator:
        counted[resource] = Fraction(kind.accelerator.count)
    return MappingProxyType(counted)


def counted_by_karpenter(kind: InstanceType, shares: GpuShares | None) -> Mapping[str, Fraction]:
    """Return what Karpenter counts for a node: shared GPUs, and memory without the hypervisor's part."""
    counted = dict(node_capacity(kind))
    counted["memory"] = memory_of_guest(counted["memory"], arm64=kind.architecture == "arm64")
    if shares and kind.accelerator:
        counted[shares.resource] = Fraction(kind.accelerator.count * shares.shares_per_gpu)
    return counted


def pool_types(pool: NodePoolSpec, region: str, catalogue: Catalogue) -> tuple[str, ...]:
    """Return the names of the instance types that a pool can launch, by family and size.

    Types that the pool lists are used unchanged; if the catalogue lacks one of them, the result is empty. For families
    and accelerators, some types are omitted: those that the region does not offer, withdrawn and bare metal types, and
    types that Karpenter does not know. Types with a fraction of an accelerator are omitted unless the pool names the
    family. Types without an image for the pool's operating system are omitted, too, and types without EFA if the pool
    uses EFA.
    """
    if pool.instance_types:
        known = tuple(name for name in pool.instance_types if catalogue.find(name))
        return known if len(known) == len(pool.instance_types) else ()
    return tuple(kind.name for kind in candidates(pool, catalogue) if left_out(pool, kind, region, catalogue) is None)


def lacks_price(type_name: str, capacity: Iterable[str], network: NetworkSpec) -> bool:
    """Return whether Karpenter needs a price for a pool's type but has none; only in a private network.

    Reserved capacity needs no price, and Spot prices come from EC2.
    """
    unpriced = facts.karpenter()["private"]["no_builtin_price"]
    return network.private and "on-demand" in capacity and type_name in unpriced


def candidates(pool: NodePoolSpec, catalogue: Catalogue) -> tuple[InstanceType, ...]:
    """Return every type of a pool's families, or with its accelerator, by family and size."""
    if pool.accelerator:
        return catalogue.select(accelerator=pool.accelerator)
    return tuple(kind for family in pool.instance_families for kind in catalogue.select(family=family))


def left_out(pool: NodePoolSpec, kind: InstanceType, region: str, catalogue: Catalogue) -> str | None:
    """Return why a pool does not use a type of its families or accelerator; None if it does."""
    family_name = "Bottlerocket" if pool.ami.family == "bottlerocket" else "AL2023"
    why_not = {
        "another size": bool(pool.instance_sizes) and kind.size not in pool.instance_sizes,
        "withdrawn by EC2": catalogue.withdrawn(kind, region) is not None,
        f"not offered in {region}": not catalogue.offered(kind.name, region),
        "bare metal": kind.bare_metal,
        "Karpenter does not know its accelerator": not known_to_karpenter(kind),
        "a fraction of the accelerator": bool(pool.accelerator and kind.accelerator and kind.accelerator.fraction),
        "no EFA": pool.efa and not kind.supports_efa,
        f"no {family_name} image from EKS supports it": not pool.ami.image_id and not _has_image(pool, kind),
    }
    return next((reason for reason, applies in why_not.items() if applies), None)


def known_to_karpenter(kind: InstanceType) -> bool:
    """Return whether Karpenter recognizes a type's accelerators; if not, it picks an image without their driver."""
    if kind.accelerator is None:
        return True
    family = facts.karpenter()["accelerator_names"]["families"].get(kind.family)
    return family is not None and family["label"] is not None


def _has_image(pool: NodePoolSpec, kind: InstanceType) -> bool:
    return any(ami_type.startswith(node.AMI_PREFIXES[pool.ami.family]) for ami_type in kind.ami_types)


def cpus_per_device(kind: InstanceType) -> float:
    """Return a type's vCPUs per accelerator."""
    return kind.vcpus / kind.accelerator.count if kind.accelerator else 0


def has_huge_pages(pool: NodePoolSpec, types: Sequence[InstanceType]) -> bool:
    """Return whether the pool's nodes are known to have huge pages for EFA."""
    return any(promised_mib(pool, kind) for kind in types)


def promised_mib(pool: NodePoolSpec, kind: InstanceType) -> int:
    """Return the huge pages for EFA that pods on a pool's node can rely on, in MiB."""
    if not pool.efa:
        return 0
    own_image = bool(pool.ami.image_id)
    return huge_pages(kind, ami_family=pool.ami.family, own_image=own_image, settings=pool.user_data).promised_mib
