"""Unknown fields that have another name, or another place, in a strategy."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from eks_hardware import facts
from eks_hardware.findings import StrategyError
from eks_hardware.loader import parse_strategy
from eks_hardware.loader.model_fields import fields
from eks_hardware.loader.other_names import field_here, has_path
from eks_hardware.models import (
    ClusterSpec,
    KarpenterSpec,
    KubernetesSpec,
    NetworkSpec,
    NodeGroupSpec,
    NodePoolSpec,
    StorageSpec,
    Strategy,
    WorkloadSpec,
)
from eks_hardware.models.nodes import Disruption, Scaling
from eks_hardware.models.strategy import S3BackendSpec
from eks_hardware.suggestions import close
from helpers.cases import in_one_test

SECTIONS = {
    each.__name__: each
    for each in (
        ClusterSpec,
        Disruption,
        KarpenterSpec,
        KubernetesSpec,
        NetworkSpec,
        NodeGroupSpec,
        NodePoolSpec,
        S3BackendSpec,
        Scaling,
        StorageSpec,
        Strategy,
        WorkloadSpec,
    )
}


def rows() -> Iterator[tuple[str, str, str]]:
    """Yield section, name and path of every row, except those about keys and values of one field."""
    for tool in facts.other_names()["tools"].values():
        for section, names in tool["fields"].items():
            for name, path in names.items():
                if section not in ("framework", "limits", "task"):
                    yield section, name, path


def test_every_path_exists() -> None:
    wrong = [
        row
        for row in rows()
        if not (has_path(SECTIONS[row[0]], row[2]) or (row[0] != "Strategy" and has_path(Strategy, row[2])))
    ]
    assert wrong == []


def test_every_row_is_needed() -> None:
    """A similar name is suggested without a row."""
    similar = [(section, name) for section, name, path in rows() if close(name, fields(SECTIONS[section])) == (path,)]
    assert similar == []


def test_no_row_contradicts_another() -> None:
    found: dict[tuple[str, str], set[str]] = {}
    for section, name, path in rows():
        found.setdefault((section, name.replace("_", "").lower()), set()).add(path)
    assert {key: paths for key, paths in found.items() if len(paths) > 1} == {}


def test_a_path_without_a_field_does_not_exist() -> None:
    assert has_path(NodeGroupSpec, "scaling.min")
    assert not has_path(NodeGroupSpec, "scaling.minimum")
    assert not has_path(NodeGroupSpec, "name.min")


@in_one_test(
    ("section", "key", "path"),
    [
        (Strategy, "kubernetes_version", "cluster.kubernetes_version"),
        (Strategy, "node_pools", "karpenter.node_pools"),
        (Strategy, "vpc_id", "network.existing.vpc_id"),
        (ClusterSpec, "version", "kubernetes_version"),
        (NodeGroupSpec, "min", "scaling.min"),
        (NodeGroupSpec, "maxSize", "scaling.max"),
        (NodeGroupSpec, "nodes", "scaling.desired"),
        (NodeGroupSpec, "disk_size", "disk.size_gib"),
        (NodeGroupSpec, "max_pods", "kubelet.max_pods"),
        (NodeGroupSpec, "subnet_ids", "zones"),
        (NodeGroupSpec, "version", "cluster.kubernetes_version"),
        (NodePoolSpec, "volumeSize", "disk.size_gib"),
        (NodePoolSpec, "max_size", "limits"),
        (NodePoolSpec, "consolidateAfter", "disruption.consolidate_after"),
    ],
)
def test_another_name_and_place(section: type[object], key: str, path: str) -> None:
    assert field_here(section, key) == path


@in_one_test("key", ["enabled", "id", "key", "nothing_like_it"])
def test_general_and_unknown_names(key: str) -> None:
    assert field_here(NodeGroupSpec, key) is None


HEAD = """\
version: 1
name: demo
region: us-west-2
cluster: {creator_is_admin: true}
node_groups:
  - {name: system, workload: system, instance_types: [m7i.xlarge], scaling: {min: 2, max: 4}}
"""
GROUP = "  - {{name: gpu, instance_types: [g6.xlarge], scaling: {{max: 2}}, {}}}\n"
POOL = "karpenter: {{node_pools: [{{name: l4, instance_families: [g6], {}}}]}}\n"


@in_one_test(
    ("text", "message"),
    [
        (GROUP.replace("g6.xlarge", "g6").format("efa: false"), "; types in this family: g6.xlarge, g6.2xlarge, "),
        (
            GROUP.replace("g6.xlarge", "H100").format("efa: false"),
            "; types with this accelerator: p5.4xlarge, p5.48xlarge",
        ),
        (GROUP.replace("g6.xlarge", '"g6.xlarge, g5.xlarge"').format("efa: false"), "; write [g6.xlarge, g5.xlarge]"),
        (GROUP.replace("g6.xlarge", "TPU").format("efa: false"), 'such as p5.48xlarge, got "TPU"'),
        (GROUP.format("efa: {enabled: true}"), "must be true or false, got a mapping; write efa: true"),
        (GROUP.format("efa: {interfaces: 4}"), "must be true or false, got a mapping"),
        (GROUP.format("disk: {size_gib: 500Gi}"), 'must be a whole number, got "500Gi"; write 500'),
        (GROUP.format("disk: {size_gib: large}"), 'must be a whole number, got "large"'),
        (GROUP.format("region: us-west-2"), "; it is a top-level field, so remove its indentation"),
        (GROUP.format("network: {}"), "; it is a top-level section, so remove its indentation"),
        (GROUP.format("gpu_sharing: {mig: 1g.10gb}"), 'unknown field "mig"; did you mean mig_profile?'),
        ("ignore: ENDPOINT_OPEN\n", "for example ignore: [{code: ENDPOINT_OPEN, "),
        (POOL.format("limits: {gpu: 8}"), 'got key "gpu"; use nvidia.com/gpu'),
        (
            GROUP.format("workload: {task: serving, model: {name: llama-3.1-8b}}"),
            'got "serving"; did you mean inference?',
        ),
        (POOL.format("limits: {memry: 8Gi}"), 'got key "memry"; did you mean memory?'),
    ],
)
def test_the_message_says_what_to_write(text: str, message: str) -> None:
    with pytest.raises(StrategyError) as caught:
        parse_strategy(HEAD + text)
    assert any(message in finding.message for finding in caught.value.findings), caught.value


@in_one_test(
    ("name", "hint"),
    [
        ("adot", "EKS offers more add-ons, which this toolkit does not manage: install them with Helm, or in a stack"),
        ("cert-manager", "EKS offers more add-ons"),
        ("corednss", "did you mean coredns?"),
    ],
)
def test_an_add_on_that_the_toolkit_does_not_manage(name: str, hint: str) -> None:
    with pytest.raises(StrategyError, match=re.escape(f'got key "{name}"; {hint}')):
        parse_strategy(HEAD.replace("{creator_is_admin: true}", f"{{addons: {{{name}: {{}}}}}}"))


def test_a_field_of_an_item_at_the_top() -> None:
    with pytest.raises(StrategyError, match='unknown field "scaling"; it belongs in each item of node_groups'):
        parse_strategy("scaling: {max: 2}\n" + HEAD)


@in_one_test(
    ("quota", "said"),
    [
        ("cpu: 1.5", 'must be text or a whole number, got the number 1.5; put it in quotes: "1.5"'),
        ("cpu: 1e3", "must be text or a whole number, got the number 1e3"),
        ("memry: 1Gi", "got memry; did you mean memory?"),
        # Kubernetes counts these, too.
        ("requests.storage: 1Ti", "got requests.storage; limit others with a ResourceQuota of your own"),
        ("services.loadbalancers: 0", "got services.loadbalancers; limit others with a ResourceQuota of your own"),
    ],
)
def test_what_a_quota_of_a_team_can_be(quota: str, said: str) -> None:
    text = f"version: 1\nname: a\nregion: us-west-2\nkubernetes: {{teams: [{{name: a, quota: {{{quota}}}}}]}}\n"
    with pytest.raises(StrategyError) as caught:
        parse_strategy(text)
    assert [each.message for each in caught.value.findings if each.message.endswith(said)]
