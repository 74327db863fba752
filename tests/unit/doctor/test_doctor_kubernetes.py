"""Kubernetes and add-on versions in EKS's format, and the cluster's name."""

from __future__ import annotations

from typing import Any

import pytest

from eks_hardware.doctor import kubernetes
from helpers.doctor import RefusedError, answering, date, look
from helpers.findings import codes
from helpers.sections import cluster

NO_CLUSTER = RefusedError("ResourceNotFoundException")
VERSIONS: dict[str, Any] = {
    "clusterVersions": [
        {"clusterVersion": "1.36", "versionStatus": "STANDARD_SUPPORT"},
        {"clusterVersion": "1.35", "versionStatus": "STANDARD_SUPPORT"},
        {
            "clusterVersion": "1.33",
            "versionStatus": "EXTENDED_SUPPORT",
            "endOfStandardSupportDate": date("2026-07-29"),
        },
        {"clusterVersion": "1.32", "versionStatus": "UNSUPPORTED"},
    ]
}


def addon_versions(params: dict[str, Any]) -> dict[str, Any]:
    versions = [{"addonVersion": "v1.20.1-eksbuild.2"}, {"addonVersion": "v1.20.1-eksbuild.1"}]
    return {"addons": [{"addonName": params["addonName"], "addonVersions": versions}]}


def account_with_versions(**answers: Any) -> Any:
    usual: dict[str, Any] = {
        "eks:DescribeClusterVersions": VERSIONS,
        "eks:DescribeAddonVersions": addon_versions,
        "eks:DescribeCluster": NO_CLUSTER,
    }
    return answering({**usual, **{f"eks:{name}": answer for name, answer in answers.items()}})


def test_all_offered() -> None:
    assert (
        codes(
            look(
                kubernetes, account_with_versions(), **cluster(addons={"vpc-cni": {"version": "v1.20.1-eksbuild.1"}})
            ).findings
        )
        == []
    )


@pytest.mark.parametrize("listed", [VERSIONS["clusterVersions"][:1], [{**VERSIONS["clusterVersions"][3]}]])
def test_version_that_is_not_offered(listed: list[dict[str, Any]]) -> None:
    versions = [{**each, "clusterVersion": "1.35" if "UNS" in each["versionStatus"] else "1.36"} for each in listed]
    outcome = look(kubernetes, account_with_versions(DescribeClusterVersions={"clusterVersions": versions}))
    assert codes(outcome.findings) == [("KUBERNETES_NOT_OFFERED", "cluster.kubernetes_version")]
    assert outcome.findings[0].command.startswith("aws eks describe-cluster-versions ")


def test_extended_support() -> None:
    old = [{**VERSIONS["clusterVersions"][2], "clusterVersion": "1.35"}, VERSIONS["clusterVersions"][0]]
    outcome = look(kubernetes, account_with_versions(DescribeClusterVersions={"clusterVersions": old}))
    assert codes(outcome.findings) == [("KUBERNETES_EXTENDED", "cluster.kubernetes_version")]
    assert "Kubernetes 1.35 has been in extended support since 2026-07-29, " in outcome.findings[0].message
    assert "1.36" in outcome.findings[0].message


def test_addon_version() -> None:
    pinned = cluster(addons={"vpc-cni": {"version": "v1.99.0-eksbuild.1"}})
    outcome = look(kubernetes, account_with_versions(), **pinned)
    assert codes(outcome.findings) == [("ADDON_VERSION_NOT_OFFERED", "cluster.addons.vpc-cni.version")]
    assert "v1.20.1-eksbuild.2" in outcome.findings[0].message
    assert "--addon-name vpc-cni --kubernetes-version 1.35" in outcome.findings[0].command


def test_addon_that_is_not_offered() -> None:
    def without(params: dict[str, Any]) -> dict[str, Any]:
        return {"addons": []} if params["addonName"] == "coredns" else addon_versions(params)

    outcome = look(kubernetes, account_with_versions(DescribeAddonVersions=without))
    assert codes(outcome.findings) == [("ADDON_NOT_OFFERED", "cluster.addons.coredns")]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [({}, [("CLUSTER_EXISTS", "name")]), ({"eks-hardware/strategy": "demo"}, [])],
)
def test_cluster_of_the_name(tags: dict[str, str], expected: list[tuple[str, str]]) -> None:
    there = {"cluster": {"name": "demo", "tags": tags}}
    assert codes(look(kubernetes, account_with_versions(DescribeCluster=there)).findings) == expected


def test_denied() -> None:
    outcome = look(kubernetes, answering({}, otherwise=RefusedError("AccessDeniedException")))
    assert {code for code, _ in codes(outcome.findings)} == {"CHECK_DENIED"}
    assert all(any(call in each.message for each in outcome.findings) for call in kubernetes.CALLS)
