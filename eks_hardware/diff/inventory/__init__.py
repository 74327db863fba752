"""Every resource that Terraform holds for a strategy, worked out without Terraform and Node.

It mirrors what ``constructs`` defines: the same addresses, and of the arguments those that a strategy can change.
tests/synth/test_inventory.py holds it against the synthesized stacks.
"""

from __future__ import annotations

from eks_hardware.diff.inventory.cluster import add_cluster
from eks_hardware.diff.inventory.iam import add_role
from eks_hardware.diff.inventory.karpenter import add_karpenter, add_service_role
from eks_hardware.diff.inventory.network import add_network
from eks_hardware.diff.inventory.nodes import add_efa_group, add_node_group
from eks_hardware.diff.inventory.releases import add_releases
from eks_hardware.diff.inventory.resource import TAGS, Inventory, Reference, Resource, references_in
from eks_hardware.diff.inventory.storage import add_efs, add_lustre
from eks_hardware.iam_policies.document import assumed_by_service
from eks_hardware.kubernetes import Bundle
from eks_hardware.resolve import ResolvedStrategy

__all__ = ["TAGS", "Reference", "Resource", "references_in", "resources"]


def resources(resolved: ResolvedStrategy, bundle: Bundle) -> tuple[Resource, ...]:
    """The resources of a strategy's stack, and of the stack of its charts where it has one.

    Args:
        resolved: the strategy.
        bundle: what is installed on its cluster.
    """
    provider = resolved.provider
    inventory = Inventory(provider.default_tags)
    network = add_network(inventory, resolved.network, provider)
    cluster = add_cluster(inventory, resolved.cluster, network, provider)
    role = add_role(
        inventory,
        ("platform", "node-role"),
        "node_groups",
        name=resolved.node_role_name,
        provider=provider,
        trust=assumed_by_service("ec2.amazonaws.com"),
        policy_arns=resolved.node_policy_arns,
        description=resolved.name,
    )
    efa_name = resolved.efa_security_group_name
    efa = add_efa_group(inventory, efa_name, network) if efa_name else None
    for group in resolved.node_groups:
        add_node_group(inventory, group, cluster=cluster, network=network, role=role, efa_group=efa)
    if resolved.karpenter:
        add_karpenter(inventory, resolved, resolved.karpenter, cluster)
    for service_role in resolved.kubernetes.service_roles:
        add_service_role(inventory, service_role, cluster, provider)
    if resolved.storage.fsx_lustre:
        add_lustre(inventory, resolved.storage.fsx_lustre, network, cluster)
    if resolved.storage.efs:
        add_efs(inventory, resolved.storage.efs, network, cluster)
    if resolved.kubernetes.delivery != "helm":
        return tuple(inventory.resources)
    same_stack = resolved.kubernetes.stack == "same"
    charts = inventory if same_stack else Inventory({}, "kubernetes")
    add_releases(charts, bundle, network, same_stack=same_stack)
    return (*inventory.resources, *(() if same_stack else charts.resources))
