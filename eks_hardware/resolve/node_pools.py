"""Resolve a Karpenter node pool: every instance type it can make, and everything that follows from them.

The types are written out one by one, in place of requirements on families or GPU names: what a pool can make is
known here, can be priced and simulated, and cannot grow into other hardware (docs/adr/0010).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from eks_hardware import facts
from eks_hardware.catalogue import Catalogue, EfaInterface, Hardware, InstanceType
from eks_hardware.models import AmiVersions, Disruption, NodePoolSpec
from eks_hardware.resolve import node, sources, user_data
from eks_hardware.resolve.extended_resources import huge_pages
from eks_hardware.resolve.gpu_sharing import GPU, gpu_shares, sharing_labels, sharing_settings
from eks_hardware.resolve.mappings import frozen, merged
from eks_hardware.resolve.model import GpuShares, Reasons
from eks_hardware.resolve.model_kubernetes import (
    CapacityOverlay,
    DisruptionBudget,
    ReservationSelector,
    ResolvedDisruption,
    ResolvedNodePool,
)
from eks_hardware.spellings import CAPACITY


@dataclass(frozen=True)
class _DisruptionDefault:
    policy: str
    after: str
    expire: str
    budgets: tuple[DisruptionBudget, ...]
    why: str


_NEVER_WHILE_BUSY = (
    DisruptionBudget("0", ("Underutilized", "Drifted")),
    DisruptionBudget("100%", ("Empty",)),
)

_DISRUPTION_SOURCE = "facts/karpenter.json disruption"

# A training job that loses a node loses its progress since the last checkpoint, and an empty accelerated node costs
# the most: https://karpenter.sh/docs/concepts/disruption/
_DISRUPTION = {
    "training": _DisruptionDefault(
        "WhenEmpty", "10m", "Never", _NEVER_WHILE_BUSY, "a training node goes only when it is empty"
    ),
    "development": _DisruptionDefault(
        "WhenEmpty",
        "15m",
        "168h",
        (DisruptionBudget("1", ("Underutilized", "Drifted")), DisruptionBudget("100%", ("Empty",))),
        "a development node goes when it is empty, or once a week",
    ),
    "inference": _DisruptionDefault(
        "WhenEmptyOrUnderutilized", "5m", "720h", (DisruptionBudget("20%"),), "replicas move to fuller nodes"
    ),
}
_DISRUPTION_OTHERWISE = _DisruptionDefault(
    "WhenEmptyOrUnderutilized", "1m", "720h", (DisruptionBudget("10%"),), "pods move to fuller nodes"
)


def accelerator_resource(hardware: Hardware) -> str | None:
    """The extended resource by which pods ask for the hardware: ``nvidia.com/gpu``, ``aws.amazon.com/neuron``."""
    return {
        Hardware.NVIDIA_GPU: "nvidia.com/gpu",
        Hardware.TRAINIUM: "aws.amazon.com/neuron",
        Hardware.INFERENTIA: "aws.amazon.com/neuron",
    }.get(hardware)


_GIB = 1024**3


def node_capacity(kind: InstanceType) -> dict[str, Fraction]:
    """What a node of a type counts for against the ``limits`` of a pool, by their names; memory in bytes."""
    counted = {"nodes": Fraction(1), "cpu": Fraction(kind.vcpus), "memory": Fraction(kind.memory_gib) * _GIB}
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
    family = facts.karpenter("accelerator_names")["families"].get(kind.family)
    return family is not None and family["label"] is not None


def _has_image(pool: NodePoolSpec, kind: InstanceType) -> bool:
    return any(each.startswith(node.AMI_PREFIXES[pool.ami.family]) for each in kind.ami_types)


def resolve_node_pool(
    pool: NodePoolSpec,
    *,
    cluster_name: str,
    region: str,
    zone_ids: tuple[str, ...],
    catalogue: Catalogue,
    ami_versions: AmiVersions | None = None,
    efa_security_group_name: str | None = None,
    subnet_ids: Mapping[str, str] | None = None,
    custom_networking: bool = False,
    common_tags: Mapping[str, str] | None = None,
    shell: tuple[str, ...] = (),
) -> ResolvedNodePool:
    """Derive everything about one node pool.

    The pool has passed the rules: it has types, which share architecture and hardware.
    """
    why = Reasons()
    given = pool.model_fields_set
    names = pool_types(pool, region, catalogue)
    types = tuple(catalogue.get(name) for name in names)
    first = types[0]
    hardware = first.hardware
    bottlerocket = pool.ami.family == "bottlerocket"
    efa = first.efa_interfaces if pool.efa else ()
    store = node.instance_store(pool, types)
    shares = gpu_shares(pool, types, bottlerocket=bottlerocket)
    reserved = bool(pool.reservations)
    version, version_reason = _ami_version(pool, ami_versions or AmiVersions())
    kubelet = _kubelet(pool, types, custom_networking=custom_networking)
    labels = MappingProxyType(
        {
            **sharing_labels(shares, bottlerocket=bottlerocket),
            **node.labels(pool, types, bottlerocket=bottlerocket),
        }
    )
    return ResolvedNodePool(
        name=why.strategy("name", pool.name),
        cluster_name=why.strategy("cluster_name", cluster_name),
        workload=why.given(
            "workload", pool.purpose, when="workload" in given, otherwise="general: no purpose is stated"
        ),
        hardware=why.catalogue(
            "hardware", hardware, node.describe(first), source=sources.of_hardware(first, catalogue)
        ),
        instance_types=why.strategy("instance_types", names, node.types_reason(pool))
        if pool.instance_types
        else why.catalogue(
            "instance_types",
            names,
            _types_reason(pool, region),
            source=sources.of_zones(types, catalogue, one_zone=False) + "; facts/karpenter.json accelerator_names",
        ),
        architecture=why.catalogue(
            "architecture",
            first.architecture,
            f"the architecture of {first.name}",
            source=catalogue.cited(first, "instances"),
        ),
        ami_family=node.noted_family(pool, why, source=catalogue.cited(first, "ami_types")),
        ami_alias=why.strategy("ami_alias", None, "your own image")
        if pool.ami.image_id
        else why.rule(
            "ami_alias",
            f"{pool.ami.family}@{version}",
            version_reason,
            source="facts/karpenter.json ami_aliases",
        ),
        image_id=why.given(
            "image_id",
            pool.ami.image_id,
            when=pool.ami.image_id is not None,
            otherwise="EKS's own image, by the alias",
            source="facts/karpenter.json ami_aliases",
        ),
        capacity_types=why.given(
            "capacity_types",
            tuple(dict.fromkeys(CAPACITY[each].karpenter for each in pool.capacity)),
            when="capacity" in given,
            otherwise="neither spot nor a reservation is asked for",
        ),
        reservations=why.strategy(
            "reservations",
            tuple(
                ReservationSelector(each.id, MappingProxyType(dict(each.tags)), each.owner_account_id)
                for each in pool.reservations
            ),
        )
        if reserved
        else why.default("reservations", (), "no reservation is named"),
        zone_ids=why.given(
            "zone_ids",
            zone_ids,
            when=bool(pool.zones),
            otherwise="one zone: EFA traffic does not leave it" if pool.efa else "the zones that offer its types",
            source=sources.of_zones(types, catalogue, one_zone=pool.efa),
        ),
        subnet_ids=why.rule(
            "subnet_ids",
            MappingProxyType({zone: each for zone, each in (subnet_ids or {}).items() if zone in zone_ids}),
            "subnets that are not tagged are named" if subnet_ids else "found by their discovery tag",
            source=sources.SUBNET_SELECTOR,
        ),
        limits=why.rule(
            "limits",
            _limits(pool, types, shares),
            "the strategy's, and the CPUs that belong to them",
            source=catalogue.cited(first, "instances"),
        )
        if accelerator_resource(hardware) in pool.limits
        else why.strategy("limits", _limits(pool, types, shares)),
        weight=why.given("weight", pool.weight, when=pool.weight is not None, otherwise="no pool is preferred"),
        labels=why.rule(
            "labels",
            labels,
            "hardware, workload, accelerator, and what plugins select on",
            source=sources.of_labels(pool, labels, first),
        ),
        taints=node.noted_taints(pool, first, why, source=sources.of_taints(first, catalogue)),
        efa_interfaces=node.noted_efa(pool, first, why, source=sources.of_efa(pool, first, catalogue)),
        network_interfaces=_network_interfaces(efa, types, why),
        efa_security_group_name=why.rule(
            "efa_security_group_name",
            efa_security_group_name if efa else None,
            "EFA needs all traffic from and to itself" if efa else "without EFA the cluster's security group will do",
            source=sources.EFA_GROUP,
        ),
        placement_group_name=node.placement_group(
            pool,
            cluster_name,
            why,
            reserved=reserved,
            supported="cluster" in first.placement_strategies,
            source=sources.of_placement(first, catalogue),
        ),
        block_devices=why.rule(
            "block_devices",
            node.block_devices(pool, hardware, bottlerocket=bottlerocket),
            node.disk_reason(pool, hardware),
            source=sources.of_disks(pool, hardware, bottlerocket=bottlerocket),
        ),
        instance_store=why.given(
            "instance_store",
            store,
            when=pool.instance_store is not None,
            otherwise="local NVMe as one array for images and ephemeral storage"
            if store == "raid0"
            else "not every type has local disks",
            source=sources.of_instance_store(types, catalogue),
        ),
        kubelet=why.rule(
            "kubelet",
            frozen(kubelet),
            "pods a node with prefix delegation, and the strategy's settings",
            source=sources.of_max_pods(first, catalogue),
        ),
        user_data=why.rule(
            "user_data",
            frozen(
                _user_data(
                    pool, hardware, store=store, sharing=sharing_settings(shares, types, bottlerocket=bottlerocket)
                )
            ),
            "what an EC2NodeClass has no field for",
            source=sources.of_user_data(bottlerocket=bottlerocket),
        ),
        shell=why.rule(
            "shell",
            () if bottlerocket else shell,
            node.shell_reason(shell, bottlerocket=bottlerocket),
            source=node.SHELL,
        ),
        metadata_hop_limit=why.rule(
            "metadata_hop_limit",
            2 if pool.pods_use_imds else 1,
            "pods reach instance metadata" if pool.pods_use_imds else "pods cannot take the node's credentials",
            source=sources.INSTANCE_METADATA,
        ),
        detailed_monitoring=why.given(
            "detailed_monitoring",
            pool.detailed_monitoring,
            when="detailed_monitoring" in given,
            otherwise="five-minute metrics cost nothing",
        ),
        disruption=why.rule("disruption", _disruption(pool.disruption, pool.purpose), "see its fields"),
        gpu_shares=why.given(
            "gpu_shares", shares, when=pool.gpu_sharing is not None, otherwise="a pod gets whole accelerators"
        ),
        overlays=why.rule(
            "overlays",
            (*_overlays(pool.name, types, shares), *_huge_pages(pool, types)),
            "what Karpenter cannot see: shared and fractional GPUs, huge pages",
            source="facts/karpenter.json node_overlay; facts/eks.json efa_huge_pages",
        ),
        tags=why.rule(
            "tags",
            MappingProxyType({"Name": f"{cluster_name}/{pool.name}", **(common_tags or {}), **pool.tags}),
            "a provider's default tags do not reach what Karpenter launches",
            source=sources.DEFAULT_TAGS,
        ),
        reasons=why.frozen(),
    )


def _types_reason(pool: NodePoolSpec, region: str) -> str:
    of = f"of {', '.join(pool.instance_families)}" if pool.instance_families else f"with {pool.accelerator}"
    return f"the types {of} that {region} offers and Karpenter can launch with this image"


def _ami_version(pool: NodePoolSpec, versions: AmiVersions) -> tuple[str, str]:
    if pool.ami.version:
        return pool.ami.version, "the release that ami.version of the pool names"
    if chosen := getattr(versions, pool.ami.family):
        return chosen, "the release that karpenter.ami_versions names"
    fact = facts.karpenter("ami_aliases")
    return fact["suggested"][pool.ami.family], f"no fault of it is known ({fact['as_of']}); an image never moves alone"


def _limits(pool: NodePoolSpec, types: tuple[InstanceType, ...], shares: GpuShares | None) -> Mapping[str, str]:
    limits = {str(name): str(value) for name, value in pool.limits.items()}
    resource = accelerator_resource(types[0].hardware)
    if resource and resource in limits:
        devices = int(limits[resource])
        per_device = max(kind.vcpus / kind.accelerator.count for kind in types if kind.accelerator)
        limits.setdefault("cpu", str(math.ceil(devices * per_device)))
        if shares:
            # The strategy counts GPUs; Karpenter counts what the node advertises.
            del limits[resource]
            limits[shares.resource] = str(devices * shares.shares_per_gpu)
    return MappingProxyType(limits)


# KubeletConfiguration in the spelling of an EC2NodeClass; the rest of the settings has no field there:
# https://karpenter.sh/docs/concepts/nodeclasses/#speckubelet
def _kubelet(pool: NodePoolSpec, types: tuple[InstanceType, ...], *, custom_networking: bool) -> dict[str, object]:
    kubelet = pool.kubelet
    settings = {
        "maxPods": node.max_pods(pool, types, custom_networking=custom_networking),
        "imageGCHighThresholdPercent": kubelet.image_gc_high_threshold_percent,
        "imageGCLowThresholdPercent": kubelet.image_gc_low_threshold_percent,
        "systemReserved": dict(kubelet.system_reserved) or None,
        "kubeReserved": dict(kubelet.kube_reserved) or None,
    }
    return {name: value for name, value in settings.items() if value is not None}


def _network_interfaces(
    efa: tuple[EfaInterface, ...], types: Sequence[InstanceType], why: Reasons
) -> tuple[EfaInterface, ...]:
    """What the EC2NodeClass writes out.

    Left to itself Karpenter takes every EFA-capable type for one with EFA, and attaches it when pods ask. Such a node
    has no EFA security group and no device plugin: its pods stay pending, and it is never given up
    (pkg/providers/instancetype/types.go, efas, in 1.14.1).
    """
    field = "network_interfaces"
    if efa:
        return why.rule(
            field, efa, "written out: Karpenter's own layout is an older one", source="facts/karpenter.json efa"
        )
    if any(kind.supports_efa for kind in types):
        only = (EfaInterface(0, 0, "interface"),)
        reason = "one interface: without it Karpenter would offer EFA that the pool does not have"
        return why.rule(field, only, reason, source="facts/karpenter.json efa")
    return why.rule(
        field, (), "the one default interface: no type of the pool has EFA", source="facts/karpenter.json efa"
    )


def _overlays(name: str, types: tuple[InstanceType, ...], shares: GpuShares | None) -> Iterator[CapacityOverlay]:
    """What a node advertises where it is not what EC2 says of its type, by that capacity."""
    by_capacity: dict[int, list[str]] = {}
    for kind in types:
        if kind.accelerator and kind.hardware is Hardware.NVIDIA_GPU and (shares or kind.accelerator.fraction):
            shares_per_gpu = shares.shares_per_gpu if shares else 1
            by_capacity.setdefault(kind.accelerator.count * shares_per_gpu, []).append(kind.name)
    resource = shares.resource if shares else GPU
    # Shares of another name leave no whole GPU: a pod that asks for one must not make Karpenter launch such a node.
    whole = {GPU: "0"} if resource != GPU else {}
    for amount, names in sorted(by_capacity.items()):
        yield CapacityOverlay(f"{name}-{amount}", tuple(names), MappingProxyType({**whole, resource: str(amount)}))


def _huge_pages(pool: NodePoolSpec, types: tuple[InstanceType, ...]) -> Iterator[CapacityOverlay]:
    """Huge pages of EFA nodes: Karpenter makes no node for a pod that asks for them unless it is told."""
    resource = facts.eks("efa_huge_pages")["resource"]
    by_amount: dict[int, list[str]] = {}
    for kind in types:
        by_amount.setdefault(_promised_mib(pool, kind), []).append(kind.name)
    for mib, names in sorted(by_amount.items()):
        if mib:
            yield CapacityOverlay(
                f"{pool.name}-huge-pages-{mib}", tuple(names), MappingProxyType({resource: f"{mib}Mi"})
            )


def has_huge_pages(pool: NodePoolSpec, types: Sequence[InstanceType]) -> bool:
    """Whether the pool's nodes are known to have huge pages for EFA."""
    return any(_promised_mib(pool, kind) for kind in types)


def _promised_mib(pool: NodePoolSpec, kind: InstanceType) -> int:
    if not pool.efa:
        return 0
    return huge_pages(
        kind, ami_family=pool.ami.family, own_image=bool(pool.ami.image_id), settings=pool.user_data
    ).promised_mib


def _user_data(
    pool: NodePoolSpec, hardware: Hardware, *, store: str, sharing: Mapping[str, object]
) -> dict[str, object]:
    rest = pool.kubelet.model_copy(
        update={
            "max_pods": None,
            "image_gc_high_threshold_percent": None,
            "image_gc_low_threshold_percent": None,
            "system_reserved": {},
            "kube_reserved": {},
        }
    )
    if pool.ami.family == "bottlerocket":
        derived = user_data.bottlerocket_settings(rest, max_pods=None, instance_store="none", neuron=hardware.is_neuron)
    else:
        # RAID0 is the EC2NodeClass's instanceStorePolicy.
        derived = user_data.node_config_spec(rest, max_pods=None, instance_store=store if store == "mount" else "none")
    return merged(merged(derived, sharing), pool.user_data)


def _duration(value: str) -> str:
    return "Never" if value == "never" else value


def _disruption(disruption: Disruption, workload: str) -> ResolvedDisruption:
    why = Reasons()
    default = _DISRUPTION.get(workload, _DISRUPTION_OTHERWISE)
    policy = {"when-empty": "WhenEmpty", "when-empty-or-underutilized": "WhenEmptyOrUnderutilized"}
    budgets = disruption.budgets
    return ResolvedDisruption(
        consolidation_policy=why.given(
            "consolidation_policy",
            policy[disruption.consolidation] if disruption.consolidation else default.policy,
            when=disruption.consolidation is not None,
            otherwise=default.why,
            source=_DISRUPTION_SOURCE,
        ),
        consolidate_after=why.given(
            "consolidate_after",
            _duration(disruption.consolidate_after or default.after),
            when=disruption.consolidate_after is not None,
            otherwise=f"{default.why}; not for a gap of less than {default.after}",
            source=_DISRUPTION_SOURCE,
        ),
        expire_after=why.given(
            "expire_after",
            _duration(disruption.expire_after or default.expire),
            when=disruption.expire_after is not None,
            otherwise=default.why if default.expire == "Never" else "a node is not older than its patches",
            source=_DISRUPTION_SOURCE,
        ),
        termination_grace_period=why.given(
            "termination_grace_period",
            disruption.termination_grace_period,
            when=disruption.termination_grace_period is not None,
            otherwise="a drain takes as long as its pods' disruption budgets want",
            source=_DISRUPTION_SOURCE,
        ),
        budgets=why.given(
            "budgets",
            tuple(DisruptionBudget(each.nodes, each.reasons, each.schedule, each.duration) for each in budgets)
            if budgets is not None
            else default.budgets,
            when=budgets is not None,
            otherwise=default.why,
            source=_DISRUPTION_SOURCE,
        ),
        reasons=why.frozen(),
    )
