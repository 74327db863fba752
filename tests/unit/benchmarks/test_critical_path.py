"""The critical path: graphs, schedules, and the data files that they are built from."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from benchmarks import critical_path
from benchmarks.critical_path import Durations, Graph, from_dot, from_edges, from_json, schedule, with_parallelism
from eks_hardware.kubernetes import bundle
from eks_hardware.resolve import ResolvedStrategy
from helpers.cases import in_one_test
from helpers.strategies import resolved_shipped

SECONDS = {"a": 10, "b": 100, "c": 1, "d": 5, "e": 3}


def graph(**needs: str) -> Graph:
    """Return a graph of resources by letter, each with the letters that it waits for."""
    return Graph(
        {f"x_{each}.it": {} for each in needs},
        {f"x_{each}.it": frozenset(f"x_{other}.it" for other in others) for each, others in needs.items()},
    )


def taking(**seconds: float) -> Durations:
    """Return durations, with the same time for create and destroy."""
    return Durations(
        [
            {"type": f"x_{each}", **{phase: [{"seconds": time}] for phase in ("create", "destroy")}}
            for each, time in seconds.items()
        ]
    )


# a -> b -> d, a -> c -> d; e separate
DIAMOND = graph(a="", b="a", c="a", d="bc", e="")


def test_the_longest_chain_and_the_slack_of_the_rest() -> None:
    found = schedule(DIAMOND, taking(**SECONDS), "create")
    assert found.path == ("x_a.it", "x_b.it", "x_d.it")
    assert found.seconds == 115
    times = {address[2]: (step.start, step.end, step.slack) for address, step in found.steps.items()}
    assert times == {"a": (0, 10, 0), "b": (10, 110, 0), "c": (10, 11, 99), "d": (110, 115, 0), "e": (0, 3, 112)}


def test_a_destroy_goes_the_other_way() -> None:
    found = schedule(DIAMOND, taking(**SECONDS), "destroy")
    assert found.path == ("x_d.it", "x_b.it", "x_a.it")
    assert found.steps["x_c.it"].start == 5


@in_one_test(("limit", "expected"), [(10, 30.0), (2, 40.0), (1, 70.0)])
def test_parallelism(limit: int, expected: float) -> None:
    fan = graph(a="", b="a", c="a", d="a", e="", f="", g="")
    durations = taking(a=10, b=20, c=20, d=10, e=5, f=5, g=0)
    assert with_parallelism(fan, durations, "create", limit) == expected
    assert with_parallelism(fan, durations, "create", 100) == schedule(fan, durations, "create").seconds


def test_what_waits_for_itself_is_refused() -> None:
    with pytest.raises(ValueError, match=r"wait for each other: \['x_a.it', 'x_b.it'\]"):
        schedule(graph(a="b", b="a", c=""), taking(a=1, b=1, c=1), "create")


STACK: dict[str, Any] = {
    "provider": {"helm": [{"kubernetes": {"host": "${aws_eks_cluster.main.endpoint}"}}], "aws": [{"region": "x"}]},
    "data": {"aws_caller_identity": {"me": {}}},
    "resource": {
        "aws_vpc": {"main": {"//": {"note": "${aws_eks_cluster.main.name}"}, "cidr_block": "10.0.0.0/16"}},
        "aws_subnet": {"a_1-x": {"vpc_id": "${aws_vpc.main.id}", "tags": {"Name": "aws_kms_key.main"}}},
        "aws_kms_key": {"main": {"policy": '{"a": "${data.aws_caller_identity.me.account_id}"}'}},
        "aws_eks_cluster": {
            "main": {
                "vpc_config": {"subnet_ids": ["${aws_subnet.a_1-x.id}"]},
                "depends_on": ["aws_kms_key.main", "aws_vpc.main"],
            }
        },
        "helm_release": {"a": {"values": ["id: ${aws_vpc.main.id}, text: $${aws_kms_key.main.arn}"]}},
    },
}


def test_edges_of_a_synthesized_stack() -> None:
    assert {address: sorted(needed) for address, needed in from_json(STACK).needs.items()} == {
        "aws_vpc.main": [],
        "aws_subnet.a_1-x": ["aws_vpc.main"],
        "aws_kms_key.main": ["data.aws_caller_identity.me"],
        "aws_eks_cluster.main": ["aws_kms_key.main", "aws_subnet.a_1-x", "aws_vpc.main"],
        # The provider needs the cluster.
        "helm_release.a": ["aws_eks_cluster.main", "aws_vpc.main"],
        "data.aws_caller_identity.me": [],
    }


def test_an_explicit_edge_follows_from_references_or_not() -> None:
    assert sorted(critical_path.explicit_edges(STACK)) == [
        ("aws_eks_cluster.main", "aws_kms_key.main", False),
        ("aws_eks_cluster.main", "aws_vpc.main", True),
    ]


DOT = """digraph G {
  rankdir = "RL";
  node [shape = rect, fontname = "sans-serif"];
  "data.aws_caller_identity.me" [label="data.aws_caller_identity.me"];
  "aws_kms_key.main" [label="aws_kms_key.main"];
  "aws_vpc.main" [label="aws_vpc.main"];
  "aws_subnet.a_1-x" [label="aws_subnet.a_1-x"];
  "aws_eks_cluster.main" [label="aws_eks_cluster.main"];
  "helm_release.a" [label="helm_release.a"];
  "aws_kms_key.main" -> "data.aws_caller_identity.me";
  "aws_subnet.a_1-x" -> "aws_vpc.main";
  "aws_eks_cluster.main" -> "aws_kms_key.main";
  "aws_eks_cluster.main" -> "aws_subnet.a_1-x";
  "helm_release.a" -> "aws_eks_cluster.main";
}
"""


def test_the_derivation_is_compared_with_terraform_graph() -> None:
    """... which leaves out edges that follow from others."""
    assert from_dot(DOT, {}).needs["aws_eks_cluster.main"] == {"aws_kms_key.main", "aws_subnet.a_1-x"}
    assert critical_path.derivation_differs(STACK, DOT) == []
    lacking = DOT.replace('  "aws_eks_cluster.main" -> "aws_kms_key.main";\n', "")
    assert len(critical_path.derivation_differs(STACK, lacking)) == 2
    other = DOT.replace('  "helm_release.a" [label', '  "helm_release.b" [label').replace(
        '"helm_release.a" ->', '"helm_release.b" ->'
    )
    assert critical_path.derivation_differs(STACK, other) == [
        "helm_release.a is only in the JSON",
        "helm_release.b is only in terraform graph",
    ]


@in_one_test(
    ("address", "expected"),
    [
        ("aws_vpc.main", "aws_vpc"),
        ("data.aws_caller_identity.me", "aws_caller_identity"),
        ("module.vpc.aws_subnet.private[2]", "aws_subnet"),
        ('module.eks.module.eks_managed_node_group["a.b"].aws_eks_node_group.this', "aws_eks_node_group"),
        ('module.eks.aws_eks_addon.this["vpc-cni"]', "aws_eks_addon"),
    ],
)
def test_type_of_an_address(address: str, expected: str) -> None:
    assert critical_path.resource_type(address) == expected


# --- data


DATA = json.loads(critical_path.DURATIONS.read_text(encoding="utf-8"))


def test_first_rule_that_fits_and_median() -> None:
    durations = Durations(
        [
            {"type": "x", "when": {"scaling.desired": 0}, "create": [{"seconds": 5}], "destroy": []},
            {"type": "x", "create": [{"seconds": 10}, {"seconds": 40}, {"seconds": 20}], "destroy": []},
        ]
    )
    assert durations.of("x.a", {"scaling": {"desired": 0}}, "create") == (5, 5, 5, True)
    assert durations.of("x.a", {"scaling": {"desired": 2}}, "create") == (20, 10, 40, True)
    assert durations.of("x.a", {"scaling": "none"}, "create") == (20, 10, 40, True)
    assert durations.of("x.a", {}, "destroy") == (0, 0, 0, False)
    with pytest.raises(KeyError, match="has no rule for y"):
        durations.of("y.a", {}, "create")


def test_each_duration_has_its_source() -> None:
    used = set()
    for rule in DATA["rules"]:
        assert set(rule) - {"when", "note"} == {"type", "create", "destroy"}
        for observed in (*rule["create"], *rule["destroy"]):
            assert set(observed) == {"seconds", "source"}
            assert 0 <= observed["seconds"] <= 3600
            used.add(observed["source"])
    assert used == set(DATA["sources"])
    for source in DATA["sources"].values():
        assert source["url"].startswith("https://")
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", source["as_of"])
        assert source["what"]


def test_what_takes_longest_is_published_more_than_once_or_says_so() -> None:
    long = [rule for rule in DATA["rules"] if any(observed["seconds"] >= 60 for observed in rule["create"])]
    assert len(long) == 5
    for rule in long:
        once = len({observed["source"] for observed in rule["create"]}) == 1
        assert once == rule.get("note", "").startswith("One observation"), rule["type"]


MODULE = json.loads(critical_path.MODULE_EDGES.read_text(encoding="utf-8"))
ROWS = [*MODULE["resources"], *(row for each in MODULE["variants"].values() for row in each["resources"])]


def test_each_edge_of_the_module_names_its_line() -> None:
    for row in ROWS:
        assert re.fullmatch(r"(eks|vpc):[a-z0-9_/.-]+\.tf:[0-9]+", row["source"]), row
    assert all(re.fullmatch(r"[0-9a-f]{40}", each["commit"]) for each in MODULE["repositories"].values())


@pytest.fixture(scope="module")
def mixed_hardware() -> ResolvedStrategy:
    return resolved_shipped("mixed-hardware")


@pytest.mark.parametrize("variant", MODULE["variants"])
def test_the_module_makes_the_same_shape(variant: str, mixed_hardware: ResolvedStrategy) -> None:
    built = from_edges(variant=variant)
    groups = {
        re.findall(r'\["([^"]+)"\]', address)[0]: attributes["scaling_config"]["desired_size"]
        for address, attributes in built.resources.items()
        if critical_path.resource_type(address) == "aws_eks_node_group"
    }
    assert groups == {group.name: group.desired_size for group in mixed_hardware.node_groups}
    addons = {
        attributes["addon_name"]
        for address, attributes in built.resources.items()
        if critical_path.resource_type(address) == "aws_eks_addon"
    }
    assert addons == {addon.name for addon in mixed_hardware.cluster.addons}
    charts = {address.partition(".")[2] for address in built.resources if address.startswith("helm_release.")}
    assert charts == set(bundle(mixed_hardware).names)
    nat = [address for address in built.resources if critical_path.resource_type(address) == "aws_nat_gateway"]
    assert len(nat) == len(mixed_hardware.network.nat_zone_ids)
    durations = Durations.read()
    assert schedule(built, durations, "create").seconds > 0
    assert schedule(built, durations, "destroy").seconds > 0


def test_instances_of_a_row_wait_for_all_instances() -> None:
    built = from_edges(variant="example")
    needed = built.needs["module.vpc.aws_nat_gateway.this"]
    assert {f"module.vpc.aws_subnet.public[{index}]" for index in range(3)} < needed
    assert len(built.resources) == len(set(built.resources)) > 90


def test_tables_fit_in_80_columns() -> None:
    built = from_edges(variant="after_module")
    lines = critical_path.report(built, Durations.read(), critical_path.module_variants(), details=True)
    assert max(len(line) for line in lines) <= 80
    assert any(line.startswith("The last chart is installed after ") for line in lines)


def test_removed_edges_are_put_back() -> None:
    built = Graph(
        {
            "helm_release.k": {"name": "karpenter"},
            "helm_release.other": {"name": "other"},
            "aws_eks_addon.dns": {"addon_name": "coredns"},
            "aws_eks_addon.cni": {"addon_name": "vpc-cni"},
        },
        dict.fromkeys(("helm_release.k", "helm_release.other", "aws_eks_addon.dns", "aws_eks_addon.cni"), frozenset()),
    )
    before = critical_path.with_removed_edges(built)
    assert {address: set(needed) for address, needed in before.needs.items() if needed} == {
        "helm_release.k": {"aws_eks_addon.dns"}
    }
    assert not any(built.needs.values())


@in_one_test(("seconds", "expected"), [(0, "0:00"), (59.4, "0:59"), (59.6, "1:00"), (564, "9:24"), (3600, "60:00")])
def test_clock(seconds: float, expected: str) -> None:
    assert critical_path.clock(seconds) == expected
