"""Helm releases of adopted node pools, with the AWS resources that they need."""

from __future__ import annotations

from eks_hardware._cdk import Construct
from eks_hardware.constructs.karpenter import AdoptedKarpenter
from eks_hardware.constructs.karpenter.claims import claim
from eks_hardware.constructs.kubernetes.releases import HelmReleases
from eks_hardware.constructs.resources.lookup import find_all
from eks_hardware.kubernetes.model import Bundle


def adopted_releases(scope: Construct, id_: str, *, bundle: Bundle, adopted: AdoptedKarpenter) -> HelmReleases:
    """Define the releases of node pools on a cluster that another stack or tool owns.

    Each release is created after all AWS resources and destroyed before them. Karpenter then terminates its nodes while
    its role, its queue and the nodes' resources still exist.

    Args:
        scope: parent construct or stack.
        id_: construct id, part of the Terraform addresses.
        bundle: charts and objects to install (``eks_hardware.kubernetes.karpenter_bundle``).
        adopted: the AWS resources.

    Raises:
        ValueError: ``ADOPTION_COLLISION`` if another adoption of the cluster in this app has a release with that name.

    Examples:
        >>> adopted = AdoptedKarpenter(stack, "karpenter", adoption=adoption, cluster=cluster)
        >>> charts = adopted_releases(stack, "charts", bundle=karpenter_bundle(adoption), adopted=adopted)
        >>> charts.releases["karpenter"].add_override("timeout", 1200)
    """
    needs = find_all(adopted)
    remedy = (
        "set another suffix in one of the adoption files, and install Karpenter and device plugins with one of them "
        "(controller=False, with_device_plugins=False)"
    )
    claim(adopted, adopted.adoption, "Helm release", bundle.names, remedy)
    return HelmReleases(scope, id_, bundle=bundle, references=adopted.references, needs=needs)
