"""A real API server accepts every object of strategies, guides and examples, with strict field validation."""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from eks_hardware.adoption import load_adoption
from eks_hardware.kubernetes import karpenter_bundle
from eks_hardware.local import cluster_tools
from eks_hardware.local.cluster import Cluster, ClusterError
from eks_hardware.models import Strategy
from eks_hardware.resolve import resolve
from helpers.kubernetes.objects import Object, manifest_list, objects_in, objects_of, objects_of_bundle
from helpers.pages import NAMES, WRONG, code_blocks, page_text
from helpers.pages import STRATEGIES as STRATEGIES_ON_PAGES
from helpers.paths import ROOT, SHIPPED, SPECIAL
from helpers.strategies import resolved_of

# Kinds of programs that guides describe and that no strategy installs.
OF_OTHERS = {
    "argoproj.io",
    "eksctl.io",
    "kustomize.config.k8s.io",
    "source.toolkit.fluxcd.io",
    "helm.toolkit.fluxcd.io",
}
STRATEGIES = sorted(file.stem for folder in (SHIPPED, SPECIAL) for file in folder.glob("*.yaml"))
DEFINITIONS = {
    "karpenter-files": "crds",
    "kueue-files": "bases",
    "prometheus-operator-files": "prometheus-operator-crd",
}
STRICT = ("--validate=strict", "--server-side", "-f", "-")


OTHERS = [name for name in cluster_tools.TOOLS if name.startswith("kubernetes-")]


@pytest.fixture(scope="module")
def server(cluster: Cluster, tools: Mapping[str, Path]) -> Cluster:
    prepare(cluster, tools)
    return cluster


def prepare(cluster: Cluster, tools: Mapping[str, Path]) -> None:
    """Create the definitions of Karpenter, Kueue and the Prometheus Operator, and the namespaces of all strategies."""
    for tool, folder in DEFINITIONS.items():
        cluster.kubectl("create", "-f", str(tools[tool] / folder))
    cluster.kubectl("wait", "crd", "--all", "--for=condition=Established", "--timeout=60s")
    needed = {each["metadata"].get("namespace") for name in STRATEGIES for each in objects_of(name)}
    there = set(cluster.kubectl("get", "namespaces", "-o", "jsonpath={.items[*].metadata.name}").split())
    missing = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}} for each in needed - there - {None}
    ]
    cluster.kubectl("create", "-f", "-", stdin=manifest_list(missing))


def api_group(item: Object) -> str:
    return str(item["apiVersion"].rpartition("/")[0])


def objects_of_pages() -> Iterator[Object]:
    """Yield the manifests on pages, and the objects of their strategies."""
    for name in NAMES:
        for block in code_blocks(page_text(name), "yaml"):
            if re.search("^apiVersion:", block, re.MULTILINE):
                yield from (each for each in yaml.safe_load_all(block) if api_group(each) not in OF_OTHERS)
    for name, text in STRATEGIES_ON_PAGES:
        # A command on the page chooses the hardware of the last one.
        if name not in (*WRONG, "docs/guides/workload.md"):
            yield from objects_in(resolve(Strategy.model_validate(yaml.safe_load(text))))


def objects_of_examples() -> Iterator[Object]:
    """Yield the objects of the strategies in examples, and of pools on the clusters of others."""
    for file in sorted((ROOT / "examples").glob("*/strategies/*.yaml")):
        yield from objects_in(resolved_of(file))
    for file in sorted((ROOT / "examples" / "adopted-cluster").glob("*.yaml")):
        yield from objects_of_bundle(karpenter_bundle(load_adoption(file)), {})


def check_accepts(server: Cluster) -> None:
    """Let the server do everything except storing the objects, so strategies can have objects of the same names."""
    of_strategies = [each for name in STRATEGIES for each in objects_of(name)]
    of_pages, of_examples = list(objects_of_pages()), list(objects_of_examples())
    assert {"Job", "PersistentVolumeClaim", "Pod", "NodePool"} <= {each["kind"] for each in of_pages}
    assert {"h100", "inference"} <= {each["metadata"]["name"] for each in of_examples if each["kind"] == "NodePool"}
    objects = {json.dumps(each): each for each in (*of_strategies, *of_pages, *of_examples)}
    groups = {api_group(each) for each in objects.values()}
    assert {"karpenter.sh", "kueue.x-k8s.io", "monitoring.coreos.com"} <= groups
    assert len(objects) > 70
    said = server.kubectl("apply", *STRICT, "--dry-run=server", stdin=manifest_list([*objects.values()])).splitlines()
    assert len(said) == len(objects)


def test_objects_are_accepted(server: Cluster) -> None:
    check_accepts(server)


def test_other_versions_that_are_built_accept_them_too(tools: Mapping[str, Path], tmp_path: Path) -> None:
    built = [name for name in OTHERS if cluster_tools.kubernetes_tool(name.partition("-")[2], os.environ).name == name]
    if not built:
        pytest.skip(f"no other Kubernetes is built; build one with make cluster-tools TOOLS={OTHERS[-1]}")
    for name in built:
        with Cluster(tmp_path / name, programs={**tools, **cluster_tools.paths(name)}) as other:
            assert json.loads(other.kubectl("version", "-o", "json"))["serverVersion"]["minor"] in name
            prepare(other, tools)
            check_accepts(other)


def one_of_each_kind() -> Iterator[Object]:
    found: dict[tuple[str, str], Object] = {}
    for name in STRATEGIES:
        for each in objects_of(name):
            found.setdefault((each["apiVersion"], each["kind"]), each)
    yield from found.values()


def test_a_field_that_does_not_exist_is_refused_in_each_kind(server: Cluster) -> None:
    broken = [copy.deepcopy(each) for each in one_of_each_kind()]
    for each in broken:
        (each.get("spec") or each)["unknownField"] = 1
    with pytest.raises(ClusterError) as refused:
        server.kubectl("apply", *STRICT, "--dry-run=server", stdin=manifest_list(broken))
    assert len(broken) > 10
    assert str(refused.value).count("unknownField") == len(broken), refused.value


def test_rules_of_karpenter_are_applied(server: Cluster) -> None:
    """The definitions have rules that a schema cannot express."""
    pool = next(each for each in one_of_each_kind() if each["kind"] == "NodePool")
    broken = copy.deepcopy(pool)
    broken["spec"]["template"]["spec"]["requirements"][0] |= {"operator": "In", "values": []}
    with pytest.raises(ClusterError, match="must have a value defined"):
        server.kubectl("apply", *STRICT, "--dry-run=server", stdin=json.dumps(broken))
