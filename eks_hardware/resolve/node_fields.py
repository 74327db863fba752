"""The fields of node groups and node pools: shared fields, those of groups, and those of pools."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from eks_hardware import aws_names, facts
from eks_hardware.catalogue import Catalogue, EfaInterface, Hardware, InstanceType, efa_count
from eks_hardware.catalogue.store import label_name
from eks_hardware.data import Cited
from eks_hardware.models import AmiVersions, NodeGroupSpec, NodePoolSpec, PoolReservation, Reservation
from eks_hardware.printable import counted
from eks_hardware.resolve import disks, max_pods, node, user_data
from eks_hardware.resolve.derived import (
    Derived,
    R,
    Resolver,
    Source,
    chosen,
    default,
    from_catalogue,
    limited_name,
    optional,
    rule,
    stated,
    stated_field,
    stated_if,
    stated_or,
)
from eks_hardware.resolve.disruption import PoolDisruption
from eks_hardware.resolve.extended_resources import GPU, accelerator_resource, extended_resources_of
from eks_hardware.resolve.gpu_sharing import (
    MIG_CONFIG_LABEL,
    PLUGIN_CONFIG_LABEL,
    cite_mig_profiles,
    gpu_shares,
    sharing_labels,
    sharing_settings,
)
from eks_hardware.resolve.mappings import merged
from eks_hardware.resolve.model import CapacityTarget, ResolvedNodeGroup
from eks_hardware.resolve.model_kubernetes import (
    CapacityOverlay,
    ReservationSelector,
    ResolvedDisruption,
    ResolvedNodePool,
)
from eks_hardware.resolve.pool_types import cpus_per_device, has_huge_pages, pool_types, promised_mib
from eks_hardware.resolve.values import BlockDevice, GpuShares, ResolvedTaint
from eks_hardware.spellings import CAPACITY

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.catalogue import Device, FullInstanceRow

T = TypeVar("T")
S = TypeVar("S", bound=NodeGroupSpec | NodePoolSpec)

_ON_DEMAND = "the strategy requests neither Spot nor a reservation"
_DEFAULT_TAGS = "https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html"
EFA_GROUP = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html#efa-start-security"
_EFA_ONE_ZONE = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html#efa-limits"
_EFA_LAYOUT = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html"
_PLACEMENT = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html"
_PLACEMENT_OF_RESERVATIONS = "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3661"

_NVIDIA_PLUGIN = "https://github.com/NVIDIA/k8s-device-plugin"
_NEURON_PLUGIN = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/containers/kubernetes-getting-started.html"
_LABEL_PAGES = {
    node.AUTOSCALER_GPU_LABEL: "https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.1/"
    "cluster-autoscaler/cloudprovider/aws/aws_cloud_provider.go (GPULabel)",
    MIG_CONFIG_LABEL: "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html",
    PLUGIN_CONFIG_LABEL: f"{_NVIDIA_PLUGIN}#shared-access-to-gpus",
    **dict.fromkeys(node.EFA_LABEL, "https://github.com/aws/eks-charts (affinity of the EFA device plugin)"),
    **dict.fromkeys(node.NVIDIA_PLUGIN_LABEL, f"{_NVIDIA_PLUGIN} (affinity)"),
    **dict.fromkeys(node.NEURON_PLUGIN_LABEL, f"{_NEURON_PLUGIN} (affinity of the device plugin)"),
    **dict.fromkeys(
        node.NO_OPERANDS_LABEL,
        "https://github.com/bottlerocket-os/bottlerocket/issues/3992 (Bottlerocket runs a plugin of its own)",
    ),
}
# By whether the operating system is Bottlerocket.
_USER_DATA_PAGES = {
    False: "https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/api/",
    True: "https://bottlerocket.dev/en/os/latest/#/api/settings/",
}


@dataclass(frozen=True)
class _NodeContext:
    """Values from outside a group or pool: its cluster's name and settings, its zones, and the stack's tags."""

    cluster_name: str
    zone_ids: tuple[str, ...]
    catalogue: Catalogue
    custom_networking: bool
    common_tags: Mapping[str, str]
    shell: tuple[str, ...]


class NodeFields(Resolver[R], Generic[R, S]):
    """The fields of a group or pool that has passed the rules: its types exist, and share architecture and hardware."""

    def __init__(self, spec: S, types: Sequence[str], context: _NodeContext) -> None:
        self._spec = spec
        self._context = context
        self._catalogue = context.catalogue
        self._types = tuple(self._catalogue.get(kind) for kind in types)
        self._first = self._types[0]
        self._bottlerocket = node.ami_family(spec) == "bottlerocket"
        self._shares = gpu_shares(spec, self._types, bottlerocket=self._bottlerocket)

    def _reservations(self) -> Sequence[Reservation | PoolReservation]:
        """Return the reservations in which nodes may be launched."""
        if isinstance(self._spec, NodeGroupSpec):
            return (self._spec.reservation,) if self._spec.reservation else ()
        return self._spec.reservations

    def _cite(self, select: Callable[[FullInstanceRow], T]) -> Cited[T]:
        """Return fields of the first type's row."""
        return self._catalogue.cite(self._first, select)

    def _cite_accelerator(self) -> Cited[Device | None]:
        return self._cite(lambda row: row.get("accelerator"))

    def _describe(self) -> str:
        accelerator = self._first.accelerator
        has = f"{accelerator.count} x {accelerator.name}" if accelerator else "no accelerator"
        return f"{self._first.name} has {has}"

    def _types_reason(self) -> str:
        return "from the lock file, for the described workload" if self._spec.described else "as set in the strategy"

    def name(self) -> Derived[str]:
        return stated(self._spec.name)

    def cluster_name(self) -> Derived[str]:
        return stated(self._context.cluster_name)

    def workload(self) -> Derived[str]:
        is_set = "workload" in self._spec.model_fields_set
        row = facts.choices.cite(lambda file: file["workload"]["purpose"])
        return chosen(is_set, self._spec.purpose, row, "general: the strategy sets no workload")

    def hardware(self) -> Derived[Hardware]:
        return from_catalogue(self._first.hardware, self._describe(), *self._hardware_rows())

    def _hardware_rows(self) -> list[Source]:
        rows: list[Source] = [self._cite_accelerator()]
        if self._first.accelerator:
            rows.append(self._cite_hardware())
        return rows

    def _cite_hardware(self) -> Cited[str]:
        """Return the hardware of the accelerator's row, or that of a type without accelerator."""
        if self._first.accelerator:
            return self._catalogue.cite_accelerator(self._first, lambda row: row["hardware"])
        return self._cite_accelerator().part(lambda _: Hardware.CPU.value)

    def architecture(self) -> Derived[str]:
        row = self._cite(lambda row: row["architecture"])
        return from_catalogue(row.value, f"the architecture of {self._first.name}", row)

    def ami_family(self) -> Derived[str]:
        family, ami = node.ami_family(self._spec), self._spec.ami
        if isinstance(self._spec, NodeGroupSpec) and self._spec.ami.type:
            return rule(family, f"the operating system of {self._spec.ami.type}")
        row = facts.choices.cite(lambda file: file["operating_system"]["family"])
        return chosen("family" in ami.model_fields_set, family, row, "AL2023 unless the strategy sets another")

    def zone_ids(self) -> Derived[tuple[str, ...]]:
        zone_ids = self._context.zone_ids
        reserved = {reservation.zone for reservation in self._reservations()} - {None}
        if self._spec.zones:
            return stated(zone_ids)
        if reserved and reserved >= set(zone_ids):
            return stated(zone_ids, "the zones of the reservations")
        rows = self._offerings(zone_ids)
        if self._spec.efa:
            return default(zone_ids, "one zone: EFA traffic cannot cross zones", *rows, _EFA_ONE_ZONE)
        if not rows:
            return default(zone_ids, "the cluster's zones; the catalogue has no zone data for these types")
        more = ", and those of the reservations" if reserved else ""
        return default(zone_ids, f"the zones that offer the instance types{more}", *rows)

    def _offerings(self, zone_ids: Sequence[str]) -> list[Source]:
        """Return for each zone the offering of the first type that the zone offers, without duplicates."""
        cite_offering = self._catalogue.cite_offering
        rows = (next(filter(None, (cite_offering(kind.name, zone) for kind in self._types)), None) for zone in zone_ids)
        return list(dict.fromkeys(row for row in rows if row))

    def labels(self) -> Derived[Mapping[str, str]]:
        labels = {**self._derived_labels(), **{key: stated(value) for key, value in self._spec.labels.items()}}
        return rule(
            {key: each.value for key, each in labels.items()},
            "hardware, workload, accelerator, and labels that device plugins and an autoscaler read",
            *(f"{key}: {each.reason.source or 'the strategy'}" for key, each in labels.items()),
        )

    def _derived_labels(self) -> dict[str, Derived[str]]:
        rocket = self._bottlerocket
        sharing = {**sharing_labels(self._shares, bottlerocket=rocket), **self._autoscaler_labels()}
        plugins = node.plugin_labels(self._first.hardware, efa=self._spec.efa, bottlerocket=rocket)
        hardware = self._cite_hardware()
        rows = {"hardware-type": rule(hardware.value, "the hardware", hardware)}
        rows["workload-type"] = rule(self._spec.purpose, "the workload", "workload in the strategy")
        if len({kind.accelerator.label_name for kind in self._types if kind.accelerator}) == 1:
            name = self._cite_accelerator().part(lambda device: label_name(device["name"]) if device else "")
            rows["accelerator"] = rule(name.value, "the accelerator", name)
        pages = [
            {key: rule(value, "a label that software reads", _LABEL_PAGES[key]) for key, value in labels.items()}
            for labels in (sharing, plugins)
        ]
        return {**pages[0], **rows, **pages[1]}

    def _autoscaler_labels(self) -> dict[str, str]:
        """Return labels that Cluster Autoscaler reads."""
        return {}

    def taints(self) -> Derived[tuple[ResolvedTaint, ...]]:
        own, hardware = self._spec.taints, self._first.hardware
        chosen = node.taints(self._spec, hardware)
        if len(chosen) > len(own):
            text = "only pods that request the accelerator run here"
            page = f"{_NEURON_PLUGIN if hardware.is_neuron else _NVIDIA_PLUGIN} (key that the device plugin tolerates)"
            text = f"{text}; plus the strategy's taints" if own else text
            return rule(chosen, text, page, *self._sources_of_taints(standard=True))
        if chosen:
            return stated(chosen, "as set in the strategy", *self._sources_of_taints(standard=False))
        if accelerator_resource(hardware):
            return stated(chosen, "accelerator_taint is false")
        text = "without a standard taint" if self._first.accelerator else "to protect with a taint"
        return rule(chosen, f"{self._describe()} {text}", self._cite_accelerator())

    def _sources_of_taints(self, *, standard: bool) -> Iterator[Source]:
        """Yield the rows of defaults: the taint of accelerated nodes, and the effect of the strategy's taints."""
        is_set = "accelerator_taint" in self._spec.model_fields_set
        if standard and is_set:
            yield facts.choices.cite(lambda file: file["accelerator_taint"]["effect"])
        elif standard:
            yield facts.choices.cite(lambda file: file["accelerator_taint"])
        elif accelerator_resource(self._first.hardware) and not is_set:
            yield facts.choices.cite(lambda file: file["accelerator_taint"]["enabled"])
        if any("effect" not in taint.model_fields_set for taint in self._spec.taints):
            yield facts.choices.cite(lambda file: file["taint"]["effect"])

    def efa_interfaces(self) -> Derived[tuple[EfaInterface, ...]]:
        """Derive the interfaces: the catalogue computes them for each type, with ``efa_layout`` (catalogue/efa.py)."""
        kind = self._first
        interfaces, cards = counted(kind.max_efa_interfaces, "EFA interface"), len(kind.network_cards)
        most = f"{interfaces} on {counted(cards, 'network card')}"
        if not kind.supports_efa:
            row = self._cite(lambda row: row["max_efa_interfaces"])
            return default((), f"efa is not enabled; {kind.name} does not support EFA", row)
        layout = self._cite(lambda row: (row["max_efa_interfaces"], row["cards"]))
        if self._spec.efa:
            return from_catalogue(kind.efa_interfaces, f"{kind.name} has {most}", layout, _EFA_LAYOUT)
        return default((), f"efa is not enabled; {kind.name} supports {most}", layout)

    def placement_group_name(self) -> Derived[str | None]:
        wanted = self._spec.placement_group
        # Not "-": cluster demo with group gpu-x and cluster demo-gpu with group x must not share a name.
        name = aws_names.limited(self._context.cluster_name, self._spec.name, limit="placement_group", separator="/")
        if wanted != "auto":
            return stated(name if wanted == "cluster" else None)
        if self._reservations():
            text = "with a placement group that differs from the reservation's, the reserved capacity stays unused"
            return rule(None, text, _PLACEMENT_OF_RESERVATIONS)
        if not self._spec.efa:
            return rule(None, "without EFA, nodes need not be close together", _PLACEMENT)
        row = self._cite(lambda row: row["placement_strategies"])
        if "cluster" not in self._first.placement_strategies:
            return from_catalogue(None, "the type does not support cluster placement groups", row)
        return rule(name, "EFA nodes are placed close together", row, _PLACEMENT)

    def block_devices(self) -> Derived[tuple[BlockDevice, ...]]:
        hardware, layout = self._first.hardware, disks.disk_layout(bottlerocket=self._bottlerocket)
        size = disks.disk_size(self._spec, hardware)
        stated_size = "size from the strategy, device names from the image"
        text = size.reason.text if size.reason.source else stated_size
        parts = {
            "type": disks.disk_type(self._spec),
            "size": size,
            "throughput": disks.disk_throughput(self._spec, hardware),
        }
        return rule(
            disks.block_devices(self._spec, hardware, bottlerocket=self._bottlerocket),
            text,
            f"devices: {layout}",
            *(f"{what}: {each.reason.source}" for what, each in parts.items() if each.reason.source),
        )

    def instance_store(self) -> Derived[str]:
        if self._spec.instance_store is not None:
            return stated(self._spec.instance_store)
        without = next((kind for kind in self._types if not disks.has_usable_disks(kind)), None)
        if without:
            row = self._catalogue.cite(without, lambda row: row.get("instance_store"))
            other = f"images set up NVMe disks only, and the local disks of {without.name} are not NVMe"
            return default("none", other if without.instance_store else f"{without.name} has no local disks", row)
        use = facts.choices.cite(lambda file: file["instance_store"]["use"])
        row = self._cite(lambda row: row.get("instance_store"))
        return default(use.value, "local NVMe disks for images and ephemeral storage", use, row)

    def _pods_per_node(self) -> Derived[int | None]:
        """Derive the maximum number of pods per node; None keeps the kubelet's own number."""
        if self._spec.kubelet.max_pods is not None:
            return stated(self._spec.kubelet.max_pods)
        custom = self._context.custom_networking
        least, value = max_pods.fewest_pods(self._spec, self._types, custom_networking=custom)
        row = self._catalogue.cite(
            least, lambda row: (row["cards"], row["ipv4_per_interface"], row["vcpus"], row["nitro"])
        )
        if value is None:
            return from_catalogue(
                None, f"the kubelet's own number: the catalogue has no interface data for {least.name}", row
            )
        text = f"addresses of the first network card {max_pods.delegation(least)}, up to EKS's limit"
        return from_catalogue(value, text, row, facts.eks.cite(lambda file: file["max_pods"]))

    def shell(self) -> Derived[tuple[str, ...]]:
        lines = self._context.shell
        if not lines:
            return rule((), "the strategy's storage needs no client on the nodes")
        if self._bottlerocket:
            return rule((), "Bottlerocket does not run shell scripts")
        row = facts.storage.cite(lambda file: file["lustre_client"]["al2023"])
        return rule(lines, "installs the Lustre client before the node joins", row)

    def metadata_hop_limit(self) -> Derived[int]:
        if self._spec.pods_use_imds:
            row = facts.choices.cite(lambda file: file["metadata_hop_limit"]["pods"])
            return rule(row.value, "pods can reach instance metadata", row)
        row = facts.choices.cite(lambda file: file["metadata_hop_limit"]["nodes"])
        return rule(row.value, "pods cannot use the node's credentials", row)

    def detailed_monitoring(self) -> Derived[bool]:
        row = facts.choices.cite(lambda file: file["detailed_monitoring"]["enabled"])
        return stated_field(self._spec, "detailed_monitoring", row, "five-minute metrics are free")

    def gpu_shares(self) -> Derived[GpuShares | None]:
        if self._shares and self._shares.mig_profile and (profiles := cite_mig_profiles(self._first)):
            return stated(self._shares, "as set in the strategy, with as many slices as each GPU supports", profiles)
        return stated_if(self._shares is not None, self._shares, "pods get whole accelerators")

    def _cite_purchase(self) -> Cited[str]:
        return facts.choices.cite(lambda file: file["capacity"]["purchase"])

    def _tags_of_instances(self, name: str, creator: str) -> Derived[Mapping[str, str]]:
        """Derive the tags of instances, volumes and network interfaces."""
        return rule(
            {"Name": name, **self._context.common_tags, **self._spec.tags},
            f"the provider's default tags do not apply to resources that {creator} creates",
            _DEFAULT_TAGS,
        )


# --- node groups

_CAPACITY_TYPES_PAGE = "https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html"
_LAUNCH_TEMPLATES = "https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html"
_CREATE_NODE_GROUP = "https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html"
_NODE_UPDATES = "https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html"

# Cluster Autoscaler can read labels, taints, CPU, memory and whole NVIDIA GPUs of an empty group. It learns other
# resources of its nodes only from these tags.
_AUTOSCALER_TAGS = (
    "https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.1/"
    "cluster-autoscaler/cloudprovider/aws/README.md"
)
_AUTOSCALER_RESOURCE = "k8s.io/cluster-autoscaler/node-template/resources/"


def resolve_node_group(
    group: NodeGroupSpec,
    *,
    cluster_name: str,
    kubernetes_version: str,
    zone_ids: tuple[str, ...],
    catalogue: Catalogue,
    custom_networking: bool = False,
    common_tags: Mapping[str, str] | None = None,
    shell: tuple[str, ...] = (),
) -> ResolvedNodeGroup:
    """Derive all values of one node group.

    The group's types have passed the rules: they exist, and share architecture and hardware.
    """
    context = _NodeContext(cluster_name, zone_ids, catalogue, custom_networking, common_tags or {}, shell)
    return _NodeGroup(group, context, kubernetes_version).collect()


class _NodeGroup(NodeFields[ResolvedNodeGroup, NodeGroupSpec]):
    kind = ResolvedNodeGroup

    def __init__(self, group: NodeGroupSpec, context: _NodeContext, kubernetes_version: str) -> None:
        super().__init__(group, group.instance_types, context)
        self._kubernetes_version = kubernetes_version

    def instance_types(self) -> Derived[tuple[str, ...]]:
        return stated(self._spec.instance_types, self._types_reason())

    def ami_type(self) -> Derived[str]:
        ami = self._spec.ami
        if ami.image_id:
            return stated("CUSTOM", "your own image")
        if ami.type:
            return stated(ami.type)
        row = self._catalogue.cite_ami_types(self._first, lambda row: row["ami_types"])
        prefix = node.AMI_PREFIXES[ami.family]
        fitting = [each for each in row.value if each.startswith(prefix) and not each.endswith("FIPS")]
        needing = self._first.accelerator.name if self._first.accelerator else self._first.architecture
        return from_catalogue(fitting[0] if fitting else "CUSTOM", f"{ami.family} image for {needing}", row)

    def image_id(self) -> Derived[str | None]:
        return optional(self._spec.ami.image_id, f"the EKS image of {self.ami_type().value}")

    def release_version(self) -> Derived[str | None]:
        text = "the latest release when the group is created or its launch template changes"
        return optional(self._spec.ami.release_version, text, f"{_CREATE_NODE_GROUP} (releaseVersion)")

    def kubernetes_version(self) -> Derived[str]:
        page = f"cluster.kubernetes_version; {_CREATE_NODE_GROUP} (version)"
        return rule(self._kubernetes_version, "the cluster's version; EKS accepts no other", page)

    def capacity(self) -> Derived[str]:
        return stated_field(self._spec, "capacity", self._cite_purchase(), _ON_DEMAND)

    def capacity_type(self) -> Derived[str]:
        capacity = self._spec.capacity
        return rule(CAPACITY[capacity].eks, f"how the EKS API spells {capacity!r}", _CAPACITY_TYPES_PAGE)

    def _is_capacity_block(self) -> bool:
        return self._spec.capacity == "capacity-block"

    def market_type(self) -> Derived[str | None]:
        if self._is_capacity_block():
            text = "Capacity Blocks have their own market type"
            return rule("capacity-block", text, _CAPACITY_TYPES_PAGE)
        return rule(None, "only Capacity Blocks need a market type in the launch template", _CAPACITY_TYPES_PAGE)

    def capacity_target(self) -> Derived[CapacityTarget | None]:
        given = self._spec.reservation
        target = CapacityTarget(given.id, given.resource_group_arn) if given else None
        return optional(target, "no reservation: any capacity in the zones")

    def instance_type_in_launch_template(self) -> Derived[bool]:
        if self._is_capacity_block():
            return rule(True, "EKS requires a Capacity Block's type in the launch template", _LAUNCH_TEMPLATES)
        return rule(False, "the group lists the types, so that it can have several", _LAUNCH_TEMPLATES)

    def min_size(self) -> Derived[int]:
        row = facts.choices.cite(lambda file: file["group_size"]["min"])
        return stated_field(self._spec.scaling, "min", row, "no nodes by default")

    def desired_size(self) -> Derived[int]:
        scaling = self._spec.scaling
        if scaling.desired is not None:
            return stated(scaling.desired)
        return default(scaling.min, f"equal to min_size, {scaling.min}")

    def max_size(self) -> Derived[int]:
        return stated(self._spec.scaling.max)

    def autoscaled(self) -> Derived[bool]:
        row = facts.choices.cite(lambda file: file["autoscaled"]["enabled"])
        return stated_field(self._spec.scaling, "autoscaled", row, "the strategy sets the number of nodes")

    def _autoscaler_labels(self) -> dict[str, str]:
        shared = [extended_resources_of(kind, shares=self._shares) for kind in self._types]
        if not self._spec.scaling.autoscaled or any(GPU not in names for names in shared):
            return {}
        name = next(kind.accelerator.label_name for kind in self._types if kind.accelerator)
        return {node.AUTOSCALER_GPU_LABEL: name}

    def max_pods(self) -> Derived[int | None]:
        return self._pods_per_node()

    def user_data(self) -> Derived[Mapping[str, Any]]:
        rocket = self._bottlerocket
        settings = node.system_settings(
            self._spec,
            self._first,
            bottlerocket=rocket,
            max_pods=self.max_pods().value,
            store=self.instance_store().value,
        )
        return rule(
            merged(sharing_settings(self._shares, self._types, bottlerocket=rocket), settings),
            "Bottlerocket settings" if rocket else "spec of an AL2023 NodeConfig",
            _USER_DATA_PAGES[rocket],
        )

    def node_repair(self) -> Derived[bool]:
        no_room = "off: the reservation may have no room for a replacement"
        text = no_room if self._spec.reservation else "EKS replaces unhealthy nodes"
        return stated_or(self._spec.node_repair, node.default_repair(self._spec), text)

    def max_unavailable(self) -> Derived[int | None]:
        update = self._spec.update
        if update.max_unavailable is not None:
            return stated(update.max_unavailable)
        if update.max_unavailable_percentage is not None:
            return rule(None, "the strategy sets a percentage", _NODE_UPDATES)
        row = facts.choices.cite(lambda file: file["node_updates"]["max_unavailable"])
        return default(row.value, "one node at a time", row)

    def max_unavailable_percentage(self) -> Derived[int | None]:
        return optional(self._spec.update.max_unavailable_percentage, "the strategy sets no percentage")

    def update_strategy(self) -> Derived[str | None]:
        given = self._spec.update.strategy
        return optional(
            given and given.upper(), "EKS's default: new nodes start before old ones terminate", _NODE_UPDATES
        )

    def launch_template_name(self) -> Derived[str]:
        # The separator is the same as in names of placement groups.
        names = self._context.cluster_name, self._spec.name
        return limited_name("cluster and group", *names, limit="launch_template", separator="/")

    def tags(self) -> Derived[Mapping[str, str]]:
        return rule(
            {**self._autoscaler_tags(), **self._spec.tags},
            "the strategy's tags; with an autoscaler, also the resources of a node",
            _AUTOSCALER_TAGS,
        )

    def _autoscaler_tags(self) -> dict[str, str]:
        if not self._spec.scaling.autoscaled:
            return {}
        shares, kind = self._shares, self._first
        resources = extended_resources_of(kind, efa_count=efa_count(self.efa_interfaces().value), shares=shares)
        if shares is None:
            resources.pop(GPU, None)
        elif shares.resource != GPU:
            # Otherwise EC2's number applies, and for a pod that requests a whole GPU the autoscaler starts nodes that
            # have none.
            resources[GPU] = 0
        return {f"{_AUTOSCALER_RESOURCE}{name}": str(count) for name, count in resources.items()}

    def instance_tags(self) -> Derived[Mapping[str, str]]:
        return self._tags_of_instances(self.launch_template_name().value, "a launch template")


# --- node pools

_ALIASES = "https://karpenter.sh/docs/concepts/nodeclasses/#specamiselectorterms"
_NETWORK_INTERFACES = "https://karpenter.sh/docs/concepts/nodeclasses/#specnetworkinterfaces"
_NODE_OVERLAYS = "https://karpenter.sh/docs/concepts/nodeoverlays/"

# Kubelet settings without a field in an EC2NodeClass.
_NOT_IN_NODE_CLASS = frozenset({"cpu_manager_policy", "topology_manager_policy"})


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
    """Derive all values of one node pool.

    The pool has passed the rules: it has types, and they share architecture and hardware.
    """
    context = _NodeContext(cluster_name, zone_ids, catalogue, custom_networking, common_tags or {}, shell)
    versions = ami_versions or AmiVersions()
    return _NodePool(pool, context, region, versions, efa_security_group_name, subnet_ids or {}).collect()


class _NodePool(NodeFields[ResolvedNodePool, NodePoolSpec]):
    kind = ResolvedNodePool

    def __init__(
        self,
        pool: NodePoolSpec,
        context: _NodeContext,
        region: str,
        ami_versions: AmiVersions,
        efa_security_group_name: str | None,
        subnet_ids: Mapping[str, str],
    ) -> None:
        super().__init__(pool, pool_types(pool, region, context.catalogue), context)
        self._region = region
        self._ami_versions = ami_versions
        self._efa_security_group_name = efa_security_group_name
        self._subnet_ids = subnet_ids

    def instance_types(self) -> Derived[tuple[str, ...]]:
        pool, names = self._spec, tuple(kind.name for kind in self._types)
        if pool.instance_types:
            return stated(names, self._types_reason())
        of = f"of {', '.join(pool.instance_families)}" if pool.instance_families else f"with {pool.accelerator}"
        text = f"the types {of} that {self._region} offers and Karpenter can launch with this image"
        sources = self._offerings(self._catalogue.offered(names[0], self._region)[:1])
        if len(names) > 1:
            sources.append(f"{len(names) - 1} more rows of the same file")
        if any(kind.accelerator for kind in self._types):
            sources.append(facts.karpenter.cite(lambda file: file["accelerator_names"]["families"]))
        return from_catalogue(names, text, *sources)

    def architectures(self) -> Derived[tuple[str, ...]]:
        first = self._cite(lambda row: row["architecture"])
        names = tuple(dict.fromkeys(kind.architecture for kind in self._types))
        others = [
            self._catalogue.cite(
                next(kind for kind in self._types if kind.architecture == architecture), lambda row: row["architecture"]
            )
            for architecture in names[1:]
        ]
        return from_catalogue(names, "the architectures of the pool's types", first, *others)

    def ami_version(self) -> Derived[str | None]:
        ami = self._spec.ami
        if ami.image_id:
            return stated(None, "your own image")
        if ami.version:
            return stated(ami.version, "the release in the pool's ami.version", _ALIASES)
        if given := getattr(self._ami_versions, ami.family):
            return stated(given, "the release in karpenter.ami_versions", _ALIASES)
        row = facts.karpenter.cite(lambda file: file["ami_aliases"]["suggested"][ami.family])
        text = "a release without known problems, pinned so that images do not change on their own"
        return default(row.value, text, row)

    def image_id(self) -> Derived[str | None]:
        return optional(self._spec.ami.image_id, "the EKS image of the alias")

    def capacity_types(self) -> Derived[tuple[str, ...]]:
        types = tuple(dict.fromkeys(CAPACITY[capacity].karpenter for capacity in self._spec.capacity))
        row = self._cite_purchase().part(lambda capacity: (CAPACITY[capacity].karpenter,))
        return chosen("capacity" in self._spec.model_fields_set, types, row, _ON_DEMAND)

    def reservations(self) -> Derived[tuple[ReservationSelector, ...]]:
        selectors = tuple(
            ReservationSelector(reservation.id, MappingProxyType(dict(reservation.tags)), reservation.owner_account_id)
            for reservation in self._spec.reservations
        )
        return stated_if(bool(selectors), selectors, "the strategy names no reservation")

    def subnet_ids(self) -> Derived[Mapping[str, str]]:
        named = self._subnet_ids
        return rule(
            {zone: each for zone, each in named.items() if zone in self._context.zone_ids},
            "selected by id, because they are not tagged" if named else "selected by their discovery tag",
            "https://karpenter.sh/docs/concepts/nodeclasses/#specsubnetselectorterms",
        )

    def limits(self) -> Derived[Mapping[str, str]]:
        limits = {str(name): str(value) for name, value in self._spec.limits.items()}
        resource = accelerator_resource(self._first.hardware)
        if resource is None or resource not in limits:
            return stated(limits)
        devices, cited = int(limits[resource]), []
        if "cpu" not in limits:
            most = max((kind for kind in self._types if kind.accelerator), key=cpus_per_device)
            limits["cpu"] = str(math.ceil(devices * cpus_per_device(most)))
            cited.append(self._catalogue.cite(most, lambda row: (row["vcpus"], row.get("accelerator"))))
        if self._shares:
            # The strategy counts GPUs; Karpenter counts what the node advertises.
            del limits[resource]
            limits[self._shares.resource] = str(devices * self._shares.shares_per_gpu)
        elif not cited:
            return stated(limits)
        return rule(
            limits, "the strategy's limits; CPUs match the accelerators, and shared GPUs count as shares", *cited
        )

    def weight(self) -> Derived[int | None]:
        return optional(self._spec.weight, "no preference between pools")

    def network_interfaces(self) -> Derived[tuple[EfaInterface, ...]]:
        """Derive the interfaces that the EC2NodeClass sets.

        Without them, Karpenter treats every EFA-capable type as one with EFA, and attaches EFA interfaces when pods
        request them. Such a node has no EFA security group and no device plugin: its pods stay pending, and Karpenter
        never removes the node (pkg/providers/instancetype/types.go, efas, in 1.14.1).
        """
        with_efa = next((kind for kind in self._types if kind.supports_efa), None)
        if self._spec.efa:
            text = "set explicitly: Karpenter's own layout is outdated"
            layout = self._cite(lambda row: (row["max_efa_interfaces"], row["cards"]))
            return rule(self._first.efa_interfaces, text, layout, _NETWORK_INTERFACES)
        row = self._catalogue.cite(with_efa or self._first, lambda row: row["max_efa_interfaces"])
        if with_efa:
            text = "one interface: otherwise Karpenter would offer EFA, which is off in this pool"
            return rule((EfaInterface(0, 0, "interface"),), text, row, _NETWORK_INTERFACES)
        return rule((), "the default interface alone: none of the pool's types supports EFA", row)

    def efa_security_group_name(self) -> Derived[str | None]:
        """Derive the name of the strategy's EFA security group: an EC2NodeClass selects it by name."""
        if self.efa_interfaces().value:
            text = "EFA requires a group that allows all traffic from and to itself"
            return rule(self._efa_security_group_name, text, EFA_GROUP)
        return rule(None, "without EFA the cluster security group is enough", EFA_GROUP)

    def kubelet(self) -> Derived[Mapping[str, Any]]:
        """Derive the kubelet settings that an EC2NodeClass has fields for, with the names of these fields.

        Source: https://karpenter.sh/docs/concepts/nodeclasses/#speckubelet
        """
        pods = self._pods_per_node()
        settings = user_data.kubelet_settings(self._spec.kubelet, pods.value)
        value = {user_data.KUBELET_NAMES[name]: settings[name] for name in settings if name not in _NOT_IN_NODE_CLASS}
        if not pods.reason.source:
            return stated(value)
        return rule(value, "pods per node from the types' addresses, and the strategy's settings", pods.reason.source)

    def user_data(self) -> Derived[Mapping[str, Any]]:
        settings = user_data.kubelet_settings(self._spec.kubelet, None)
        rest = {name: settings[name] for name in settings if name in _NOT_IN_NODE_CLASS}
        if self._bottlerocket:
            neuron = self._first.hardware.is_neuron
            derived = user_data.bottlerocket_settings(rest, instance_store="none", neuron=neuron)
        else:
            # RAID0 is the EC2NodeClass's instanceStorePolicy.
            store = "mount" if self.instance_store().value == "mount" else "none"
            derived = user_data.node_config_spec(rest, instance_store=store)
        sharing = sharing_settings(self._shares, self._types, bottlerocket=self._bottlerocket)
        value = merged(merged(derived, sharing), self._spec.user_data)
        return rule(value, "settings without a field in an EC2NodeClass", _USER_DATA_PAGES[self._bottlerocket])

    def disruption(self) -> Derived[ResolvedDisruption]:
        return rule(PoolDisruption(self._spec).collect(), "see its fields")

    def overlays(self) -> Derived[tuple[CapacityOverlay, ...]]:
        sources: list[Source] = [_NODE_OVERLAYS]
        sources += [self._catalogue.cite(kind, lambda row: row.get("accelerator")) for kind in self._relabelled()[:1]]
        if has_huge_pages(self._spec, self._types):
            sources.append(facts.eks.cite(lambda file: file["efa_huge_pages"]["by_family"][self._spec.ami.family]))
        return rule(
            (*self._gpu_overlays(), *self._huge_page_overlays()),
            "resources that Karpenter cannot see: shared and fractional GPUs, huge pages",
            *sources,
        )

    def _relabelled(self) -> list[InstanceType]:
        """Return the types whose nodes advertise other GPUs than EC2 reports."""
        return [
            kind
            for kind in self._types
            if kind.accelerator and kind.hardware is Hardware.NVIDIA_GPU and (self._shares or kind.accelerator.fraction)
        ]

    def _gpu_overlays(self) -> Iterator[CapacityOverlay]:
        """Return an overlay for each number of GPUs that nodes advertise and EC2 does not report."""
        shares = self._shares
        per_gpu = shares.shares_per_gpu if shares else 1
        counts = {kind.name: kind.accelerator.count * per_gpu for kind in self._relabelled() if kind.accelerator}
        resource = shares.resource if shares else GPU
        # Shares with another resource name leave no whole GPU. Karpenter must not launch such a node for a pod that
        # requests a whole one.
        whole = {GPU: "0"} if resource != GPU else {}
        for count, names in _by_value(counts):
            capacity = MappingProxyType({**whole, resource: str(count)})
            yield CapacityOverlay(f"{self._spec.name}-{count}", names, capacity)

    def _huge_page_overlays(self) -> Iterator[CapacityOverlay]:
        """Return overlays with huge pages; without them Karpenter launches no node for pods that request huge pages."""
        resource = facts.eks()["efa_huge_pages"]["resource"]
        promised = {kind.name: promised_mib(self._spec, kind) for kind in self._types}
        for mib, names in _by_value({name: mib for name, mib in promised.items() if mib}):
            capacity = MappingProxyType({resource: f"{mib}Mi"})
            yield CapacityOverlay(f"{self._spec.name}-huge-pages-{mib}", names, capacity)

    def tags(self) -> Derived[Mapping[str, str]]:
        return self._tags_of_instances(f"{self._context.cluster_name}/{self._spec.name}", "Karpenter")


def _by_value(numbers: Mapping[str, int]) -> list[tuple[int, tuple[str, ...]]]:
    """Group names by their number, in the order of the numbers."""
    values = sorted(set(numbers.values()))
    return [(value, tuple(name for name in numbers if numbers[name] == value)) for value in values]
