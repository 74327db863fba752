"""Node pools for a cluster that another team owns: errors and derived values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from eks_hardware.adoption import SCHEMA_PATH, Adoption, load_adoption
from eks_hardware.findings import StrategyError
from eks_hardware.kubernetes import karpenter_bundle
from eks_hardware.models import Strategy, json_schema
from eks_hardware.resolve import resolve
from eks_hardware.rules import check_part
from helpers.adoption import NETWORK, SUBNETS, adoption, adoption_document
from helpers.cases import in_one_test
from helpers.paths import ROOT
from helpers.strategies import TODAY, document, gpu_pool, pool, strategy

CPU = pool("cpu", instance_families=["m7i"])
GPU = gpu_pool("gpu", instance_families=["g6"])

# pools, other fields, code and path of the finding
REFUSED: dict[str, tuple[list[dict[str, Any]], dict[str, Any], str, str]] = {
    "an unknown type": (
        [gpu_pool("gpu", instance_types=["g6.3xlarge"])],
        {},
        "INSTANCE_TYPE_UNKNOWN",
        "karpenter.node_pools[gpu].instance_types[0]",
    ),
    "EFA that a type has not": (
        [gpu_pool("gpu", instance_types=["g6.xlarge"], efa=True)],
        {},
        "EFA_UNSUPPORTED",
        "karpenter.node_pools[gpu].instance_types[0]",
    ),
    "a limit for another accelerator": (
        [gpu_pool("inf", accelerator="inferentia2")],
        {},
        "POOL_LIMIT_FOREIGN",
        "karpenter.node_pools[inf].limits[nvidia.com/gpu]",
    ),
    "a zone without a subnet": (
        [{**CPU, "zones": ["usw2-az3"]}],
        {},
        "ZONE_NOT_IN_NETWORK",
        "karpenter.node_pools[cpu].zones",
    ),
    "a zone of another region": (
        [CPU],
        {"network": {"existing": {**NETWORK["existing"], "private_subnets": {"use1-az1": SUBNETS["usw2-az1"]}}}},
        "POOL_NO_ZONE",
        "karpenter.node_pools[cpu].instance_families",
    ),
    "a subnet for two zones": (
        [CPU],
        {
            "network": {
                "existing": {**NETWORK["existing"], "private_subnets": dict.fromkeys(SUBNETS, "subnet-0aaaaaaaa")}
            }
        },
        "SUBNET_TWICE",
        "network.existing.private_subnets.usw2-az2",
    ),
    "an unknown region": ([CPU], {"region": "us-west-9"}, "REGION_UNKNOWN", "region"),
    "a version that EKS has not": (
        [CPU],
        {"cluster": {"kubernetes_version": "1.99"}},
        "KARPENTER_VERSION_KUBERNETES",
        "cluster.kubernetes_version",
    ),
    "an image that is bad": (
        [GPU],
        {"karpenter": {"ami_versions": {"al2023": "v20269999"}}},
        "POOL_AMI_FORMAT",
        "karpenter.ami_versions.al2023",
    ),
    "hardware without a choice": (
        [
            {
                "name": "llm",
                "workload": {"task": "inference", "model": {"parameters": "8B"}},
                "limits": {"nvidia.com/gpu": 8},
            }
        ],
        {},
        "WORKLOAD_UNCHOSEN",
        "karpenter.node_pools[llm].workload",
    ),
    "a field that the Karpenter there does not know": (
        [gpu_pool("h100", instance_types=["p5.48xlarge"], efa=True, limits={"nvidia.com/gpu": 16})],
        {"kubernetes": {"charts": {"karpenter": {"version": "1.10.0"}}}},
        "KARPENTER_VERSION_FEATURE",
        "kubernetes.charts.karpenter.version",
    ),
    "chart values that the chart does not know": (
        [CPU],
        {"kubernetes": {"charts": {"karpenter": {"values": {"replica": 2}}}}},
        "CHART_VALUE_UNKNOWN",
        "kubernetes.charts.karpenter.values.replica",
    ),
}


@in_one_test(("pools", "fields", "code", "path"), REFUSED.values(), ids=REFUSED)
def test_what_rules_refuse_is_refused(
    pools: list[dict[str, Any]], fields: dict[str, Any], code: str, path: str
) -> None:
    with pytest.raises(StrategyError) as caught:
        adoption(*pools, **fields)
    assert (code, path) in [(each.code, each.path) for each in caught.value.errors]
    assert isinstance(caught.value, ValueError)
    assert code in str(caught.value)


@in_one_test("pools", [[CPU], [GPU], [CPU, GPU]], ids=["cpu", "gpu", "both"])
def test_nothing_is_reported_about_what_is_unknown(pools: list[dict[str, Any]]) -> None:
    """No node groups, and one zone for the control plane: these belong to the other team."""
    one_zone = {"existing": {**NETWORK["existing"], "private_subnets": {"usw2-az1": SUBNETS["usw2-az1"]}}}
    assert adoption(*pools, network=one_zone).warnings == ()


@in_one_test(
    ("fields", "code", "path"),
    [
        ({"kubernetes": {"charts": {"kueue": {}}}}, "CHART_NOT_INSTALLED", "kubernetes.charts.kueue"),
        (
            {"kubernetes": {"charts": {"neuron-helm-chart": {}}}},
            "CHART_NOT_INSTALLED",
            "kubernetes.charts.neuron-helm-chart",
        ),
        (
            {"karpenter": {"ami_versions": {"bottlerocket": "v1.67.0"}}},
            "FIELD_NO_EFFECT",
            "karpenter.ami_versions.bottlerocket",
        ),
    ],
    ids=["a chart of the other team", "a plugin for other hardware", "a release for no pool"],
)
def test_what_the_pools_do_not_use_is_reported(fields: dict[str, Any], code: str, path: str) -> None:
    (warning,) = adoption(GPU, **fields).warnings
    assert (warning.code, warning.path) == (code, path)
    assert "set " not in warning.message


def test_a_warning_stops_nothing_and_can_be_ignored() -> None:
    karpenter = {"ami_versions": {"al2023": "latest"}}
    (warning,) = adoption(GPU, karpenter=karpenter).warnings
    assert (warning.code, warning.path) == ("POOL_AMI_LATEST", "karpenter.ami_versions.al2023")
    ignored = [{"code": "POOL_AMI_LATEST", "path": "karpenter.ami_versions.al2023", "reason": "a test cluster"}]
    assert adoption(GPU, karpenter=karpenter, ignore=ignored).warnings == ()


def test_a_finding_has_its_line(tmp_path: Path) -> None:
    file = tmp_path / "pools.yaml"
    with file.open("w") as out:
        yaml.safe_dump(adoption_document(gpu_pool("gpu", instance_types=["g6.xlarge"], efa=True)), out, sort_keys=False)
    with pytest.raises(StrategyError) as caught:
        load_adoption(file, today=TODAY)
    (finding,) = caught.value.errors
    assert finding.position is not None
    assert "g6.xlarge" in file.read_text().splitlines()[finding.position.line - 1]


def test_a_misspelt_field_has_its_line(tmp_path: Path) -> None:
    file = tmp_path / "pools.yaml"
    with file.open("w") as out:
        yaml.safe_dump({**adoption_document(CPU), "node_groups": []}, out, sort_keys=False)
    with pytest.raises(StrategyError) as caught:
        load_adoption(file)
    assert [(each.code, each.path) for each in caught.value.findings] == [("FIELD_UNKNOWN", "node_groups")]


def test_pools_are_those_of_a_strategy_in_the_same_network() -> None:
    """A pool can move from one file to the other unchanged."""
    pools = [CPU, GPU, gpu_pool("h100", instance_types=["p5.48xlarge"], efa=True, limits={"nvidia.com/gpu": 16})]
    whole = Strategy.model_validate(document(name="shared", network=NETWORK, karpenter={"node_pools": pools}))
    expected = resolve(whole)
    found = adoption(*pools)
    assert found.node_pools == expected.node_pools
    assert found.karpenter == expected.karpenter
    assert found.efa_security_group_name == expected.efa_security_group_name
    assert found.provider == expected.provider
    assert (found.name, found.region, found.vpc_id) == ("shared", "us-west-2", "vpc-0123456789abcdef0")


def test_where_pods_have_subnets_of_their_own_a_node_has_an_interface_less_for_them() -> None:
    of_pods = {"usw2-az1": "subnet-0aaaaaaaaaaaaaaa8", "usw2-az2": "subnet-0aaaaaaaaaaaaaaa9"}
    small = pool("cpu", instance_types=["t3.small"])
    (with_subnets,) = adoption(small, network={"existing": {**NETWORK["existing"], "pod_subnets": of_pods}}).node_pools
    (without,) = adoption(small).node_pools
    assert with_subnets.kubelet["maxPods"] < without.kubelet["maxPods"]


def test_a_part_is_judged_without_what_is_missing() -> None:
    """Missing nodes are reported only if they are known to be missing."""
    alone = strategy(karpenter={"node_pools": [CPU]}).model_copy(update={"node_groups": ()})
    codes = {each.code for each in check_part(alone, lists=frozenset(), today=TODAY)}
    assert "NODES_ALL_TAINTED" in codes
    assert check_part(alone, lists=frozenset({"node_groups"}), today=TODAY) == []


def test_what_a_cluster_lacks_is_made_up_for() -> None:
    """A CNI without its own role, and one without prefixes, as in the guide."""
    cni = "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"
    found = adoption({**CPU, "kubelet": {"max_pods": 29}}, karpenter={"node_policies": [cni]})
    assert cni in found.karpenter.node_policy_arns
    assert found.node_pools[0].kubelet["maxPods"] == 29
    assert found.warnings == ()


# --- several adoptions of one cluster


def test_a_suffix_is_in_the_names_that_would_collide() -> None:
    efa = gpu_pool("h100", instance_types=["p5.48xlarge"], efa=True, limits={"nvidia.com/gpu": 16})
    adopted = adoption(efa, CPU, suffix="research")
    assert adopted.efa_security_group_name == "shared-efa-research"
    assert [each.efa_security_group_name for each in adopted.node_pools] == ["shared-efa-research", None]
    bundle = karpenter_bundle(adopted, controller=False, with_device_plugins=False)
    assert bundle.names == ("karpenter-resources-research",)
    classes = {each["metadata"]["name"]: each["spec"] for each in bundle.objects if each["kind"] == "EC2NodeClass"}
    assert {"name": "shared-efa-research"} in classes["h100"]["securityGroupSelectorTerms"]
    assert karpenter_bundle(adoption(efa)).names[-1] == "karpenter-resources"
    assert adoption(CPU, suffix="research").efa_security_group_name is None


@in_one_test("suffix", ["Research", "-a", "a-", "a" * 21, "a b"])
def test_a_wrong_suffix_is_refused(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / "pools.yaml"
    file.write_text(yaml.safe_dump(adoption_document(CPU, suffix=suffix)), encoding="utf-8")
    with pytest.raises(StrategyError, match="at most 20 lower-case letters, digits and hyphens"):
        load_adoption(file)


# --- the schema


def test_the_schema_is_up_to_date() -> None:
    """If this fails, run ``make schema``."""
    assert SCHEMA_PATH.read_text(encoding="utf-8") == json_schema.render(Adoption, "adoption")


EXAMPLES = sorted((ROOT / "examples" / "adopted-cluster").glob("*.yaml"))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_examples_name_the_schema_and_match_it(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    header = text.splitlines()[0].removeprefix("# yaml-language-server: $schema=")
    assert (file.parent / header).resolve() == SCHEMA_PATH.resolve()
    schema = Draft202012Validator(json.loads(SCHEMA_PATH.read_text(encoding="utf-8")))
    content = yaml.safe_load(text)
    assert list(schema.iter_errors(content)) == []
    wrong = {**content, "node_groups": [], "suffix": "A"}
    assert sorted(list(each.path) for each in schema.iter_errors(wrong)) == [[], ["suffix"]]
