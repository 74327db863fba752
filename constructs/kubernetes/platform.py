"""Helm releases of a whole cluster, with the AWS resources that they need."""

from __future__ import annotations

from eks_hardware._cdk import Construct
from eks_hardware.constructs.kubernetes.releases import HelmReleases
from eks_hardware.constructs.platform import Platform
from eks_hardware.constructs.resources.lookup import find_all
from eks_hardware.kubernetes.model import Bundle
from eks_hardware.kubernetes.references import Reference


def platform_releases(scope: Construct, id_: str, *, bundle: Bundle, platform: Platform) -> HelmReleases:
    """Define the releases of a cluster that the same stack defines.

    Every release needs access to the API and untainted nodes, and most need add-ons. Karpenter and its NodePools also
    need all resources that Karpenter and its nodes use: roles and policies, queue, access entry, security groups,
    placement groups, file systems. The network is included, because nodes depend on its routes and endpoints.

    Args:
        scope: parent construct or stack.
        id_: construct id, part of the Terraform addresses.
        bundle: charts and objects to install.
        platform: the cluster.

    Examples:
        >>> platform = Platform(stack, "platform", resolved=resolved)
        >>> releases = platform_releases(stack, "kubernetes", bundle=bundle(resolved), platform=platform)
        >>> releases.releases["karpenter"].add_override("timeout", 1200)
    """
    # All resources below each part, so that resources added to a part later are included.
    release_needs = {
        release.name: [needed for part in platform.release_parts(release.name) for needed in find_all(part)]
        for release in bundle.releases
    }
    return HelmReleases(
        scope,
        id_,
        bundle=bundle,
        references=references(platform),
        needs=(*platform.cluster.ready, *platform.ready_nodes),
        addons=platform.cluster.before_charts,
        release_needs=release_needs,
    )


def references(platform: Platform) -> dict[Reference, str]:
    """Return the values of references (tokens), for the resources that the platform has.

    Args:
        platform: the cluster.

    Examples:
        >>> platform = Platform(stack, "platform", resolved=resolved)
        >>> Reference.VPC_ID in references(platform)
        True
    """
    values = {
        Reference.CLUSTER_NAME: platform.cluster.cluster_name,
        Reference.VPC_ID: platform.network.vpc_id,
        **(platform.karpenter.references if platform.karpenter else {}),
    }
    if lustre := platform.lustre:
        values[Reference.FSX_ID] = lustre.file_system_id
        values[Reference.FSX_DNS_NAME] = lustre.dns_name
        values[Reference.FSX_MOUNT_NAME] = lustre.mount_name
    if platform.efs:
        values[Reference.EFS_ID] = platform.efs.file_system_id
    return values
