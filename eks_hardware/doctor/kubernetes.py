"""Check: EKS offers the Kubernetes version and the add-on versions, and the cluster name is free."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from functools import partial
from typing import Any

from eks_hardware.aws_names import STRATEGY_TAG
from eks_hardware.doctor.aws import Aws
from eks_hardware.doctor.model import Diagnosis, Probe, Subject
from eks_hardware.resolve import ResolvedAddon

NAME = "kubernetes"
CALLS: tuple[str, ...] = ("eks:DescribeAddonVersions", "eks:DescribeCluster", "eks:DescribeClusterVersions")

_SHOWN_VERSIONS = 5


def probes(subject: Subject) -> Iterator[Probe]:
    """Yield probes for the version, each add-on, and the cluster's name."""
    cluster = subject.resolved.cluster
    about = f"whether Kubernetes {cluster.kubernetes_version} is offered"
    yield Probe("cluster.kubernetes_version", about, partial(_version, subject))
    for addon in cluster.addons:
        path = f"cluster.addons.{addon.name}"
        yield Probe(path, f"versions of {addon.name}", partial(_addon, subject, addon, path))
    yield Probe("name", f"whether a cluster {cluster.name} exists", partial(_cluster, subject))


def _version(subject: Subject, aws: Aws) -> Iterator[Diagnosis]:
    path, version = "cluster.kubernetes_version", subject.resolved.cluster.kubernetes_version
    command = subject.command(
        "eks", "describe-cluster-versions", query="clusterVersions[].[clusterVersion,versionStatus]"
    )
    versions: dict[str, Any] = {
        page["clusterVersion"]: page for page in aws.pages("eks", "describe_cluster_versions", "clusterVersions")
    }
    offered = sorted(
        (name for name, each in versions.items() if _status(each) != "UNSUPPORTED"), key=lambda name: name.split(".")
    )
    if version not in offered:
        yield subject.error(
            "KUBERNETES_NOT_OFFERED",
            path,
            f"EKS does not offer Kubernetes {version} in {subject.resolved.region}; choose one of {', '.join(offered)}",
            command,
        )
    elif _status(versions[version]) == "EXTENDED_SUPPORT":
        ended = versions[version].get("endOfStandardSupportDate")
        support = "is in extended support"
        if isinstance(ended, datetime.datetime):
            support = f"has been in extended support since {ended:%Y-%m-%d}"
        standard = [name for name in offered if _status(versions[name]) == "STANDARD_SUPPORT"]
        yield subject.warning(
            "KUBERNETES_EXTENDED",
            path,
            f"Kubernetes {version} {support}, at a higher price; versions in standard support: "
            f"{', '.join(standard) or 'none'}",
            command,
        )


def _status(version: dict[str, Any]) -> str:
    status: str = version.get("versionStatus") or version.get("status") or ""
    return status.upper().replace("-", "_")


def _addon(subject: Subject, addon: ResolvedAddon, path: str, aws: Aws) -> Iterator[Diagnosis]:
    version = subject.resolved.cluster.kubernetes_version
    versions = aws.pages("eks", "describe_addon_versions", "addons", addonName=addon.name, kubernetesVersion=version)
    offered = [addon_version["addonVersion"] for one in versions for addon_version in one.get("addonVersions", ())]
    query = "addons[].addonVersions[].addonVersion"
    command = subject.command(
        "eks", "describe-addon-versions", addon_name=addon.name, kubernetes_version=version, query=query
    )
    if not offered:
        yield subject.error(
            "ADDON_NOT_OFFERED",
            path,
            f"EKS does not offer {addon.name} for Kubernetes {version} in {subject.resolved.region}; set enabled: "
            "false, or choose another Kubernetes version",
            command,
        )
    elif addon.version and addon.version not in offered:
        yield subject.error(
            "ADDON_VERSION_NOT_OFFERED",
            f"{path}.version",
            f"{addon.name} has no version {addon.version} for Kubernetes {version}; choose one of "
            f"{', '.join(offered[:_SHOWN_VERSIONS])}",
            command,
        )


def _cluster(subject: Subject, aws: Aws) -> Iterator[Diagnosis]:
    name = subject.resolved.name
    answer = aws.found(("ResourceNotFoundException",), "eks", "describe_cluster", name=name)
    # Terraform's default tags include the strategy's name, so this strategy's own cluster has this tag.
    if answer and answer["cluster"].get("tags", {}).get(STRATEGY_TAG) != name:
        cluster = answer["cluster"]
        yield subject.warning(
            "CLUSTER_EXISTS",
            "name",
            f"{subject.resolved.region} already has a cluster {name} ({cluster.get('status', 'status unknown')}, "
            f"Kubernetes {cluster.get('version', 'unknown')}) that this strategy did not create (it has no tag "
            f"{STRATEGY_TAG}={name}); choose another name",
            subject.command("eks", "describe-cluster", name=name),
        )
