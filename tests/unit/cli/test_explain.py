"""``eks-hardware explain``: every value with its reason and row, in 80 columns."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from eks_hardware.explain import KINDS
from helpers import cli
from helpers.cases import in_one_test
from helpers.strategies import SHIPPED, group, resolved_shipped, write_document

run = partial(cli.run, "explain")


@in_one_test("name", SHIPPED)
def test_every_shipped_strategy(name: str) -> None:
    code, out, _ = run(name)
    assert code == 0
    # A link that does not fit is not broken.
    assert [line for line in out.splitlines() if len(line.rstrip()) > 80 and "https://" not in line] == []
    assert "…" not in out
    resolved = resolved_shipped(name)
    for group_ in resolved.node_groups:
        assert f"\nnode_groups[{group_.name}]\n" in out
    for pool in resolved.node_pools:
        assert f"\nkarpenter.node_pools[{pool.name}]\n" in out
    for chart in resolved.kubernetes.charts:
        assert f"\nkubernetes.charts.{chart}\n" in out


def test_a_group(golden: Callable[[str, str], None]) -> None:
    _, out, _ = run("mixed-hardware", "--group", "gpu-training")
    text = "".join(f"{line.rstrip()}\n" for line in out.splitlines())
    golden("explain/gpu-training.txt", text)


def explained_values(*arguments: str) -> dict[str, dict[str, dict[str, str]]]:
    """Return the values by the path of their section and their field."""
    sections = json.loads(run(*arguments, "--format", "json")[1])["sections"]
    return {each["path"]: {value["field"]: value for value in each["values"]} for each in sections}


NAMED = {
    "ami_type": "ami_types.json row p4d x86_64 (ami_types)",
    "labels": "nvidia.com/gpu.present: https://github.com/NVIDIA/k8s-device-plugin (affinity)",
    "taints": "https://github.com/NVIDIA/k8s-device-plugin",
    "efa_interfaces": "instances.json row p4d.24xlarge",
    "zone_ids": "offerings.json row p4d.24xlarge",
    "block_devices": "size: facts/choices.json accelerated_disk.size_gib",
    "instance_store": "instances.json row p4d.24xlarge (instance_store)",
    "max_pods": "facts/eks.json max_pods",
    "hardware": "accelerators.json row A100",
    "placement_group_name": "instances.json row p4d.24xlarge",
    "user_data": "nodeadm",
}


@in_one_test("field", NAMED)
def test_the_row_is_named(field: str) -> None:
    value = explained_values("mixed-hardware", "--group", "gpu-training")["node_groups[gpu-training]"][field]
    assert NAMED[field] in value["source"]


def test_plugins_name_the_groups_that_need_them() -> None:
    charts = explained_values("mixed-hardware", "--section", "charts")
    reason = charts["kubernetes.charts.aws-efa-k8s-device-plugin"]["key"]
    assert reason["reason"] == (
        "nodes with EFA: node_groups[gpu-training], node_groups[trainium-training], karpenter.node_pools[gpu-efa], "
        "karpenter.node_pools[trainium]"
    )
    assert reason["source"].startswith("facts/charts.json charts.aws-efa-k8s-device-plugin, https://")


def test_pools_name_their_rows() -> None:
    pool = explained_values("mixed-hardware", "--pool", "gpu-inference")["karpenter.node_pools[gpu-inference]"]
    assert "offerings.json row g5.xlarge" in pool["instance_types"]["source"]
    assert pool["ami_version"]["source"].startswith("facts/karpenter.json ami_aliases.suggested.al2023, ")
    assert pool["disruption.expire_after"]["value"] == "720h"


@in_one_test("kind", KINDS)
def test_sections(kind: str) -> None:
    code, out, _ = run("mixed-hardware", "--section", kind, "--format", "json")
    assert code == 0
    assert {each["kind"] for each in json.loads(out)["sections"]} == {kind}


@in_one_test("path", ["network", "cluster.addons.vpc-cni", "node_groups[system]", "kubernetes.charts.karpenter"])
def test_a_part_alone(path: str) -> None:
    assert list(explained_values("mixed-hardware", "--section", path)) == [path]


def test_parts_are_listed_behind_a_whole_strategy() -> None:
    _, out, _ = run("mixed-hardware")
    _, head, parts = out.rpartition("\nparts (show one with --section NAME")
    assert head
    listed = [line.split()[0] for line in parts.splitlines()[1:]]
    every = explained_values("mixed-hardware")
    assert listed == list(every)
    group_ = every["node_groups[gpu-training]"].values()
    derived = sum(each["origin"] != "strategy" for each in group_)
    line = next(line for line in parts.splitlines() if line.startswith("node_groups[gpu-training]"))
    assert line.split()[1:] == f"{len(group_)} values, {derived} derived".split()
    for chosen in (("--group", "system"), ("--pool", "inferentia"), ("--section", "addons")):
        assert "\nparts (" not in run("mixed-hardware", *chosen)[1]


def test_sources_of_what_has_no_value_are_named() -> None:
    _, out, _ = run("mixed-hardware", "--group", "system")
    flat = " ".join(out.split())
    number = re.search(r"efa_interfaces \(efa is not enabled; [^)]* \[(\d+)\]\)", flat)
    assert number
    assert f"[{number.group(1)}] catalogue/instances.json row " in flat


def test_selections_add_up() -> None:
    found = explained_values("mixed-hardware", "--group", "system", "--pool", "inferentia", "--section", "network")
    assert list(found) == ["network", "node_groups[system]", "karpenter.node_pools[inferentia]"]


def test_derived_leaves_out_what_the_file_says() -> None:
    every = explained_values("mixed-hardware")
    derived = explained_values("mixed-hardware", "--derived")
    assert {value["origin"] for each in every.values() for value in each.values()} == {
        "strategy",
        "default",
        "catalogue",
        "rule",
    }
    assert "strategy" not in {value["origin"] for each in derived.values() for value in each.values()}
    assert "instance_types" not in derived["node_groups[gpu-training]"]
    assert derived["node_groups[gpu-training]"]["ami_type"] == every["node_groups[gpu-training]"]["ami_type"]


def test_an_overlay(tmp_path: Path) -> None:
    file = write_document(tmp_path / "mine.yaml")
    (tmp_path / "overlays").mkdir()
    (tmp_path / "overlays" / "tokyo.yaml").write_text("region: ap-northeast-1\n")
    assert explained_values(str(file), "--overlay", "tokyo")["strategy"]["region"]["value"] == "ap-northeast-1"


def test_errors_are_those_of_validate(tmp_path: Path) -> None:
    file = write_document(tmp_path / "mine.yaml", group("m6i.xlargee"))
    code, out, err = run(str(file))
    assert (code, out) == (1, "")
    assert "error INSTANCE_TYPE_UNKNOWN" in err


@in_one_test(
    ("arguments", "named"),
    [
        (("--group", "gone"), "gpu-training"),
        (("--pool", "gone"), "inferentia"),
        (("--section", "gone"), "network"),
        (("--section", "gone"), "storage"),
    ],
)
def test_wrong_usage_names_what_there_is(arguments: tuple[str, str], named: str) -> None:
    code, _, err = run("mixed-hardware", *arguments)
    assert code == 2
    assert named in re.sub(r"[^\w-]+", " ", err)
