"""What a reader has to know beside what changes: what AWS refuses, what goes unseen, what is left behind."""

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
"""Pools that a note names."""


def notes(
    before: ResolvedStrategy,
    after: ResolvedStrategy,
    state: State,
    found: tuple[ResourceChange, ...],
    pools: tuple[PoolChange, ...],
    *,
    had: int | None,
    moved: bool,
) -> Iterator[str]:
    """What a reader has to know beside the changes, the most important first.

    ``had`` is how many resources the old strategy has (None where nobody knows), ``moved`` whether it has charts in
    Terraform that leave their stack.
    """
    if state == "separate":
        number = "" if had is None else f"{had} "
        yield (
            f"{after.name} is another deployment with a state of its own: {before.name} keeps running with its "
            f"{number}resources, and is paid for, until it is destroyed"
        )
        return
    if state == "region":
        yield (
            f"region {before.region} -> {after.region}: Terraform finds nothing of the state in the new region and "
            "makes everything anew; what there is keeps running there, unmanaged, and is paid for: destroy it before"
        )
    if before.backend != after.backend:
        yield (
            "the state moves: without `terraform init -migrate-state` Terraform finds none and makes everything a "
            "second time"
        )
    if moved:
        yield _moved_charts(after)
    if drained := [each.name for each in pools if each.action == "replaced"]:
        yield (
            f"the release {POOLS_RELEASE} is uninstalled: every node that Karpenter made drains and goes "
            f"({some(drained, _NAMED)}), whatever the disruption budgets say"
        )
    accounts = (before.provider.account_id, after.provider.account_id)
    if None not in accounts and accounts[0] != accounts[1]:
        yield f"account {accounts[0]} -> {accounts[1]}: what is below holds within one account"
    if state == "same":
        yield from _refusals(before, after, found)


def charts_move(before: ResolvedStrategy, after: ResolvedStrategy) -> bool:
    """Whether charts that Terraform installed leave it, or their stack."""
    old, new = before.kubernetes, after.kubernetes
    return old.delivery == "helm" and (new.delivery != "helm" or new.stack != old.stack)


def _moved_charts(after: ResolvedStrategy) -> str:
    if after.kubernetes.delivery == "helm":
        return "charts change stacks: the releases of one stack are uninstalled, and installed again by the other"
    return (
        "charts leave Terraform: their releases are uninstalled, and what they installed is gone until the manifests "
        "are applied"
    )


def _refusals(before: ResolvedStrategy, after: ResolvedStrategy, found: tuple[ResourceChange, ...]) -> Iterator[str]:
    """What Terraform plans and AWS refuses, or passes over.

    Source for keys: https://github.com/hashicorp/terraform-provider-aws/blob/v5.100.0/internal/service/eks/cluster.go
    (``AssociateEncryptionConfig`` only where there was no key)
    """
    cluster = next((each for each in found if each.resource.type == "aws_eks_cluster"), None)
    if cluster is None:
        return
    if cluster.action is Action.REPLACE:
        unless = f", unless {' and '.join(cluster.unless)}" if cluster.unless else ""
        yield (
            f"the control plane is replaced{unless}: EKS deletes none that still has node groups, and Terraform "
            "replaces them, the add-ons and the releases on it only where an argument of theirs changes: destroy, "
            "then deploy"
        )
        return
    existing = [network.existing and network.existing.vpc_id for network in (before.network, after.network)]
    made = any(each.resource.type == "aws_vpc" and each.action is not Action.UPDATE for each in found)
    if made or existing[0] != existing[1]:
        yield (
            "the VPC is another one, and EKS does not move a control plane to that: the apply fails; destroy, then "
            "deploy"
        )
    keys = [cause for cause in cluster.causes if cause.argument == "encryption_config"]
    if any(None not in (each.before, each.after) for each in keys):
        yield (
            "secrets_encryption names another key, and EKS keeps the one it has: with the apply its role loses the use "
            "of that key, which is still needed, as it is where the plan destroys it; leave the key as it is"
        )
    yield from _version_refusals(before.cluster.kubernetes_version, after.cluster.kubernetes_version)


def _version_refusals(before: str, after: str) -> Iterator[str]:
    """Versions that EKS does not change to, or only under conditions; the provider asks for any.

    Source: https://docs.aws.amazon.com/eks/latest/userguide/update-cluster.html,
    https://docs.aws.amazon.com/eks/latest/userguide/rollback-cluster.html,
    https://docs.aws.amazon.com/eks/latest/best-practices/rollback-cluster-upgrades.html (nodes and their kubelets),
    https://github.com/hashicorp/terraform-provider-aws/blob/v5.100.0/internal/service/eks/cluster.go
    (UpdateClusterVersion)
    """
    (major, old), (_, new) = (map(int, each.split(".")) for each in (before, after))
    if new > old + 1:
        yield (
            f"Kubernetes {before} -> {after}: EKS upgrades one minor at a time and refuses a jump: "
            f"deploy {major}.{old + 1} first"
        )
    elif new == old - 1:
        yield (
            f"Kubernetes {before} -> {after} is a rollback: EKS takes it within 7 days of the upgrade from {after}, "
            f"and not while nodes run {before}; Terraform changes them after the control plane: roll nodes back before"
        )
    elif new < old:
        yield f"Kubernetes {before} -> {after}: EKS rolls back one minor at the most, and refuses more"
