"""What the charts of a whole cluster need of its AWS side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eks_hardware._cdk import Construct, ITerraformDependable, TerraformResource
from eks_hardware.constructs.kubernetes.releases import HelmReleases
from eks_hardware.constructs.platform import Platform
from eks_hardware.kubernetes.model import Bundle
from eks_hardware.kubernetes.references import Reference


def platform_releases(scope: Construct, id_: str, *, bundle: Bundle, platform: Platform) -> HelmReleases:
    """Define the releases of a cluster that is defined in the same stack.

    Every release needs access to the API and untainted nodes, and most need add-ons. Karpenter, and with it its
    NodePools, also needs everything that it acts with and that its nodes use: roles and policies, queue, access entry,
    security groups, placement groups, file systems. The network follows: nodes depend on its routes and endpoints.

    Args:
        scope: the construct or stack that they belong to.
        id_: their name there, part of the addresses.
        bundle: what is installed.
        platform: the cluster.

    Examples:
        >>> platform = Platform(stack, "platform", resolved=resolved)
        >>> releases = platform_releases(stack, "kubernetes", bundle=bundle(resolved), platform=platform)
        >>> releases.releases["karpenter"].add_override("timeout", 1200)
    """
    return HelmReleases(
        scope,
        id_,
        bundle=bundle,
        references=references(platform),
        needs=(*platform.cluster.ready, *platform.ready_nodes),
        addons=platform.cluster.before_charts,
        release_needs={each.name: tuple(_resources(platform.release_parts(each.name))) for each in bundle.releases},
    )


def references(platform: Platform) -> dict[Reference, str]:
    """Look up what references stand for, as far as the platform has it (tokens).

    Args:
        platform: the cluster.

    Examples:
        >>> platform = Platform(stack, "platform", resolved=resolved)
        >>> Reference.VPC_ID in references(platform)
        True
    """
    karpenter, lustre, efs = platform.karpenter, platform.lustre, platform.efs
    values = {
        Reference.CLUSTER_NAME: platform.cluster.cluster_name,
        Reference.VPC_ID: platform.network.vpc_id,
        Reference.KARPENTER_QUEUE: karpenter.queue_name if karpenter else None,
        Reference.KARPENTER_NODE_ROLE: karpenter.node_role_name if karpenter else None,
        Reference.KARPENTER_INSTANCE_PROFILE: karpenter.instance_profile_name if karpenter else None,
        Reference.FSX_ID: lustre.file_system_id if lustre else None,
        Reference.FSX_DNS_NAME: lustre.dns_name if lustre else None,
        Reference.FSX_MOUNT_NAME: lustre.mount_name if lustre else None,
        Reference.EFS_ID: efs.file_system_id if efs else None,
    }
    return {reference: value for reference, value in values.items() if value is not None}


def _resources(parts: Sequence[Construct]) -> Iterator[ITerraformDependable]:
    """Every resource below some constructs: what is added to them later cannot be forgotten here."""
    for part in parts:
        yield from (each for each in part.node.find_all() if isinstance(each, TerraformResource))
