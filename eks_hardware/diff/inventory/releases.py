"""What ``constructs/kubernetes`` makes: a Helm release each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from eks_hardware.diff.inventory.network import NetworkIds
from eks_hardware.diff.inventory.resource import Inventory
from eks_hardware.diff.inventory.resource import Reference as Attribute
from eks_hardware.diff.inventory.storage import EFS, LUSTRE
from eks_hardware.kubernetes import Bundle, ChartRelease, Reference
from eks_hardware.kubernetes.local_chart import CHART_VERSION, chart_values
from eks_hardware.kubernetes.references import references_in


def add_releases(inventory: Inventory, bundle: Bundle, network: NetworkIds, *, same_stack: bool) -> None:
    """Add every release of a bundle.

    In a stack of its own a release refers to outputs of the first stack, which a plan of that stack does not change.
    """
    attributes = {
        Reference.VPC_ID: network.vpc,
        Reference.FSX_ID: Attribute(LUSTRE),
        Reference.FSX_DNS_NAME: Attribute(LUSTRE, "dns_name"),
        Reference.FSX_MOUNT_NAME: Attribute(LUSTRE, "mount_name"),
        Reference.EFS_ID: Attribute(EFS),
    }
    for release in bundle.releases:
        if isinstance(release, ChartRelease):
            values: Mapping[str, Any] = release.values
            chart = {"chart": release.chart, "repository": release.repository, "version": release.version}
            owner = f"kubernetes.charts.{release.key}"
        else:
            values = chart_values(release.objects)
            chart = {"chart": "eks-hardware", "version": CHART_VERSION}
            owner = f"kubernetes.{release.name}"
        text = json.dumps(values, default=dict)
        used = tuple(attributes[each] for each in references_in(text) if same_stack and each in attributes)
        arguments = {
            "name": release.name,
            "namespace": release.namespace,
            "values": (text, *used),
            "timeout": release.timeout_seconds,
            **chart,
        }
        inventory.add("helm_release", ("kubernetes", release.name), owner, arguments, name=release.name)
