"""What the charts of adopted node pools need of their AWS side."""

from __future__ import annotations

from eks_hardware._cdk import Construct
from eks_hardware.constructs.karpenter import AdoptedKarpenter
from eks_hardware.constructs.kubernetes.releases import HelmReleases
from eks_hardware.constructs.resources.lookup import find_all
from eks_hardware.kubernetes.model import Bundle


def adopted_releases(scope: Construct, id_: str, *, bundle: Bundle, adopted: AdoptedKarpenter) -> HelmReleases:
    """Define the releases of node pools on a cluster that someone else owns.

    Each is created after everything on the AWS side, and destroyed before it: Karpenter terminates the nodes while its
    role, its queue and what the nodes use still exist.

    Args:
        scope: the construct or stack that they belong to.
        id_: their name there, part of the addresses.
        bundle: what is installed (``eks_hardware.kubernetes.karpenter_bundle``).
        adopted: the AWS side.

    Examples:
        >>> adopted = AdoptedKarpenter(stack, "karpenter", adoption=adoption, cluster=cluster)
        >>> charts = adopted_releases(stack, "charts", bundle=karpenter_bundle(adoption), adopted=adopted)
        >>> charts.releases["karpenter"].add_override("timeout", 1200)
    """
    needs = find_all(adopted)
    return HelmReleases(scope, id_, bundle=bundle, references=adopted.references, needs=needs)
