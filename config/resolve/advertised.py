"""What a node offers to pods beside CPU and memory: the extended resources that its device plugins advertise."""

from __future__ import annotations

from eks_hardware.config.catalogue import Hardware, InstanceType
from eks_hardware.config.resolve.model import GpuShares

EFA = "vpc.amazonaws.com/efa"
GPU = "nvidia.com/gpu"
NEURON = "aws.amazon.com/neuron"
NEURON_CORE = "aws.amazon.com/neuroncore"

# Two physical cores make one logical core by default, and pods see logical ones:
# https://awsdocs-neuron.readthedocs-hosted.com/en/latest/about-neuron/arch/neuron-features/logical-neuroncore-config.html
_CORES_PER_LOGICAL_CORE = {"trainium2": 2}


def advertised(kind: InstanceType, *, efa_count: int = 0, shares: GpuShares | None = None) -> dict[str, int]:
    """Extended resources of one node, by name.

    Neuron devices stand there twice, as devices and as cores: a pod asks for one or the other.

    Args:
        efa_count: interfaces that carry EFA traffic.
        shares: how the node's GPUs are shared.
    """
    found: dict[str, int] = {}
    accelerator = kind.accelerator
    if accelerator and kind.hardware is Hardware.NVIDIA_GPU:
        if shares:
            found[shares.resource] = accelerator.count * shares.shares_per_gpu
        else:
            found[GPU] = accelerator.count
    elif accelerator and kind.hardware.is_neuron:
        found[NEURON] = accelerator.count
        if accelerator.neuron_cores:
            found[NEURON_CORE] = accelerator.neuron_cores // _CORES_PER_LOGICAL_CORE.get(accelerator.label_name, 1)
    if efa_count:
        found[EFA] = efa_count
    return found
