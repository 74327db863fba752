"""Where derived values of a node stand: rows of data files and pages, kept beside each value's reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eks_hardware.config.catalogue import Catalogue, Hardware, InstanceType
from eks_hardware.config.models import NodeTemplate
from eks_hardware.config.resolve import node

CAPACITY_TYPES = "https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html"
DEFAULT_TAGS = "https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html"
EFA_GROUP = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html#efa-start-security"
EFA_ONE_ZONE = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html#efa-limits"
INSTANCE_METADATA = "https://docs.aws.amazon.com/eks/latest/best-practices/identity-and-access-management.html"
NODE_ROLE = "https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html"
PLACEMENT = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html"

_EFA_LAYOUT = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html"
_NVIDIA_PLUGIN = "https://github.com/NVIDIA/k8s-device-plugin"
_NEURON_PLUGIN = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/containers/kubernetes-getting-started.html"
_EFA_PLUGIN = "https://github.com/aws/eks-charts"
_BOTTLEROCKET_PLUGIN = "https://github.com/bottlerocket-os/bottlerocket/issues/3992"

_OF_LABELS = {
    **dict.fromkeys(node.EFA_LABEL, f"affinity of the EFA device plugin, {_EFA_PLUGIN}"),
    **dict.fromkeys(node.NVIDIA_PLUGIN_LABEL, f"affinity of the NVIDIA device plugin, {_NVIDIA_PLUGIN}"),
    **dict.fromkeys(node.NEURON_PLUGIN_LABEL, f"affinity of the Neuron device plugin, {_NEURON_PLUGIN}"),
    **dict.fromkeys(node.NO_OPERANDS_LABEL, f"Bottlerocket runs a plugin of its own, {_BOTTLEROCKET_PLUGIN}"),
}
_OF_TAINTS = {
    Hardware.NVIDIA_GPU: f"key that the device plugin tolerates, {_NVIDIA_PLUGIN}",
    Hardware.TRAINIUM: f"key that the device plugin tolerates, {_NEURON_PLUGIN}",
    Hardware.INFERENTIA: f"key that the device plugin tolerates, {_NEURON_PLUGIN}",
}


def of_hardware(kind: InstanceType, catalogue: Catalogue) -> str:
    """Accelerators of a type, and what kind of hardware they are."""
    rows = catalogue.cited(kind, "instances")
    return f"{catalogue.cited(kind, 'accelerators')}; {rows}" if kind.accelerator else rows


def of_labels(template: NodeTemplate, labels: Mapping[str, str], kind: InstanceType) -> str:
    """Where each label comes from, the strategy's own first."""
    table = "accelerators.json" if kind.accelerator else "instances.json"
    known = {
        "hardware-type": f"{table} row {kind.accelerator.name if kind.accelerator else kind.name}",
        "workload-type": "the workload",
        "accelerator": f"instances.json row {kind.name}",
        **_OF_LABELS,
    }
    said = dict.fromkeys(template.labels, "the strategy")
    other = "GPU sharing, or the autoscaler"
    return "; ".join(f"{key}: {said.get(key) or known.get(key, other)}" for key in labels)


def of_taints(hardware: Hardware) -> str | None:
    """The page that the key of an accelerated node's taint comes from."""
    return _OF_TAINTS.get(hardware)


def of_disks(hardware: Hardware, *, bottlerocket: bool) -> str | None:
    """Where the size and the device names of a node's volumes come from."""
    if bottlerocket:
        return "https://bottlerocket.dev/en/os/latest/#/concepts/storage/ (images on the second volume)"
    return "facts/nodes.json accelerated_disk" if hardware is not Hardware.CPU else None


def of_instance_store(types: Sequence[InstanceType], catalogue: Catalogue) -> str:
    """What local disks the first of the types has, and where that stands."""
    store = types[0].instance_store
    disks = f"{store.disk_count} x {store.disk_gb:,} GB" if store else "no local disks"
    return f"{disks}: {catalogue.cited(types[0], 'instances')}"


def of_max_pods(kind: InstanceType, catalogue: Catalogue) -> str:
    """Where the number of addresses and EKS's limit of pods stand."""
    return f"{catalogue.cited(kind, 'instances')}; facts/eks.json max_pods"


def of_efa(kind: InstanceType, catalogue: Catalogue) -> str:
    """Where the network cards of a type stand, and the page that says how interfaces go on them."""
    return f"{catalogue.cited(kind, 'instances')}; layout: catalogue/efa.py, {_EFA_LAYOUT}"


def of_placement(kind: InstanceType, catalogue: Catalogue) -> str:
    """Where the placement strategies of a type stand."""
    return f"{catalogue.cited(kind, 'instances')}; {PLACEMENT}"


def of_zones(types: Sequence[InstanceType], catalogue: Catalogue, *, one_zone: bool) -> str:
    """Where the zones that offer the types stand."""
    more = f" and {len(types) - 1} more" if len(types) > 1 else ""
    return f"{catalogue.cited(types[0], 'offerings')}{more}" + (f"; {EFA_ONE_ZONE}" if one_zone else "")


def of_user_data(*, bottlerocket: bool) -> str:
    """The schema of a node's settings."""
    if bottlerocket:
        return "https://bottlerocket.dev/en/os/latest/#/api/settings/"
    return "https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/api/"
