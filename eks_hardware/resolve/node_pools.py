"""Resolve a Karpenter node pool: every instance type it can make, and everything that follows from them.

The types are written out one by one, in place of requirements on families or GPU names: what a pool can make is
known here, can be priced and simulated, and cannot grow into other hardware (docs/adr/0010).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from eks_hardware import facts
from eks_hardware.catalogue import Catalogue, EfaInterface, Hardware, InstanceType
from eks_hardware.data import Cited, cite
from eks_hardware.models import AmiVersions, NodePoolSpec
from eks_hardware.resolve import node, user_data
from eks_hardware.resolve.derived import (
    Derived,
    Resolver,
    Source,
    default,
    from_catalogue,
    optional,
    rule,
    stated,
    stated_if,
    stated_or,
)
from eks_hardware.resolve.extended_resources import huge_pages
from eks_hardware.resolve.gpu_sharing import GPU, sharing_settings
from eks_hardware.resolve.mappings import merged
from eks_hardware.resolve.model_kubernetes import (
    CapacityOverlay,
    DisruptionBudget,
    ReservationSelector,
    ResolvedDisruption,
    ResolvedNodePool,
)
from eks_hardware.resolve.node_fields import DEFAULT_TAGS, EFA_GROUP, NodeFields, Surroundings
from eks_hardware.spellings import CAPACITY
from eks_hardware.units import GIB

_CONSOLIDATION_POLICIES = {"when-empty": "WhenEmpty", "when-empty-or-underutilized": "WhenEmptyOrUnderutilized"}

_ALIASES = "https://karpenter.sh/docs/concepts/nodeclasses/#specamiselectorterms"
_NETWORK_INTERFACES = "https://karpenter.sh/docs/concepts/nodeclasses/#specnetworkinterfaces"
_NODE_OVERLAYS = "https://karpenter.sh/docs/concepts/nodeoverlays/"


def accelerator_resource(hardware: Hardware) -> str | None:
    """The extended resource by which pods ask for the hardware: ``nvidia.com/gpu``, ``aws.amazon.com/neuron``."""
    return {
        Hardware.NVIDIA_GPU: "nvidia.com/gpu",
        Hardware.TRAINIUM: "aws.amazon.com/neuron",
        Hardware.INFERENTIA: "aws.amazon.com/neuron",
    }.get(hardware)


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
    return _NodePool(
        pool,
        pool_types(pool, region, catalogue),
        Surroundings(cluster_name, zone_ids, catalogue, custom_networking, common_tags or {}, shell),
        region=region,
        ami_versions=ami_versions or AmiVersions(),
        efa_security_group_name=efa_security_group_name,
        subnet_ids=subnet_ids or {},
    ).collect()


class _NodePool(NodeFields[ResolvedNodePool, NodePoolSpec]):
    kind = ResolvedNodePool

    def __init__(
        self,
        pool: NodePoolSpec,
        types: tuple[str, ...],
        around: Surroundings,
        *,
        region: str,
        ami_versions: AmiVersions,
        efa_security_group_name: str | None,
        subnet_ids: Mapping[str, str],
    ) -> None:
        super().__init__(pool, types, around)
        self._region = region
        self._ami_versions = ami_versions
        self._efa_security_group_name = efa_security_group_name
        self._subnet_ids = subnet_ids

    def instance_types(self) -> Derived[tuple[str, ...]]:
        pool, names = self._spec, tuple(kind.name for kind in self._types)
        if pool.instance_types:
            return stated(names, node.types_reason(pool))
        of = f"of {', '.join(pool.instance_families)}" if pool.instance_families else f"with {pool.accelerator}"
        text = f"the types {of} that {self._region} offers and Karpenter can launch with this image"
        sources = self._offerings(self._catalogue.offered(names[0], self._region)[:1])
        if len(names) > 1:
            sources.append(f"{len(names) - 1} more rows of the same file")
        if any(kind.accelerator for kind in self._types):
            sources.append(cite("facts/karpenter.json", "accelerator_names", "families"))
        return from_catalogue(names, text, *sources)

    def ami_alias(self) -> Derived[str | None]:
        pool, family = self._spec, self._spec.ami.family
        if pool.ami.image_id:
            return stated(None, "your own image")
        if pool.ami.version:
            return rule(f"{family}@{pool.ami.version}", "the release that ami.version of the pool names", _ALIASES)
        if chosen := getattr(self._ami_versions, family):
            return rule(f"{family}@{chosen}", "the release that karpenter.ami_versions names", _ALIASES)
        row = cite("facts/karpenter.json", "ami_aliases", "suggested", family)
        return rule(f"{family}@{row.value}", "no fault of it is known; an image never moves alone", row)

    def image_id(self) -> Derived[str | None]:
        return optional(self._spec.ami.image_id, "EKS's own image, by the alias")

    def capacity_types(self) -> Derived[tuple[str, ...]]:
        return stated_if(
            self._said("capacity"),
            tuple(dict.fromkeys(CAPACITY[each].karpenter for each in self._spec.capacity)),
            "neither spot nor a reservation is asked for",
        )

    def reservations(self) -> Derived[tuple[ReservationSelector, ...]]:
        selectors = tuple(
            ReservationSelector(each.id, MappingProxyType(dict(each.tags)), each.owner_account_id)
            for each in self._spec.reservations
        )
        return stated_if(bool(selectors), selectors, "no reservation is named")

    def subnet_ids(self) -> Derived[Mapping[str, str]]:
        named = self._subnet_ids
        return rule(
            {zone: each for zone, each in named.items() if zone in self._around.zone_ids},
            "subnets that are not tagged are named" if named else "found by their discovery tag",
            "https://karpenter.sh/docs/concepts/nodeclasses/#specsubnetselectorterms",
        )

    def limits(self) -> Derived[Mapping[str, str]]:
        limits = {str(name): str(value) for name, value in self._spec.limits.items()}
        resource = accelerator_resource(self._first.hardware)
        if resource is None or resource not in limits:
            return stated(limits)
        devices, cited = int(limits[resource]), []
        if "cpu" not in limits:
            most = max((kind for kind in self._types if kind.accelerator), key=_cpus_per_device)
            limits["cpu"] = str(math.ceil(devices * _cpus_per_device(most)))
            cited.append(self._catalogue.cite(most, "instances", "vcpus", "accelerator"))
        if self._shares:
            # The strategy counts GPUs; Karpenter counts what the node advertises.
            del limits[resource]
            limits[self._shares.resource] = str(devices * self._shares.shares_per_gpu)
        elif not cited:
            return stated(limits)
        return rule(limits, "the strategy's, with the CPUs that belong to them, in the shares of a GPU", *cited)

    def weight(self) -> Derived[int | None]:
        return optional(self._spec.weight, "no pool is preferred")

    def network_interfaces(self) -> Derived[tuple[EfaInterface, ...]]:
        """What the EC2NodeClass writes out.

        Left to itself Karpenter takes every EFA-capable type for one with EFA, and attaches it when pods ask. Such a
        node has no EFA security group and no device plugin: its pods stay pending, and it is never given up
        (pkg/providers/instancetype/types.go, efas, in 1.14.1).
        """
        with_efa = next((kind for kind in self._types if kind.supports_efa), None)
        row = self._catalogue.cite(with_efa or self._first, "instances", "max_efa_interfaces", "cards")
        if self._spec.efa:
            text = "written out: Karpenter's own layout is an older one"
            return rule(self._first.efa_interfaces, text, row, _NETWORK_INTERFACES)
        if with_efa:
            text = "one interface: without it Karpenter would offer EFA that the pool does not have"
            return rule((EfaInterface(0, 0, "interface"),), text, row, _NETWORK_INTERFACES)
        return rule((), "the one default interface: no type of the pool has EFA", row)

    def efa_security_group_name(self) -> Derived[str | None]:
        if self.efa_interfaces().value:
            return rule(self._efa_security_group_name, "EFA needs all traffic from and to itself", EFA_GROUP)
        return rule(None, "without EFA the cluster's security group will do", EFA_GROUP)

    def kubelet(self) -> Derived[Mapping[str, Any]]:
        """KubeletConfiguration in the spelling of an EC2NodeClass; the rest of the settings has no field there.

        Source: https://karpenter.sh/docs/concepts/nodeclasses/#speckubelet
        """
        kubelet, pods = self._spec.kubelet, self._max_pods()
        settings = {
            "maxPods": pods.value,
            "imageGCHighThresholdPercent": kubelet.image_gc_high_threshold_percent,
            "imageGCLowThresholdPercent": kubelet.image_gc_low_threshold_percent,
            "systemReserved": kubelet.system_reserved or None,
            "kubeReserved": kubelet.kube_reserved or None,
        }
        value = {name: each for name, each in settings.items() if each is not None}
        if not pods.reason.source:
            return stated(value)
        return rule(value, "pods a node with prefix delegation, and the strategy's settings", pods.reason.source)

    def user_data(self) -> Derived[Mapping[str, Any]]:
        rest = self._spec.kubelet.model_copy(
            update={
                "max_pods": None,
                "image_gc_high_threshold_percent": None,
                "image_gc_low_threshold_percent": None,
                "system_reserved": {},
                "kube_reserved": {},
            }
        )
        if self._bottlerocket:
            neuron = self._first.hardware.is_neuron
            derived = user_data.bottlerocket_settings(rest, max_pods=None, instance_store="none", neuron=neuron)
        else:
            # RAID0 is the EC2NodeClass's instanceStorePolicy.
            store = self.instance_store().value
            kept = store if store == "mount" else "none"
            derived = user_data.node_config_spec(rest, max_pods=None, instance_store=kept)
        sharing = sharing_settings(self._shares, self._types, bottlerocket=self._bottlerocket)
        settings = merged(merged(derived, sharing), self._spec.user_data)
        return rule(settings, "what an EC2NodeClass has no field for", self._user_data_page())

    def disruption(self) -> Derived[ResolvedDisruption]:
        return rule(_Disruption(self._spec).collect(), "see its fields")

    def overlays(self) -> Derived[tuple[CapacityOverlay, ...]]:
        sources: list[Source] = [_NODE_OVERLAYS]
        sources += [self._catalogue.cite(kind, "instances", "accelerator") for kind in self._relabelled()[:1]]
        if has_huge_pages(self._spec, self._types):
            sources.append(cite("facts/eks.json", "efa_huge_pages", "by_family", self._spec.ami.family))
        return rule(
            (*self._gpu_overlays(), *self._huge_page_overlays()),
            "what Karpenter cannot see: shared and fractional GPUs, huge pages",
            *sources,
        )

    def _relabelled(self) -> list[InstanceType]:
        """Types whose nodes advertise other GPUs than EC2 says."""
        return [
            kind
            for kind in self._types
            if kind.accelerator and kind.hardware is Hardware.NVIDIA_GPU and (self._shares or kind.accelerator.fraction)
        ]

    def _gpu_overlays(self) -> Iterator[CapacityOverlay]:
        """What a node advertises where it is not what EC2 says of its type, by that capacity."""
        shares = self._shares
        by_capacity: dict[int, list[str]] = {}
        for kind in self._relabelled():
            gpus = kind.accelerator.count if kind.accelerator else 0
            by_capacity.setdefault(gpus * (shares.shares_per_gpu if shares else 1), []).append(kind.name)
        resource = shares.resource if shares else GPU
        # Shares of another name leave no whole GPU: a pod that asks for one must not make Karpenter launch such a node.
        whole = {GPU: "0"} if resource != GPU else {}
        for amount, names in sorted(by_capacity.items()):
            capacity = MappingProxyType({**whole, resource: str(amount)})
            yield CapacityOverlay(f"{self._spec.name}-{amount}", tuple(names), capacity)

    def _huge_page_overlays(self) -> Iterator[CapacityOverlay]:
        """Huge pages of EFA nodes: Karpenter makes no node for a pod that asks for them unless it is told."""
        resource = facts.eks()["efa_huge_pages"]["resource"]
        by_amount: dict[int, list[str]] = {}
        for kind in self._types:
            by_amount.setdefault(_promised_mib(self._spec, kind), []).append(kind.name)
        for mib, names in sorted(by_amount.items()):
            if mib:
                capacity = MappingProxyType({resource: f"{mib}Mi"})
                yield CapacityOverlay(f"{self._spec.name}-huge-pages-{mib}", tuple(names), capacity)

    def tags(self) -> Derived[Mapping[str, str]]:
        name = f"{self._around.cluster_name}/{self._spec.name}"
        return rule(
            {"Name": name, **self._around.common_tags, **self._spec.tags},
            "a provider's default tags do not reach what Karpenter launches",
            DEFAULT_TAGS,
        )


def _cpus_per_device(kind: InstanceType) -> float:
    return kind.vcpus / kind.accelerator.count if kind.accelerator else 0


def has_huge_pages(pool: NodePoolSpec, types: Sequence[InstanceType]) -> bool:
    """Whether the pool's nodes are known to have huge pages for EFA."""
    return any(_promised_mib(pool, kind) for kind in types)


def _promised_mib(pool: NodePoolSpec, kind: InstanceType) -> int:
    if not pool.efa:
        return 0
    return huge_pages(
        kind, ami_family=pool.ami.family, own_image=bool(pool.ami.image_id), settings=pool.user_data
    ).promised_mib


class _Disruption(Resolver[ResolvedDisruption]):
    """When Karpenter may remove a node; by default as our choice for the pool's purpose says."""

    kind = ResolvedDisruption

    def __init__(self, pool: NodePoolSpec) -> None:
        self._given = pool.disruption
        self._purpose = pool.purpose if pool.purpose in cite(node.CHOICES, "disruption").value else "general"

    def _choice(self, name: str) -> Cited[Any]:
        return cite(node.CHOICES, "disruption", self._purpose, name)

    def _why(self) -> str:
        why: str = self._choice("why").value
        return why

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
            return stated(
                tuple(DisruptionBudget(each.nodes, each.reasons, each.schedule, each.duration) for each in given)
            )
        choice = self._choice("budgets")
        budgets = tuple(DisruptionBudget(each["nodes"], tuple(each.get("reasons", ()))) for each in choice.value)
        return default(budgets, self._why(), choice)


def _duration(value: str | None) -> str | None:
    return "Never" if value == "never" else value
