"""Extended resources: what the device plugins of a node advertise."""

from __future__ import annotations

from eks_hardware import facts
from eks_hardware.catalogue import Hardware, InstanceType
from eks_hardware.resolve.values import GpuShares

EFA = "vpc.amazonaws.com/efa"
GPU = "nvidia.com/gpu"
NEURON = "aws.amazon.com/neuron"
NEURON_CORE = "aws.amazon.com/neuroncore"


def accelerator_resource(hardware: Hardware) -> str | None:
    """Return the extended resource that pods request: ``nvidia.com/gpu``, ``aws.amazon.com/neuron``."""
    return GPU if hardware is Hardware.NVIDIA_GPU else NEURON if hardware.is_neuron else None


def cores_per_logical_core(device: str) -> int:
    """Return the physical cores in a logical NeuronCore of a device such as ``trainium2``; pods see logical cores."""
    return facts.nodes()["neuron_cores"]["per_logical_core"].get(device, 1)


def extended_resources_of(kind: InstanceType, *, efa_count: int = 0, shares: GpuShares | None = None) -> dict[str, int]:
    """Return the extended resources of one node, by name.

    Neuron hardware is listed twice, as devices and as cores: a pod requests one or the other. ``efa_count`` is the
    number of the node's interfaces that support EFA traffic.
    """
    resources: dict[str, int] = {}
    accelerator = kind.accelerator
    if accelerator and kind.hardware is Hardware.NVIDIA_GPU:
        resource, per_gpu = (shares.resource, shares.shares_per_gpu) if shares else (GPU, 1)
        resources[resource] = accelerator.count * per_gpu
    elif accelerator and kind.hardware.is_neuron:
        resources[NEURON] = accelerator.count
        if accelerator.neuron_cores:
            resources[NEURON_CORE] = accelerator.neuron_cores // cores_per_logical_core(accelerator.label_name)
    if efa_count:
        resources[EFA] = efa_count
    return resources
