"""Resolve ``gpu_sharing``: how pods share one GPU, and the node settings for it.

On AL2023 a node label selects a configuration of the device plugin (time slicing) or of the GPU Operator's MIG manager.
Bottlerocket has its own settings for both.
Sources: https://github.com/NVIDIA/k8s-device-plugin#shared-access-to-gpus,
https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html,
https://bottlerocket.dev/en/os/1.54.x/api/settings/kubelet-device-plugins
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from eks_hardware import facts
from eks_hardware.catalogue import InstanceType
from eks_hardware.data import Cited
from eks_hardware.models import NodeTemplate
from eks_hardware.resolve.extended_resources import GPU
from eks_hardware.resolve.values import GpuShares

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.nodes import MigGpu, MigProfile

SHARED_GPU = "nvidia.com/gpu.shared"
MIG_STRATEGY = "mixed"
"""The GPU Operator's ``mig.strategy``: a slice has its own resource name, ``nvidia.com/mig-1g.10gb``.

With ``single`` a slice has the same resource name as a whole GPU, and the device plugin registers whole GPUs before the
MIG manager partitions them. Pods would be bound to GPUs that then disappear, and the node would reboot under them.
"""
PLUGIN_CONFIG_LABEL = "nvidia.com/device-plugin.config"
MIG_CONFIG_LABEL = "nvidia.com/mig.config"


def gpu_shares(template: NodeTemplate, types: Sequence[InstanceType], *, bottlerocket: bool) -> GpuShares | None:
    """Return how the GPUs of a group or pool are shared; None if pods get whole GPUs."""
    sharing = template.gpu_sharing
    if sharing is None:
        return None
    if sharing.time_slicing:
        slices = sharing.time_slicing
        name = f"time-slicing-{slices.replicas}"
        if slices.rename:
            return GpuShares(f"{name}-renamed", SHARED_GPU, slices.replicas, None)
        return GpuShares(name, GPU, slices.replicas, None)
    profile = sharing.mig_profile or ""
    most = min((mig_profiles(kind) or {}).get(profile, 0) for kind in types)
    # Bottlerocket's plugin supports only the strategy `single`, and starts after the GPUs are partitioned
    # (config/facts/mig.json).
    resource = GPU if bottlerocket else f"nvidia.com/mig-{profile}"
    return GpuShares(f"all-{profile}", resource, most, profile)


def mig_profiles(kind: InstanceType) -> Mapping[str, int] | None:
    """Return the MIG profiles of a type's GPU, with the maximum number per GPU; None for a GPU without MIG."""
    fact = _mig(kind)
    return {profile["profile"]: profile["max_per_gpu"] for profile in fact["profiles"]} if fact else None


def mig_bottlerocket_key(kind: InstanceType) -> str | None:
    """Return Bottlerocket's key for a type's GPU in ``mig.profile``; None if there is none."""
    fact = _mig(kind)
    return fact["bottlerocket_key"] if fact else None


def cite_mig_profiles(kind: InstanceType) -> Cited[list[MigProfile]] | None:
    """Return the MIG profiles of a type's GPU with their source; None for a GPU without MIG."""
    gpu = _partitionable(kind)
    if gpu is None or _mig(kind) is None:
        return None
    name, memory = gpu
    return facts.mig.cite(lambda file: file["gpus"][name][memory]["profiles"])


def _mig(kind: InstanceType) -> MigGpu | None:
    gpu = _partitionable(kind)
    return facts.mig()["gpus"].get(gpu[0], {}).get(gpu[1]) if gpu else None


def _partitionable(kind: InstanceType) -> tuple[str, str] | None:
    """Return the keys in ``mig.json`` of a GPU that may be partitioned: its name and rounded GiB."""
    accelerator = kind.accelerator
    # The EKS guide lists families. A fraction of a GPU is a virtual GPU, which cannot be partitioned.
    if accelerator is None or not accelerator.mig or accelerator.fraction or accelerator.memory_gib_each is None:
        return None
    return accelerator.name, str(round(accelerator.memory_gib_each))


def sharing_labels(shares: GpuShares | None, *, bottlerocket: bool) -> dict[str, str]:
    """Return the node label that selects the configuration."""
    if shares is None or bottlerocket:
        return {}
    return {MIG_CONFIG_LABEL if shares.mig_profile else PLUGIN_CONFIG_LABEL: shares.config}


def sharing_settings(
    shares: GpuShares | None, types: Sequence[InstanceType], *, bottlerocket: bool
) -> dict[str, object]:
    """Return Bottlerocket settings that make its own device plugin share the GPUs."""
    if shares is None or not bottlerocket:
        return {}
    if shares.mig_profile is None:
        nvidia: dict[str, object] = {
            "device-sharing-strategy": "time-slicing",
            "time-slicing": {
                "replicas": shares.shares_per_gpu,
                "rename-by-default": shares.resource == SHARED_GPU,
                # Two shares can be of the same GPU, where they get no more time than one share.
                "fail-requests-greater-than-one": True,
            },
        }
    else:
        keys = sorted({key for kind in types if (key := mig_bottlerocket_key(kind))})
        nvidia = {
            "device-partitioning-strategy": "mig",
            "mig": {"profile": dict.fromkeys(keys, shares.mig_profile)},
        }
    return {"kubelet-device-plugins": {"nvidia": nvidia}}
