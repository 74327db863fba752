"""The demo's reports about the deployed cluster and its manifests."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from eks_hardware.kubernetes.files.summary import Summary, summary_table
from eks_hardware.local.readback import ClusterFacts
from eks_hardware.printable import counted
from eks_hardware.spellings import capacity_of_eks


def describe(cluster: ClusterFacts) -> list[object]:
    """Return a short report of a cluster, 80 columns wide."""
    title = Text.assemble((cluster.name, "bold"), f"  EKS {cluster.kubernetes_version}, {cluster.region}")
    groups = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold underline")
    for name in ("Node group", "Instance types", "Capacity", "AMI type"):
        groups.add_column(name, overflow="fold")
    for name in ("Nodes", "EFA"):
        groups.add_column(name, justify="right", no_wrap=True)
    for group in cluster.node_groups:
        groups.add_row(
            group.name,
            "\n".join(group.instance_types),
            capacity_of_eks(group.capacity_type),
            group.ami_type,
            f"{group.min_size}-{group.max_size}",
            str(group.efa_interfaces) if group.efa_interfaces else "-",
        )
    facts = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    facts.add_column(style="bold", no_wrap=True)
    facts.add_column(overflow="fold")
    fed = f", with {counted(len(cluster.rules), 'event rule')}" if cluster.rules else ""
    rows = {
        "Zones": f"{', '.join(cluster.zones)} ({counted(cluster.subnets, 'subnet')})",
        "Add-ons": ", ".join(cluster.addons),
        "Access entries": "\n".join(cluster.access_entries),
        "Pod identities": "\n".join(f"{who} as {role}" for who, role in cluster.pod_identities.items()),
        "Karpenter queue": ", ".join(cluster.queues) + fed,
        "Karpenter roles": "\n".join(role for role in cluster.roles if "karpenter" in role.lower()),
    }
    for name, value in rows.items():
        facts.add_row(name, value or "-")
    return [title, "", groups, "", facts] if cluster.node_groups else [title, "", facts]


def describe_manifests(summary: Summary) -> list[Any]:
    """Return a short report of the manifests for the cluster, 80 columns wide."""
    title = Text.assemble(("Kubernetes", "bold"), "  written, not applied")
    parts = [title, "", summary_table(summary)] if summary.releases else [title]
    if summary.fill_in:
        parts += ["", Text(f"Placeholders to fill in from the stack's outputs: {', '.join(summary.fill_in)}")]
    return parts
