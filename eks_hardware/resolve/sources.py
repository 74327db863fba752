"""Where derived values of a node stand: rows of data files and pages, kept beside each value's reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eks_hardware.catalogue import Catalogue, Hardware, InstanceType
from eks_hardware.models import NodeTemplate
from eks_hardware.resolve import gpu_sharing, node

CAPACITY_TYPES = "https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html"
DEFAULT_TAGS = "https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html"
EFA_GROUP = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html#efa-start-security"
EFA_ONE_ZONE = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html#efa-limits"
INSTANCE_METADATA = "https://docs.aws.amazon.com/eks/latest/best-practices/identity-and-access-management.html"
LAUNCH_TEMPLATES = "https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html"
NODE_GROUP = "https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html"
NODE_ROLE = "https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html"
NODE_UPDATES = "https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html"
PLACEMENT = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html"
SUBNET_SELECTOR = "https://karpenter.sh/docs/concepts/nodeclasses/#specsubnetselectorterms"

_AUTOSCALER_GPU = (
    "https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.1/cluster-autoscaler/cloudprovider/aws/"
    "aws_cloud_provider.go"
)
_EFA_LAYOUT = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html"
_GP3 = "https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html"
_NVIDIA_PLUGIN = "https://github.com/NVIDIA/k8s-device-plugin"
_NEURON_PLUGIN = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/containers/kubernetes-getting-started.html"
_EFA_PLUGIN = "https://github.com/aws/eks-charts"
_BOTTLEROCKET_PLUGIN = "https://github.com/bottlerocket-os/bottlerocket/issues/3992"

_MIG = "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html"
_TIME_SLICING = "https://github.com/NVIDIA/k8s-device-plugin#shared-access-to-gpus"

_OF_LABELS = {
    gpu_sharing.MIG_CONFIG_LABEL: f"gpu_sharing, as the MIG manager reads it, {_MIG}",
    gpu_sharing.PLUGIN_CONFIG_LABEL: f"gpu_sharing, as the device plugin reads it, {_TIME_SLICING}",
    node.AUTOSCALER_GPU_LABEL: f"GPULabel of Cluster Autoscaler, {_AUTOSCALER_GPU}",
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
        "workload-type": "workload in the strategy",
        "accelerator": f"instances.json row {kind.name}",
        **_OF_LABELS,
    }
    said = dict.fromkeys(template.labels, "the strategy")
    return "; ".join(f"{key}: {said.get(key) or known[key]}" for key in labels)


def of_taints(kind: InstanceType, catalogue: Catalogue) -> str:
    """The page that the key of an accelerated node's taint comes from; the row that names no accelerator."""
    return _OF_TAINTS.get(kind.hardware) or catalogue.cited(kind, "instances")


def of_disks(template: NodeTemplate, hardware: Hardware, *, bottlerocket: bool) -> str:
    """Where the size, the device names and the throughput of a node's volumes come from."""
    stated = ["device names: facts/karpenter.json block_devices"]
    if bottlerocket:
        stated.append("images on the second volume: https://bottlerocket.dev/en/os/latest/#/concepts/storage/")
    if hardware is not Hardware.CPU and template.disk.size_gib is None:
        stated.append("size: facts/nodes.json accelerated_disk")
    if template.disk.throughput_mibps is None and template.disk.type == "gp3":
        own = "gp3's own throughput" if hardware is Hardware.CPU else "more than gp3's own throughput"
        stated.append(f"{own}: {_GP3}")
    return "; ".join(stated)


def of_instance_store(types: Sequence[InstanceType], catalogue: Catalogue) -> str:
    """What local disks the first of the types has, and where that stands."""
    store = types[0].instance_store
    disks = f"{store.disk_count} x {store.disk_gb:,} GB" if store else "no local disks"
    return f"{disks}: {catalogue.cited(types[0], 'instances')}"


def of_max_pods(kind: InstanceType, catalogue: Catalogue) -> str:
    """Where the number of addresses and EKS's limit of pods stand."""
    return f"{catalogue.cited(kind, 'instances')}; facts/eks.json max_pods"


def of_efa(template: NodeTemplate, kind: InstanceType, catalogue: Catalogue) -> str:
    """Where the network cards of a type stand, and with EFA the page that says how interfaces go on them."""
    layout = f"; layout: catalogue/efa.py, {_EFA_LAYOUT}" if template.efa else ""
    return f"{catalogue.cited(kind, 'instances')}{layout}"


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
