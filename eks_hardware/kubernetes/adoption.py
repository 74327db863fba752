"""Charts and objects of node pools on a cluster that another stack or tool owns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eks_hardware.kubernetes import device_plugins, karpenter
from eks_hardware.kubernetes.model import Bundle, among_themselves

if TYPE_CHECKING:
    # This module imports rules and loader, which rendering a strategy does not need.
    from eks_hardware.adoption import ResolvedAdoption


def karpenter_bundle(
    adoption: ResolvedAdoption, *, controller: bool = True, with_device_plugins: bool = True
) -> Bundle:
    """Derive the charts and objects of Karpenter and its pools, without a strategy's other parts.

    Nodes run in the subnets whose ids the file lists, because the subnets of an existing VPC are not tagged.

    Args:
        adoption: the cluster and the pools.
        controller: install Karpenter too. Otherwise only the pools are installed, for an existing Karpenter. The caller
            then provides the role of its nodes (``Reference.KARPENTER_NODE_ROLE``), and pools that share or divide GPUs
            need Karpenter's feature gate ``nodeOverlay``.
        with_device_plugins: install the device plugins for the pools' hardware. A second plugin of the same kind fails
            or advertises nothing.

    Examples:
        >>> karpenter_bundle(adoption).names
        ('karpenter-crd', 'karpenter', 'nvidia-device-plugin', 'aws-efa-k8s-device-plugin', 'karpenter-resources')
        >>> karpenter_bundle(adoption, controller=False, with_device_plugins=False).names
        ('karpenter-resources',)
    """
    resolved = adoption.resolved
    pools = f"{karpenter.RESOURCES}-{adoption.suffix}" if adoption.suffix else karpenter.RESOURCES
    releases = [
        replace(release, name=pools) if release.name == karpenter.RESOURCES else release
        for release in karpenter.releases(resolved, security_group_ids=adoption.security_group_ids)
        if controller or release.name == karpenter.RESOURCES
    ]
    if with_device_plugins:
        releases += device_plugins.releases(resolved)
    return among_themselves(releases)
