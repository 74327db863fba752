"""Notes on a comparison: changes that AWS refuses, changes that Terraform misses, and resources left behind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from eks_hardware.diff.node_pools import PoolChange
from eks_hardware.diff.plan import Action, ResourceChange
from eks_hardware.kubernetes.karpenter import RESOURCES as POOLS_RELEASE
from eks_hardware.resolve import ResolvedStrategy
from eks_hardware.suggestions import some

State = Literal["same", "separate", "region"]

_NAMED = 10
"""Maximum number of pools that a note names."""


def notes(
    before: ResolvedStrategy,
    after: ResolvedStrategy,
    state: State,
    resource_changes: tuple[ResourceChange, ...],
    pools: tuple[PoolChange, ...],
    *,
    had: int | None,
    moved: bool,
) -> Iterator[str]:
    """Yield notes on a comparison, the most important first.

    ``had`` is the number of the old strategy's resources (None if unknown). ``moved`` is whether charts that Terraform
    installed leave their stack.
    """
    if state == "separate":
        number = "" if had is None else f"{had} "
        yield (
            f"{after.name} is a separate deployment with its own state: {before.name} and its {number}resources keep "
            "running, and incur costs, until they are destroyed"
        )
        return
    if state == "region":
        yield (
            f"region {before.region} -> {after.region}: Terraform finds none of the resources in the new region and "
            "creates everything again; the old resources keep running, unmanaged, and incur costs: destroy them first"
        )
    if before.backend != after.backend:
        yield (
            "the backend changes: run `terraform init -migrate-state`; otherwise Terraform finds no state and creates "
            "everything a second time"
        )
    if moved:
        yield _moved_charts(after)
    if drained := [pool.name for pool in pools if pool.action == "replaced"]:
        yield (
            f"the release {POOLS_RELEASE} is uninstalled: all nodes that Karpenter created are drained and "
            f"terminated ({some(drained, _NAMED)}), regardless of disruption budgets"
        )
    accounts = (before.provider.account_id, after.provider.account_id)
    if None not in accounts and accounts[0] != accounts[1]:
        yield f"account {accounts[0]} -> {accounts[1]}: the changes below assume one account"
    if state == "same":
        yield from _refusals(before, after, resource_changes)


def charts_move(before: ResolvedStrategy, after: ResolvedStrategy) -> bool:
    """Return whether charts that Terraform installed leave Terraform or their stack."""
    old, new = before.kubernetes, after.kubernetes
    return old.delivery == "helm" and (new.delivery != "helm" or new.stack != old.stack)


def _moved_charts(after: ResolvedStrategy) -> str:
    if after.kubernetes.delivery == "helm":
        return (
            "charts move to another stack: the old stack uninstalls their releases, and the new one installs them again"
        )
    return (
        "Terraform no longer manages the charts: it uninstalls their releases, and their objects are missing until "
        "the manifests are applied"
    )


def _refusals(
    before: ResolvedStrategy, after: ResolvedStrategy, resource_changes: tuple[ResourceChange, ...]
) -> Iterator[str]:
    """Yield changes that Terraform plans but AWS refuses or ignores.

    Source for keys: https://github.com/hashicorp/terraform-provider-aws/blob/v5.100.0/internal/service/eks/cluster.go
    (``AssociateEncryptionConfig`` only if there was no key)
    """
    cluster = next(
        (resource_change for resource_change in resource_changes if resource_change.resource.type == "aws_eks_cluster"),
        None,
    )
    if cluster is None:
        return
    if cluster.action is Action.REPLACE:
        unless = f", unless {' and '.join(cluster.unless)}" if cluster.unless else ""
        yield (
            f"the control plane is replaced{unless}: EKS does not delete a cluster with node groups, and "
            "Terraform replaces node groups, add-ons and releases only if their arguments change; destroy, "
            "then deploy"
        )
        return
    existing = [network.existing and network.existing.vpc_id for network in (before.network, after.network)]
    made = any(
        resource_change.resource.type == "aws_vpc" and resource_change.action is not Action.UPDATE
        for resource_change in resource_changes
    )
    if made or existing[0] != existing[1]:
        yield (
            "the VPC changes, but EKS cannot move a control plane to another VPC: the apply fails; destroy, then deploy"
        )
    keys = [cause for cause in cluster.causes if cause.argument == "encryption_config"]
    if any(None not in (key.before, key.after) for key in keys):
        yield (
            "secrets_encryption names another key, but EKS keeps using the current key: the apply removes the cluster "
            "role's access to the current key, or destroys that key; leave the field unchanged"
        )
    yield from _version_refusals(before.cluster.kubernetes_version, after.cluster.kubernetes_version)


def _version_refusals(before: str, after: str) -> Iterator[str]:
    """Yield version changes that EKS refuses or restricts. The Terraform provider requests any change.

    Source: https://docs.aws.amazon.com/eks/latest/userguide/update-cluster.html,
    https://docs.aws.amazon.com/eks/latest/userguide/rollback-cluster.html,
    https://docs.aws.amazon.com/eks/latest/best-practices/rollback-cluster-upgrades.html (nodes and their kubelets),
    https://github.com/hashicorp/terraform-provider-aws/blob/v5.100.0/internal/service/eks/cluster.go
    (UpdateClusterVersion)
    """
    (major, old), (_, new) = (map(int, side.split(".")) for side in (before, after))
    if new > old + 1:
        yield (
            f"Kubernetes {before} -> {after}: EKS upgrades one minor version at a time; deploy {major}.{old + 1} first"
        )
    elif new == old - 1:
        yield (
            f"Kubernetes {before} -> {after} is a rollback: EKS allows it within 7 days of the upgrade, "
            f"but not while nodes run {before}; Terraform changes nodes after the control plane: roll back nodes first"
        )
    elif new < old:
        yield f"Kubernetes {before} -> {after}: EKS rolls back at most one minor version"
