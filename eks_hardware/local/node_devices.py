"""The resources that device plugins advertise on a node, and how they share GPUs.

Sources:

- NVIDIA: https://github.com/NVIDIA/k8s-device-plugin/blob/v0.20.0/README.md#shared-access-to-gpus
- Bottlerocket's plugin: https://bottlerocket.dev/en/os/latest/#/api/settings/kubelet-device-plugins/
- Neuron: https://awsdocs-neuron.readthedocs-hosted.com/en/latest/containers/tutorials/k8s-neuron-device-plugin.html
  (``neurondevice`` was removed in release 2.20)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import yaml

from eks_hardware.catalogue import InstanceType
from eks_hardware.resolve.extended_resources import EFA, GPU, NEURON, NEURON_CORE, cores_per_logical_core
from eks_hardware.resolve.gpu_sharing import SHARED_GPU, mig_profiles

Map = Mapping[str, Any]
MIG_GPU = "nvidia.com/mig-"


@dataclass(frozen=True)
class GpuSharing:
    """How a device plugin shares GPUs.

    Attributes:
        one_only: Whether the plugin refuses a pod that requests more than one share.
        mixed: Whether a MIG slice has a resource name of its own.
    """

    replicas: int = 1
    renamed: bool = False
    one_only: bool = False
    mig_profile: str | None = None
    mixed: bool = False


def plugin_sharing(configuration: str) -> GpuSharing:
    """Return the GPU sharing in a configuration file of NVIDIA's device plugin."""
    document = yaml.safe_load(configuration) or {}
    slicing = (document.get("sharing") or {}).get("timeSlicing") or {}
    replicas = next((resource["replicas"] for resource in slicing.get("resources") or () if resource["name"] == GPU), 1)
    return GpuSharing(replicas, slicing.get("renameByDefault", False), slicing.get("failRequestsGreaterThanOne", False))


def bottlerocket_sharing(settings: Map) -> GpuSharing:
    """Return the GPU sharing that the plugin in Bottlerocket's NVIDIA images reads from the node's settings."""
    nvidia = (settings.get("kubelet-device-plugins") or {}).get("nvidia") or {}
    if nvidia.get("device-sharing-strategy") == "time-slicing":
        slicing = nvidia["time-slicing"]
        return GpuSharing(
            slicing["replicas"],
            slicing.get("rename-by-default", False),
            slicing.get("fail-requests-greater-than-one", False),
        )
    if nvidia.get("device-partitioning-strategy") == "mig":
        # The plugin supports only the MIG strategy "single": a slice has the resource name of a whole GPU.
        return GpuSharing(mig_profile=next(iter(nvidia["mig"]["profile"].values())))
    return GpuSharing()


def gpus(kind: InstanceType, count: int, sharing: GpuSharing) -> tuple[str, int]:
    """Return the resource name and the amount that a plugin advertises on a node with ``count`` GPUs."""
    if sharing.mig_profile:
        slices = (mig_profiles(kind) or {}).get(sharing.mig_profile, 0)
        return (f"{MIG_GPU}{sharing.mig_profile}" if sharing.mixed else GPU), count * slices
    return (SHARED_GPU if sharing.renamed else GPU), count * sharing.replicas


@dataclass(frozen=True)
class Devices:
    """The accelerators and interfaces of an instance that device plugins can advertise."""

    gpus: int = 0
    neurons: int = 0
    neuron_cores: int = 0
    efas: int = 0

    @classmethod
    def of(cls, kind: Map, instance: Map) -> Devices:
        """Return the devices in EC2's descriptions of an instance and its type."""
        gpus = (kind.get("GpuInfo") or {}).get("Gpus") or ()
        neurons = (kind.get("NeuronInfo") or {}).get("NeuronDevices") or ()
        return cls(
            # EC2 reports the count 0 for a fraction of a GPU.
            gpus=sum(gpu.get("LogicalGpuCount") or gpu["Count"] for gpu in gpus if gpu["Manufacturer"] == "NVIDIA"),
            neurons=sum(neuron["Count"] for neuron in neurons),
            neuron_cores=sum(
                neuron["Count"] * neuron["CoreInfo"]["Count"] // cores_per_logical_core(neuron["Name"].lower())
                for neuron in neurons
            ),
            efas=sum(
                str(interface.get("InterfaceType")).startswith("efa")
                for interface in instance.get("NetworkInterfaces") or ()
            ),
        )

    def neuron_resources(self) -> dict[str, int]:
        """Return the resources that the Neuron plugin advertises: the number of devices and of their cores."""
        return {NEURON: self.neurons, NEURON_CORE: self.neuron_cores} if self.neurons else {}

    def efa_resources(self) -> dict[str, int]:
        """Return the resources that the EFA plugin advertises."""
        return {EFA: self.efas} if self.efas else {}

    def with_drivers(self, *, nvidia: bool, neuron: bool) -> Devices:
        """Return the devices, without the accelerators that have no driver."""
        devices = self if nvidia else replace(self, gpus=0)
        return devices if neuron else replace(devices, neurons=0, neuron_cores=0)
