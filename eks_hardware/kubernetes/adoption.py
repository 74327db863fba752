"""What node pools need on a cluster that someone else owns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_hardware.kubernetes import device_plugins, karpenter
from eks_hardware.kubernetes.model import Bundle, among_themselves

if TYPE_CHECKING:
    # Imports rules and loader, which rendering a strategy does not need.
    from eks_hardware.adoption import ResolvedAdoption


def karpenter_bundle(
    adoption: ResolvedAdoption, *, controller: bool = True, with_device_plugins: bool = True
) -> Bundle:
    """Derive the charts and objects of Karpenter and its pools, without the rest of a strategy.

    Nodes run in the subnets whose ids the file names: nobody tags what someone else owns.

    Args:
        adoption: the cluster and the pools.
        controller: install Karpenter too. Without it the pools alone, for a Karpenter that is there: the caller says
            which role its nodes have (``Reference.KARPENTER_NODE_ROLE``), and pools that share or divide GPUs need its
            feature gate ``nodeOverlay``.
        with_device_plugins: install the device plugins that the pools' hardware needs. A second one of the
            same kind fails or advertises nothing.

    Examples:
        >>> karpenter_bundle(adoption).names
        ('karpenter-crd', 'karpenter', 'nvidia-device-plugin', 'aws-efa-k8s-device-plugin', 'karpenter-resources')
        >>> karpenter_bundle(adoption, controller=False, with_device_plugins=False).names
        ('karpenter-resources',)
    """
    resolved = adoption.resolved
    found = [
        each
        for each in karpenter.releases(resolved, security_group_ids=adoption.security_group_ids)
        if controller or each.name == karpenter.RESOURCES
    ]
    if with_device_plugins:
        found += device_plugins.releases(resolved)
    return among_themselves(found)
