"""Enabled EKS add-ons, and the VPC CNI settings that determine pod addresses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from eks_hardware import facts
from eks_hardware.iam_policies import storage as policies
from eks_hardware.iam_policies.document import Statement
from eks_hardware.models import ClusterSpec, StorageSpec, Strategy

NETWORK_POLICY = "https://docs.aws.amazon.com/eks/latest/userguide/cni-network-policy.html"
PREFIXES = "https://docs.aws.amazon.com/eks/latest/userguide/cni-increase-ip-addresses.html"
CUSTOM_NETWORKING = "https://docs.aws.amazon.com/eks/latest/userguide/cni-custom-network.html"


def enabled_addons(cluster: ClusterSpec, needed: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the names of the enabled add-ons: on by default, ``needed``, or enabled in the strategy."""
    given = {str(name): addon for name, addon in cluster.addons.items()}
    return tuple(
        name
        for name, fact in facts.addons().items()
        if (given[name].enabled if name in given else fact["default"] or name in set(needed))
    )


def addons_of(strategy: Strategy) -> tuple[str, ...]:
    """Return the names of a strategy's enabled add-ons, including those that its storage needs."""
    needed = storage_addons(strategy.storage, partition=facts.partition(strategy.region))
    return enabled_addons(strategy.cluster, needed)


def storage_addons(storage: StorageSpec, *, partition: str) -> Mapping[str, tuple[Statement, ...]]:
    """Return the EKS add-ons that the storage needs, its CSI drivers, each with its permissions.

    Without permissions, an add-on gets its managed policies. EFS does: its driver creates access points for claims.
    """
    csi = facts.storage()["csi"]
    needed: dict[str, tuple[Statement, ...]] = {}
    if storage.fsx_lustre:
        needed[csi["fsx_lustre"]["addon"]] = policies.lustre_volumes()
    if storage.efs:
        needed[csi["efs"]["addon"]] = ()
    if storage.s3_buckets:
        buckets = [(bucket.name, bucket.read_only) for bucket in storage.s3_buckets]
        needed[csi["s3"]["addon"]] = policies.mounted_buckets(buckets, partition=partition)
    return needed


def vpc_cni_configuration(custom_networking: bool) -> dict[str, object]:
    """Return settings for network policy and prefix delegation; with pod subnets also custom networking.

    Sources: ``NETWORK_POLICY``, ``PREFIXES``, ``CUSTOM_NETWORKING``.
    """
    environment = {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"}
    if custom_networking:
        environment |= {
            "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG": "true",
            "ENI_CONFIG_LABEL_DEF": "topology.kubernetes.io/zone",
        }
    return {"enableNetworkPolicy": "true", "env": environment}
