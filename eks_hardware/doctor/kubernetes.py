"""Check: EKS still offers the Kubernetes version and the add-on versions, and has no other cluster of the name."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

from eks_hardware.doctor.aws import Aws, CallError
from eks_hardware.doctor.aws_cli import aws_command
from eks_hardware.doctor.model import Diagnosis, Probe, Subject
from eks_hardware.resolve import ResolvedAddon

NAME = "kubernetes"
CALLS: tuple[str, ...] = ("eks:DescribeAddonVersions", "eks:DescribeCluster", "eks:DescribeClusterVersions")

STRATEGY_TAG = "eks-hardware/strategy"
_SHOWN_VERSIONS = 5


def probes(subject: Subject) -> Iterator[Probe]:
    """The version, each add-on, and the cluster's name."""
    cluster = subject.resolved.cluster
    version = cluster.kubernetes_version
    yield Probe(
        "cluster.kubernetes_version", f"whether Kubernetes {version} is offered", lambda aws: _version(subject, aws)
    )
    for addon in cluster.addons:
        yield _of_addon(subject, addon)
    yield Probe("name", f"whether there is a cluster {cluster.name}", lambda aws: _cluster(subject, aws))


def _version(subject: Subject, aws: Aws) -> Iterator[Diagnosis]:
    cluster = subject.resolved.cluster
    path, region = "cluster.kubernetes_version", subject.resolved.region
    command = aws_command(
        "eks", "describe-cluster-versions", query="clusterVersions[].[clusterVersion,versionStatus]", region=region
    )
    versions: dict[str, Any] = {
        each["clusterVersion"]: each for each in aws.pages("eks", "describe_cluster_versions", "clusterVersions")
    }
    found = versions.get(cluster.kubernetes_version)
    offered = sorted(
        (name for name, each in versions.items() if _status(each) != "UNSUPPORTED"), key=lambda name: name.split(".")
    )
    if found is None or _status(found) == "UNSUPPORTED":
        yield subject.error(
            "KUBERNETES_NOT_OFFERED",
            path,
            f"EKS does not offer Kubernetes {cluster.kubernetes_version} in {region}; it offers {', '.join(offered)}",
            command,
        )
    elif _status(found) == "EXTENDED_SUPPORT":
        ended = found.get("endOfStandardSupportDate")
        since = f" since {ended:%Y-%m-%d}" if isinstance(ended, datetime.datetime) else ""
        standard = [name for name in offered if _status(versions[name]) == "STANDARD_SUPPORT"]
        yield subject.warning(
            "KUBERNETES_EXTENDED",
            path,
            f"Kubernetes {cluster.kubernetes_version} is in extended support{since}, which costs more; versions in "
            f"standard support: {', '.join(standard) or 'none'}",
            command,
        )


def _status(version: dict[str, Any]) -> str:
    status: str = version.get("versionStatus") or version.get("status") or ""
    return status.upper().replace("-", "_")


def _of_addon(subject: Subject, addon: ResolvedAddon) -> Probe:
    version = subject.resolved.cluster.kubernetes_version
    path = f"cluster.addons.{addon.name}"

    def ask(aws: Aws) -> Iterator[Diagnosis]:
        found = aws.pages("eks", "describe_addon_versions", "addons", addonName=addon.name, kubernetesVersion=version)
        offered = [each["addonVersion"] for one in found for each in one.get("addonVersions", ())]
        command = aws_command(
            "eks",
            "describe-addon-versions",
            addon_name=addon.name,
            kubernetes_version=version,
            query="addons[].addonVersions[].addonVersion",
            region=subject.resolved.region,
        )
        if not offered:
            yield subject.error(
                "ADDON_NOT_OFFERED",
                path,
                f"EKS has no {addon.name} for Kubernetes {version} in {subject.resolved.region}; set enabled: false, "
                "or take another Kubernetes version",
                command,
            )
        elif addon.version and addon.version not in offered:
            yield subject.error(
                "ADDON_VERSION_NOT_OFFERED",
                f"{path}.version",
                f"{addon.version} is no version of {addon.name} for Kubernetes {version}; there are "
                f"{', '.join(offered[:_SHOWN_VERSIONS])}",
                command,
            )

    return Probe(path, f"versions of {addon.name}", ask)


def _cluster(subject: Subject, aws: Aws) -> Iterator[Diagnosis]:
    name, region = subject.resolved.name, subject.resolved.region
    try:
        found = aws.call("eks", "describe_cluster", name=name)["cluster"]
    except CallError as error:
        if error.code == "ResourceNotFoundException":
            return
        raise
    # Terraform's default tags: a cluster of this strategy has its name.
    if found.get("tags", {}).get(STRATEGY_TAG) != name:
        yield subject.warning(
            "CLUSTER_EXISTS",
            "name",
            f"{region} has a cluster {name} already ({found.get('status', 'status unknown')}, Kubernetes "
            f"{found.get('version', 'unknown')}) without the tag {STRATEGY_TAG}={name}: this strategy did not make it, "
            "and cannot make another of that name; choose another name",
            aws_command("eks", "describe-cluster", name=name, region=region),
        )
