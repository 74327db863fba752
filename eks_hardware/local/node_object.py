"""Node objects as the kubelet and AWS's cloud controller manager create them.

Sources:

- the kubelet's capacity and allocatable: https://github.com/kubernetes/kubernetes/blob/v1.35.4/pkg/kubelet/nodestatus/setters.go
  (``MachineInfo``), https://kubernetes.io/docs/tasks/administer-cluster/reserve-compute-resources/
- the AMIs' defaults: https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/kubelet/config.go;
  Bottlerocket's are the same (:mod:`eks_hardware.kubernetes.allocatable`)
- labels of the cloud controller manager: https://github.com/kubernetes/cloud-provider-aws/tree/master/pkg/providers/v1

As in :mod:`eks_hardware.kubernetes.allocatable`, the hypervisor and kernel use 7.5% of the memory that EC2 describes,
which is Karpenter's default. A real node usually has slightly more memory left.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from eks_hardware import facts, versions
from eks_hardware.local.node_devices import Devices
from eks_hardware.local.node_user_data import Boot
from eks_hardware.resolve.huge_pages import HugePages, default_huge_pages, stated_huge_pages
from eks_hardware.resolve.node import NVIDIA_PLUGIN_LABEL
from eks_hardware.resolve.reserved import kube_reserved, memory_of_guest, pods_with_addresses
from eks_hardware.spellings import KUBERNETES_ARCHITECTURES
from eks_hardware.units import GIB, MIB, amount

Map = Mapping[str, Any]

_IMAGE_NAMES = (
    re.compile(r"amazon-eks-node-(?P<family>al2023)-(?:x86_64|arm64)-(?P<variant>\w+)-(?P<version>\d+\.\d+)-v"),
    re.compile(r"(?P<family>bottlerocket)-aws-k8s-(?P<version>\d+\.\d+)(?:-(?P<variant>nvidia|fips)\w*)?-"),
)
_OS_NAMES = {"al2023": "Amazon Linux 2023", "bottlerocket": "Bottlerocket OS"}
_EVICTED_STORAGE = "10%"
_RESERVED_STORAGE = Fraction(GIB)
# nodeadm sets NVIDIA_PLUGIN_LABEL from this version on (kubelet/config.go, generateKubeletConfig).
_LABELS_GPUS = "1.35"


@dataclass(frozen=True)
class Image:
    """An AMI. The fields of an AMI that EKS does not publish are None."""

    family: str | None = None
    variant: str | None = None
    version: str | None = None

    @classmethod
    def of(cls, name: str) -> Image:
        """Parse an AMI name."""
        match = next(filter(None, (pattern.match(name) for pattern in _IMAGE_NAMES)), None)
        if match is None:
            return cls()
        return cls(match["family"], match["variant"] or "standard", match["version"])

    def has_driver(self, device: str) -> bool:
        """Return whether the AMI has the ``nvidia`` or ``neuron`` driver. Every Bottlerocket AMI has the Neuron driver.

        Source: https://bottlerocket.dev/en/os/latest/#/concepts/variants/. A custom AMI is assumed to have the driver.
        """
        return self.variant in (None, device) or (self.family == "bottlerocket" and device == "neuron")


@dataclass(frozen=True)
class Machine:
    """A booted instance.

    Attributes:
        instance: The instance, as ``DescribeInstances`` returns it.
        kind: The instance's type, as ``DescribeInstanceTypes`` returns it.
        boot: The settings from the user data.
        version: The kubelet's Kubernetes version, such as ``1.35``.
        disk: The size in bytes of the disk with pods' files.
    """

    instance: Map
    kind: Map
    image: Image
    boot: Boot
    version: str
    region: str
    zone_id: str
    disk: Fraction

    @property
    def name(self) -> str:
        """The Node's name."""
        return str(self.instance["InstanceId" if self.boot.instance_name else "PrivateDnsName"])

    @property
    def devices(self) -> Devices:
        """The devices that plugins find: none without the driver."""
        return Devices.of(self.kind, self.instance).with_drivers(
            nvidia=self.image.has_driver("nvidia"), neuron=self.image.has_driver("neuron")
        )

    @property
    def has_nvidia(self) -> bool:
        """Whether the machine has an NVIDIA device, with or without a driver."""
        return bool(Devices.of(self.kind, self.instance).gpus)

    @property
    def has_devices(self) -> bool:
        """Whether the machine has devices that a plugin could advertise, with or without a driver."""
        return Devices.of(self.kind, self.instance) != Devices()

    @property
    def has_own_gpu_plugin(self) -> bool:
        """Whether the image contains NVIDIA's device plugin."""
        return self.boot.family == "bottlerocket" and self.image.variant in (None, "nvidia")


def provider_id(instance: Map) -> str:
    """Return the ID by which Kubernetes and Karpenter know an instance."""
    return f"aws:///{instance['Placement']['AvailabilityZone']}/{instance['InstanceId']}"


def node(machine: Machine) -> dict[str, Any]:
    """Return the Node that an instance registers, without the resources that device plugins advertise.

    The kubelet registers with its status in the same request.
    """
    instance, name = machine.instance, machine.name
    capacity, allocatable = _resources(machine)
    addresses = {"InternalIP": instance["PrivateIpAddress"], "Hostname": name, "InternalDNS": name}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": _labels(machine)},
        "spec": {"providerID": provider_id(instance), "taints": [dict(taint) for taint in machine.boot.taints]},
        "status": {
            "capacity": capacity,
            "allocatable": allocatable,
            "addresses": [{"type": kind, "address": address} for kind, address in addresses.items()],
            "nodeInfo": {
                **dict.fromkeys(("machineID", "systemUUID", "bootID"), instance["InstanceId"]),
                **dict.fromkeys(("kernelVersion", "containerRuntimeVersion", "kubeProxyVersion"), ""),
                "architecture": _architecture(machine.kind),
                "kubeletVersion": f"v{machine.version}.0",
                "operatingSystem": "linux",
                "osImage": _OS_NAMES[machine.boot.family],
            },
        },
    }


def _labels(machine: Machine) -> dict[str, str]:
    instance, boot = machine.instance, machine.boot
    architecture, zone = _architecture(machine.kind), instance["Placement"]["AvailabilityZone"]
    labels = {
        "kubernetes.io/hostname": machine.name,
        **_both("kubernetes.io/os", "linux"),
        **_both("kubernetes.io/arch", architecture),
    }
    if boot.family == "al2023" and not versions.older(machine.version, _LABELS_GPUS):
        # By the PCI vendor: with or without a driver.
        labels |= NVIDIA_PLUGIN_LABEL if machine.has_nvidia else {}
    return {
        **labels,
        **boot.labels,
        # On AWS, the cloud controller manager sets these labels later, and overrides the user data's values.
        "node.kubernetes.io/instance-type": instance["InstanceType"],
        "beta.kubernetes.io/instance-type": instance["InstanceType"],
        "topology.kubernetes.io/region": machine.region,
        "topology.kubernetes.io/zone": zone,
        "failure-domain.beta.kubernetes.io/region": machine.region,
        "failure-domain.beta.kubernetes.io/zone": zone,
        "topology.k8s.aws/zone-id": machine.zone_id,
    }


def _both(label: str, value: str) -> dict[str, str]:
    return {label: value, f"beta.{label}": value}


def _architecture(kind: Map) -> str:
    return next(
        KUBERNETES_ARCHITECTURES[architecture]
        for architecture in kind["ProcessorInfo"]["SupportedArchitectures"]
        if architecture != "i386"
    )


def _resources(machine: Machine) -> tuple[dict[str, str], dict[str, str]]:
    """Return the Node's capacity and allocatable."""
    vcpus, mib = machine.kind["VCpuInfo"]["DefaultVCpus"], machine.kind["MemoryInfo"]["SizeInMiB"]
    boot, pages = machine.boot, _huge_pages(machine)
    standard = _standard_pods(machine.kind)
    # The memory that nodeadm reserves does not depend on maxPods.
    counted = standard if boot.family == "al2023" else boot.max_pods or standard
    reserved = {**kube_reserved(vcpus, counted), "ephemeral-storage": _RESERVED_STORAGE}
    reserved |= {name: amount(value) for name, value in boot.reserved["kube"].items()}
    for name, value in boot.reserved["system"].items():
        reserved[name] = reserved.get(name, Fraction(0)) + amount(value)
    # Huge pages that may be allocated, but that pods cannot rely on, do not count as memory.
    memory = memory_of_guest(Fraction(mib) * MIB, arm64=_architecture(machine.kind) == "arm64")
    memory -= (pages.taken_mib - pages.promised_mib) * MIB
    kept = f"{facts.memory()['host']['eviction_mib']}Mi"
    eviction = {"memory.available": kept, "nodefs.available": _EVICTED_STORAGE, **boot.eviction}
    free = {
        "cpu": vcpus - reserved["cpu"],
        "memory": memory
        - reserved["memory"]
        - _threshold(eviction["memory.available"], memory)
        - pages.promised_mib * MIB,
        "ephemeral-storage": machine.disk
        - reserved["ephemeral-storage"]
        - _threshold(eviction["nodefs.available"], machine.disk),
    }
    both = {
        "pods": str(boot.max_pods or standard),
        "hugepages-1Gi": "0",
        "hugepages-2Mi": f"{pages.promised_mib}Mi",
    }
    return (
        {"cpu": str(vcpus), **_bytes({"memory": memory, "ephemeral-storage": machine.disk}), **both},
        {"cpu": f"{math.floor(free.pop('cpu') * 1000)}m", **_bytes(free), **both},
    )


def _bytes(amounts: Mapping[str, Fraction]) -> dict[str, str]:
    return {name: f"{max(math.floor(value / 1024), 0)}Ki" for name, value in amounts.items()}


def _threshold(given: str, whole: Fraction) -> Fraction:
    """Return an eviction threshold in bytes, given as a quantity or as a percentage of ``whole``."""
    return amount(given[:-1]) / 100 * whole if given.endswith("%") else amount(given)


def _standard_pods(kind: Map) -> int:
    network = kind["NetworkInfo"]
    cards: Sequence[Map] = network.get("NetworkCards") or ()
    interfaces = (cards[0] if cards else network)["MaximumNetworkInterfaces"]
    return pods_with_addresses(interfaces, network["Ipv4AddressesPerInterface"])


def _huge_pages(machine: Machine) -> HugePages:
    boot, devices = machine.boot, machine.devices
    if boot.huge_pages is not None:
        return stated_huge_pages(boot.huge_pages, machine.kind["MemoryInfo"]["SizeInMiB"])
    if not devices.efas:
        return HugePages(0, 0)
    return default_huge_pages(
        machine.kind["VCpuInfo"]["DefaultVCpus"],
        ami_family=boot.family,
        accelerated=bool(devices.gpus or devices.neurons),
        own_image=machine.image.family is None,
    )
