"""The fields that node groups and node pools have in common, one method each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from eks_hardware import aws_names
from eks_hardware.catalogue import Catalogue, EfaInterface, Hardware
from eks_hardware.data import Cited, cite
from eks_hardware.models import NodeGroupSpec, NodePoolSpec, PoolReservation, Reservation
from eks_hardware.resolve import node
from eks_hardware.resolve.derived import (
    Derived,
    R,
    Resolver,
    Source,
    default,
    from_catalogue,
    rule,
    stated,
    stated_if,
)
from eks_hardware.resolve.gpu_sharing import MIG_CONFIG_LABEL, PLUGIN_CONFIG_LABEL, gpu_shares, sharing_labels
from eks_hardware.resolve.model import BlockDevice, GpuShares, ResolvedTaint

S = TypeVar("S", bound=NodeGroupSpec | NodePoolSpec)

DEFAULT_TAGS = "https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html"
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
_TAINT_PAGES = {
    Hardware.NVIDIA_GPU: f"{_NVIDIA_PLUGIN} (key that the device plugin tolerates)",
    Hardware.TRAINIUM: f"{_NEURON_PLUGIN} (key that the device plugin tolerates)",
    Hardware.INFERENTIA: f"{_NEURON_PLUGIN} (key that the device plugin tolerates)",
}
_USER_DATA_PAGES = {
    "al2023": "https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/api/",
    "bottlerocket": "https://bottlerocket.dev/en/os/latest/#/api/settings/",
}


@dataclass(frozen=True)
class Surroundings:
    """What a group or pool takes from its cluster.

    Attributes:
        zone_ids: its zones.
        custom_networking: whether pods have subnets of their own.
        common_tags: tags of everything in the stack.
        shell: lines that an AL2023 node runs before it joins.
    """

    cluster_name: str
    zone_ids: tuple[str, ...]
    catalogue: Catalogue
    custom_networking: bool = False
    common_tags: Mapping[str, str] = field(default_factory=dict)
    shell: tuple[str, ...] = ()


class NodeFields(Resolver[R], Generic[R, S]):
    """The fields of a group or pool that has passed the rules: its types exist, and share architecture and hardware."""

    def __init__(self, spec: S, types: Sequence[str], around: Surroundings) -> None:
        self._spec = spec
        self._around = around
        self._catalogue = around.catalogue
        self._types = tuple(self._catalogue.get(each) for each in types)
        self._first = self._types[0]
        self._bottlerocket = node.ami_family(spec) == "bottlerocket"
        self._shares = gpu_shares(spec, self._types, bottlerocket=self._bottlerocket)

    def _reservations(self) -> Sequence[Reservation | PoolReservation]:
        """The reservations that its nodes may be launched into."""
        if isinstance(self._spec, NodeGroupSpec):
            return (self._spec.reservation,) if self._spec.reservation else ()
        return self._spec.reservations

    def _cite(self, *fields: str) -> Cited[object]:
        """Fields of the first type's row."""
        return self._catalogue.cite(self._first, "instances", *fields)

    def _said(self, name: str) -> bool:
        """Whether the strategy states a field of the group or pool."""
        return name in self._spec.model_fields_set

    def name(self) -> Derived[str]:
        return stated(self._spec.name)

    def cluster_name(self) -> Derived[str]:
        return stated(self._around.cluster_name)

    def workload(self) -> Derived[str]:
        return stated_if(self._said("workload"), self._spec.purpose, "general: no purpose is stated")

    def hardware(self) -> Derived[Hardware]:
        return from_catalogue(self._first.hardware, node.describe(self._first), *self._hardware_rows())

    def _hardware_rows(self) -> list[Source]:
        rows: list[Source] = [self._cite("accelerator")]
        if self._first.accelerator:
            rows.append(self._catalogue.cite(self._first, "accelerators", "hardware"))
        return rows

    def architecture(self) -> Derived[str]:
        row = self._catalogue.cite(self._first, "instances", "architecture")
        return from_catalogue(row.value, f"the architecture of {self._first.name}", row)

    def ami_family(self) -> Derived[str]:
        family, ami = node.ami_family(self._spec), self._spec.ami
        if isinstance(self._spec, NodeGroupSpec) and self._spec.ami.type:
            return rule(family, f"the operating system of {self._spec.ami.type}")
        return stated_if("family" in ami.model_fields_set, family, "AL2023 unless the strategy names another")

    def zone_ids(self) -> Derived[tuple[str, ...]]:
        zone_ids = self._around.zone_ids
        reserved = {each.zone for each in self._reservations()} - {None}
        if self._spec.zones:
            return stated(zone_ids)
        if reserved and reserved >= set(zone_ids):
            return stated(zone_ids, "where its reservations are")
        rows = self._offerings(zone_ids)
        if self._spec.efa:
            return default(zone_ids, "one zone: EFA traffic does not leave it", *rows, _EFA_ONE_ZONE)
        more = ", and those of its reservations" if reserved else ""
        return default(zone_ids, f"the zones that offer its types{more}", *rows)

    def _offerings(self, zone_ids: Sequence[str]) -> list[Source]:
        """For each zone the first type that is offered there, each row once."""
        cite_offering = self._catalogue.cite_offering
        rows = (next(filter(None, (cite_offering(kind.name, zone) for kind in self._types)), None) for zone in zone_ids)
        return list(dict.fromkeys(row for row in rows if row))

    def labels(self) -> Derived[Mapping[str, str]]:
        labels = self._sources_of_labels()
        return rule(
            {key: each.value for key, each in labels.items()},
            "hardware, workload, accelerator, and what plugins and an autoscaler look for",
            *(f"{key}: {each}" for key, each in labels.items()),
        )

    def _sources_of_labels(self) -> dict[str, Cited[str]]:
        """Each label with what it comes from; the strategy's own win."""
        hardware, rocket = self._first.hardware, self._bottlerocket
        sharing = {**sharing_labels(self._shares, bottlerocket=rocket), **self._autoscaler_labels()}
        plugins = node.plugin_labels(hardware, efa=self._spec.efa, bottlerocket=rocket)
        derived = {key: Cited(value, _LABEL_PAGES[key]) for key, value in sharing.items()}
        derived["hardware-type"] = Cited(hardware.value, str(self._hardware_rows()[-1]))
        derived["workload-type"] = Cited(self._spec.purpose, "workload in the strategy")
        accelerators = {kind.accelerator.label_name for kind in self._types if kind.accelerator}
        if len(accelerators) == 1:
            derived["accelerator"] = Cited(accelerators.pop(), self._cite("accelerator").source)
        derived |= {key: Cited(value, _LABEL_PAGES[key]) for key, value in plugins.items()}
        return derived | {key: Cited(value, "the strategy") for key, value in self._spec.labels.items()}

    def _autoscaler_labels(self) -> dict[str, str]:
        """Labels that Cluster Autoscaler reads."""
        return {}

    def taints(self) -> Derived[tuple[ResolvedTaint, ...]]:
        own, hardware = self._spec.taints, self._first.hardware
        chosen = node.taints(self._spec, hardware)
        if len(chosen) > len(own):
            text = "only pods that ask for the accelerator land here"
            return rule(chosen, f"{text}; and the strategy's own" if own else text, _TAINT_PAGES[hardware])
        if chosen:
            return stated(chosen)
        if hardware in node.TAINT_KEYS:
            return stated(chosen, "accelerator_taint is false")
        text = "for which there is no usual taint" if self._first.accelerator else "to keep other pods from"
        return rule(chosen, f"{node.describe(self._first)} {text}", self._cite("accelerator"))

    def efa_interfaces(self) -> Derived[tuple[EfaInterface, ...]]:
        kind = self._first
        most = f"{kind.max_efa_interfaces} EFA interfaces on {len(kind.network_cards)} network cards"
        row = self._cite("max_efa_interfaces", "cards")
        if self._spec.efa:
            return from_catalogue(kind.efa_interfaces, f"{kind.name} has {most}", row, _EFA_LAYOUT)
        could = f"could have {most}" if kind.supports_efa else "has no EFA"
        return default((), f"efa is not asked for; {kind.name} {could}", row)

    def placement_group_name(self) -> Derived[str | None]:
        wanted = self._spec.placement_group
        name = aws_names.limited(
            self._around.cluster_name, self._spec.name, limit=aws_names.PLACEMENT_GROUP, separator=node.SEPARATOR
        )
        if wanted != "auto":
            return stated(name if wanted == "cluster" else None)
        if self._reservations():
            text = "a placement group that the reservation lacks leaves its capacity unused"
            return rule(None, text, _PLACEMENT_OF_RESERVATIONS)
        if not self._spec.efa:
            return rule(None, "without EFA nothing needs nodes close together", _PLACEMENT)
        row = self._cite("placement_strategies")
        if "cluster" not in self._first.placement_strategies:
            return from_catalogue(None, "the type cannot be in a cluster placement group", row)
        return rule(name, "EFA nodes are placed close together", row, _PLACEMENT)

    def block_devices(self) -> Derived[tuple[BlockDevice, ...]]:
        hardware = self._first.hardware
        size, throughput = node.disk_size(self._spec, hardware), node.disk_throughput(self._spec, hardware)
        text = (
            size.reason.text if size.reason.source else "size as the strategy says, device names as the image has them"
        )
        sources = {
            "devices": node.disk_layout(bottlerocket=self._bottlerocket).source,
            "size": size.reason.source,
            "throughput": throughput.reason.source,
        }
        return rule(
            node.block_devices(self._spec, hardware, bottlerocket=self._bottlerocket),
            text,
            *(f"{what}: {source}" for what, source in sources.items() if source),
        )

    def instance_store(self) -> Derived[str]:
        store = node.instance_store(self._spec, self._types)
        if self._spec.instance_store is not None:
            return stated(store)
        without = next((kind for kind in self._types if kind.instance_store is None), None)
        if without:
            row = self._catalogue.cite(without, "instances", "instance_store")
            return default(store, f"{without.name} has no local disks", row)
        return default(store, "local NVMe as one array for images and ephemeral storage", self._cite("instance_store"))

    def _max_pods(self) -> Derived[int | None]:
        """Pods a node; None where the kubelet's own number is kept."""
        custom = self._around.custom_networking
        value = node.max_pods(self._spec, self._types, custom_networking=custom)
        if self._spec.kubelet.max_pods is not None:
            return stated(value)
        least = node.fewest_pods(self._spec, self._types, custom_networking=custom)
        row = self._catalogue.cite(least, "instances", "cards", "ipv4_per_interface", "vcpus")
        if value is None:
            return from_catalogue(None, f"kubelet's own number: the addresses of {least.name} are not known", row)
        text = "addresses of the first network card with prefix delegation, within EKS's limit"
        return from_catalogue(value, text, row, cite("facts/eks.json", "max_pods"))

    def _user_data_page(self) -> str:
        return _USER_DATA_PAGES[node.ami_family(self._spec)]

    def shell(self) -> Derived[tuple[str, ...]]:
        lines = self._around.shell
        if not lines:
            return rule((), "no storage of the strategy needs a client on the nodes")
        if self._bottlerocket:
            return rule((), "Bottlerocket runs no shell script")
        return rule(
            lines, "the Lustre client, before the node joins", cite("facts/storage.json", "lustre_client", "al2023")
        )

    def metadata_hop_limit(self) -> Derived[int]:
        if self._spec.pods_use_imds:
            row = cite(node.CHOICES, "metadata_hop_limit", "pods")
            return rule(row.value, "pods reach instance metadata", row)
        row = cite(node.CHOICES, "metadata_hop_limit", "nodes")
        return rule(row.value, "pods cannot take the node's credentials", row)

    def detailed_monitoring(self) -> Derived[bool]:
        return stated_if(
            self._said("detailed_monitoring"), self._spec.detailed_monitoring, "five-minute metrics cost nothing"
        )

    def gpu_shares(self) -> Derived[GpuShares | None]:
        return stated_if(self._shares is not None, self._shares, "a pod gets whole accelerators")
