"""What becomes of resources and nodes for each kind of change."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from eks_hardware.diff import Action, Changes, compare, sentence
from eks_hardware.diff.descriptions import pool_sentence
from eks_hardware.diff.json import as_json
from eks_hardware.diff.markdown import as_markdown
from eks_hardware.diff.pools import pool_changes
from eks_hardware.diff.terminal import as_text
from eks_hardware.kubernetes import Bundle, bundle
from eks_hardware.resolve import resolve
from eks_hardware.validation import load_strategy
from helpers.paths import SPECIAL, TESTS
from helpers.strategies import SHIPPED, SYSTEM, gpu_pool, group, pools, shipped, strategy

KEY = "arn:aws:kms:us-west-2:111122223333:key/11111111-1111-1111-1111-11111111111{}"
ADMIN = "arn:aws:iam::111122223333:role/admin"
GROUP = group("g5.xlarge")
EFA = group("p4d.24xlarge", efa=True)
REPLACE, DESTROY, UPDATE, CREATE = Action.REPLACE, Action.DESTROY, Action.UPDATE, Action.CREATE


class Case(NamedTuple):
    """Two strategies, and everything that Terraform does: type and action, how often."""

    before: dict[str, Any]
    after: dict[str, Any]
    expected: dict[tuple[str, Action], int]


def of(*groups: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"node_groups": [SYSTEM, *groups], **fields}


def node(**fields: Any) -> dict[str, Any]:
    return of(group("g5.xlarge", **fields))


def cluster(**fields: Any) -> dict[str, Any]:
    return of(GROUP, cluster={"creator_is_admin": True, **fields})


NODE_GROUP = "aws_eks_node_group"
TEMPLATE = "aws_launch_template"
ROLLING = {(TEMPLATE, UPDATE): 1, (NODE_GROUP, UPDATE): 1}
REPLACED = {(NODE_GROUP, REPLACE): 1}
UPDATED = {(NODE_GROUP, UPDATE): 1}
CLUSTER_UPDATED = {("aws_eks_cluster", UPDATE): 1}

CASES = {
    "nothing": Case(node(), node(), {}),
    # Node groups: what EKS takes only when a group is made.
    "capacity": Case(node(), node(capacity="spot"), REPLACED),
    "types": Case(node(), of(group("g5.2xlarge")), REPLACED),
    "order of types": Case(of(group(["g5.xlarge", "g5.2xlarge"])), of(group(["g5.2xlarge", "g5.xlarge"])), REPLACED),
    "operating system": Case(
        node(), node(ami={"family": "bottlerocket"}), {(TEMPLATE, UPDATE): 1, (NODE_GROUP, REPLACE): 1}
    ),
    "zones": Case(node(), node(zones=["usw2-az1"]), REPLACED),
    "EFA on": Case(
        of(group("p4d.24xlarge")),
        of(EFA),
        {
            ("aws_security_group", CREATE): 1,
            ("aws_vpc_security_group_ingress_rule", CREATE): 1,
            ("aws_vpc_security_group_egress_rule", CREATE): 1,
            ("aws_placement_group", CREATE): 1,
            (TEMPLATE, UPDATE): 1,
            # All nodes are in one zone now.
            (NODE_GROUP, REPLACE): 1,
        },
    ),
    "EFA off, in the same zone": Case(
        of(EFA),
        of(group("p4d.24xlarge", zones=["usw2-az1"])),
        {
            ("aws_security_group", DESTROY): 1,
            ("aws_vpc_security_group_ingress_rule", DESTROY): 1,
            ("aws_vpc_security_group_egress_rule", DESTROY): 1,
            ("aws_placement_group", DESTROY): 1,
            **ROLLING,
        },
    ),
    "another name": Case(
        node(),
        node(name="training"),
        {(TEMPLATE, CREATE): 1, (NODE_GROUP, CREATE): 1, (TEMPLATE, DESTROY): 1, (NODE_GROUP, DESTROY): 1},
    ),
    "added": Case(of(), node(), {(TEMPLATE, CREATE): 1, (NODE_GROUP, CREATE): 1}),
    # Node groups: what makes a new version of the launch template.
    "disk": Case(node(), node(disk={"size_gib": 300}), ROLLING),
    "placement group": Case(
        node(zones=["usw2-az1"]),
        node(zones=["usw2-az1"], placement_group="cluster"),
        {**ROLLING, ("aws_placement_group", CREATE): 1},
    ),
    "image": Case(node(), node(ami={"image_id": "ami-0123456789abcdef0"}), ROLLING),
    "volume key": Case(node(), node(disk={"kms_key_arn": KEY.format(1)}), {**ROLLING, ("aws_kms_grant", CREATE): 1}),
    "kubelet": Case(node(), node(kubelet={"max_pods": 50}), ROLLING),
    "instance metadata": Case(node(), node(pods_use_imds=True), ROLLING),
    "tags of a group": Case(node(), node(tags={"team": "a"}), ROLLING),
    # Node groups: what changes in place.
    "scaling": Case(node(), node(scaling={"max": 9}), UPDATED),
    "labels": Case(node(), node(labels={"team": "a"}), UPDATED),
    "taints": Case(node(), node(accelerator_taint=False), UPDATED),
    "node repair": Case(node(), node(node_repair=False), UPDATED),
    "update": Case(node(), node(update={"max_unavailable_percentage": 20}), UPDATED),
    "release": Case(node(), node(ami={"release_version": "1.35.0-20260801"}), UPDATED),
    "release no longer pinned": Case(node(ami={"release_version": "1.35.0-20260801"}), node(), {}),
    "an autoscaler": Case(
        node(),
        node(scaling={"max": 4, "autoscaled": True}),
        UPDATED,
    ),
    # The control plane.
    "version": Case(
        cluster(kubernetes_version="1.34"),
        cluster(kubernetes_version="1.35"),
        {**CLUSTER_UPDATED, (NODE_GROUP, UPDATE): 2},
    ),
    "service network": Case(cluster(), cluster(service_cidr="172.20.0.0/16"), {("aws_eks_cluster", REPLACE): 1}),
    "service network no longer stated": Case(cluster(service_cidr="172.20.0.0/16"), cluster(), {}),
    "encryption off": Case(
        cluster(),
        cluster(secrets_encryption={"enabled": False}),
        {
            ("aws_eks_cluster", REPLACE): 1,
            ("aws_kms_key", DESTROY): 1,
            ("aws_kms_alias", DESTROY): 1,
            ("aws_iam_role_policy", DESTROY): 1,
        },
    ),
    "another key": Case(
        cluster(secrets_encryption={"kms_key_arn": KEY.format(1)}),
        cluster(secrets_encryption={"kms_key_arn": KEY.format(2)}),
        {**CLUSTER_UPDATED, ("aws_iam_role_policy", UPDATE): 1},
    ),
    "creator": Case(cluster(admins=[ADMIN]), cluster(admins=[ADMIN], creator_is_admin=False), {}),
    "endpoint": Case(cluster(), cluster(endpoint={"public_cidrs": ["52.94.0.0/22"]}), CLUSTER_UPDATED),
    "endpoint closed": Case(cluster(endpoint={"public_cidrs": ["52.94.0.0/22"]}), cluster(), CLUSTER_UPDATED),
    "logs": Case(cluster(), cluster(logging={"retention_days": 30}), {("aws_cloudwatch_log_group", UPDATE): 1}),
    "access": Case(
        cluster(),
        cluster(admins=[ADMIN]),
        {("aws_eks_access_entry", CREATE): 1, ("aws_eks_access_policy_association", CREATE): 1},
    ),
    "add-on": Case(
        cluster(), cluster(addons={"coredns": {"version": "v1.13.2-eksbuild.4"}}), {("aws_eks_addon", UPDATE): 1}
    ),
    "add-on gone": Case(
        cluster(), cluster(addons={"metrics-server": {"enabled": False}}), {("aws_eks_addon", DESTROY): 1}
    ),
    # The network.
    "a zone more, groups in zones of their own": Case(
        {"node_groups": [{**SYSTEM, "zones": ["usw2-az1"]}], "network": {"zones": ["usw2-az1", "usw2-az2"]}},
        {
            "node_groups": [{**SYSTEM, "zones": ["usw2-az1"]}],
            "network": {"zones": ["usw2-az1", "usw2-az2", "usw2-az3"]},
        },
        {
            ("aws_subnet", CREATE): 2,
            ("aws_route_table", CREATE): 1,
            ("aws_route_table_association", CREATE): 2,
            ("aws_route", CREATE): 1,
            # S3's endpoint serves one route table more.
            ("aws_vpc_endpoint", UPDATE): 1,
        },
    ),
    "NAT gateways": Case(
        of(GROUP),
        of(GROUP, network={"nat_gateways": "one-per-zone"}),
        {("aws_eip", CREATE): 2, ("aws_nat_gateway", CREATE): 2, ("aws_route", UPDATE): 2},
    ),
    "flow logs": Case(of(GROUP), of(GROUP, network={"flow_logs": {"traffic": "ALL"}}), {("aws_flow_log", REPLACE): 1}),
    # Identities.
    "boundary": Case(
        of(GROUP),
        of(GROUP, aws={"permissions_boundary_arn": "arn:aws:iam::111122223333:policy/edge"}),
        {("aws_iam_role", UPDATE): 4},
    ),
    # Storage.
    "EFS throughput": Case(
        of(storage={"efs": {}}),
        of(storage={"efs": {"throughput": "bursting"}}),
        {("aws_efs_file_system", UPDATE): 1},
    ),
    "EFS key": Case(
        of(storage={"efs": {"kms_key_arn": KEY.format(1)}}),
        of(storage={"efs": {"kms_key_arn": KEY.format(2)}}),
        {("aws_efs_file_system", REPLACE): 1, ("aws_efs_mount_target", REPLACE): 3},
    ),
    "Lustre grows": Case(
        of(storage={"fsx_lustre": {"size_gib": 1200}}),
        of(storage={"fsx_lustre": {"size_gib": 2400}}),
        {("aws_fsx_lustre_file_system", UPDATE): 1},
    ),
    "Lustre shrinks": Case(
        of(storage={"fsx_lustre": {"size_gib": 2400}}),
        of(storage={"fsx_lustre": {"size_gib": 1200}}),
        {("aws_fsx_lustre_file_system", REPLACE): 1},
    ),
    "Lustre throughput": Case(
        of(storage={"fsx_lustre": {}}),
        of(storage={"fsx_lustre": {"throughput_mibps_per_tib": 500}}),
        {("aws_fsx_lustre_file_system", UPDATE): 1},
    ),
    # Charts.
    "chart": Case(
        of(GROUP, kubernetes={"delivery": "helm"}),
        of(GROUP, kubernetes={"delivery": "helm", "charts": {"nvidia-device-plugin": {"version": "0.19.0"}}}),
        {("helm_release", UPDATE): 1},
    ),
    "charts in files": Case(
        of(GROUP, kubernetes={"delivery": "helm"}),
        of(GROUP, kubernetes={"delivery": "manifests"}),
        {("helm_release", DESTROY): 1},
    ),
    "charts in a stack of their own": Case(
        of(GROUP, kubernetes={"delivery": "helm"}),
        of(GROUP, kubernetes={"delivery": "helm", "stack": "separate"}),
        {("helm_release", DESTROY): 1, ("helm_release", CREATE): 1},
    ),
}


def compared(before: dict[str, Any], after: dict[str, Any]) -> Changes:
    return compare(strategy(**before), strategy(**after))


def counted(changes: Changes) -> dict[tuple[str, Action], int]:
    found: dict[tuple[str, Action], int] = {}
    for each in changes.resources:
        key = (each.resource.type, each.action)
        found[key] = found.get(key, 0) + 1
    return found


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_terraform(case: Case) -> None:
    assert counted(compared(case.before, case.after)) == case.expected


def sentences(changes: Changes, action: Action) -> list[str]:
    return [str(sentence(each)) for each in changes.of(action)]


def test_sentences() -> None:
    changes = compared(node(), node(capacity="spot"))
    assert sentences(changes, REPLACE) == [
        "node_groups[gpu]: capacity on-demand -> spot: the node group is REPLACED: its nodes drain and go, and then "
        "new ones start"
    ]
    changes = compared(node(), node(disk={"size_gib": 300}))
    assert sentences(changes, UPDATE) == [
        "node_groups[gpu]: disk /dev/xvda 200 GiB gp3, 500 MiB/s, encrypted -> /dev/xvda 300 GiB gp3, 500 MiB/s, "
        "encrypted: the launch template is updated in place: it gets a new version",
        "node_groups[gpu]: the launch template gets a new version: the node group is updated in place: its nodes "
        "are replaced, as many at once as update says",
    ]
    changes = compared(cluster(), cluster(service_cidr="172.20.0.0/16"))
    assert sentences(changes, REPLACE) == [
        "cluster: service_cidr none -> 172.20.0.0/16: the control plane is REPLACED: everything that runs on it is "
        "lost: not if EKS chose just this range when it made the control plane"
    ]
    assert "is replaced, unless EKS chose just this range" in changes.notes[0]
    assert "EKS deletes none that still has node groups" in changes.notes[0]
    # One that was stated is known.
    changes = compared(cluster(service_cidr="172.20.0.0/16"), cluster(service_cidr="192.168.0.0/16"))
    assert sentences(changes, REPLACE) == [
        "cluster: service_cidr 172.20.0.0/16 -> 192.168.0.0/16: the control plane is REPLACED: everything that runs "
        "on it is lost"
    ]
    assert "the control plane is replaced: EKS" in changes.notes[0]


KEPT = {"secrets_encryption": {"enabled": False}}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (KEPT, {}, "EKS neither changes the key nor takes encryption away later"),
        (
            {"secrets_encryption": {"kms_key_arn": KEY.format(1)}},
            {"secrets_encryption": {"kms_key_arn": KEY.format(2)}},
            "EKS keeps the key for good, and the provider asks for no other: the apply says nothing, and every plan "
            "shows it again",
        ),
    ],
    ids=["first key", "another key"],
)
def test_encryption(before: dict[str, Any], after: dict[str, Any], expected: str) -> None:
    changes = compared(cluster(**before), cluster(**after))
    [said] = [each for each in sentences(changes, UPDATE) if "EKS" in each]
    assert said.endswith(f"the control plane is updated in place: {expected}")
    assert ["its role loses the use of that key" in each for each in changes.notes] == (
        [] if before == KEPT else [True]
    )


VERSIONS = {
    ("1.34", "1.35"): None,
    ("1.33", "1.35"): "EKS upgrades one minor at a time and refuses a jump: deploy 1.34 first",
    ("1.33", "1.36"): "refuses a jump: deploy 1.34 first",
    (
        "1.35",
        "1.34",
    ): "EKS takes it within 7 days of the upgrade from 1.34, and not while nodes run 1.35",
    ("1.35", "1.33"): "EKS rolls back one minor at the most, and refuses more",
}


@pytest.mark.parametrize(("versions", "note"), VERSIONS.items(), ids=map(" to ".join, VERSIONS))
def test_versions_that_eks_refuses(versions: tuple[str, str], note: str | None) -> None:
    changes = compared(*(cluster(kubernetes_version=each) for each in versions))
    [said] = [each for each in sentences(changes, UPDATE) if "control plane" in each]
    assert "one minor at a time, and back only within 7 days of the upgrade" in said
    if note is None:
        assert changes.notes == ()
    else:
        assert f"Kubernetes {' -> '.join(versions)}" in changes.notes[0]
        assert note in changes.notes[0]


def test_a_replaced_control_plane_takes_any_version() -> None:
    changes = compared(
        cluster(kubernetes_version="1.33"), cluster(kubernetes_version="1.35", secrets_encryption={"enabled": False})
    )
    assert ["Kubernetes" in each for each in changes.notes] == [False]


@pytest.mark.parametrize(
    ("before", "after", "argument"),
    [
        (node(), node(disk={"size_gib": 300}, labels={"team": "a"}), "launch_template.version"),
        (node(), node(ami={"release_version": "1.35.0-20260801"}, labels={"team": "a"}), "release_version"),
        (
            cluster(kubernetes_version="1.34"),
            {**cluster(kubernetes_version="1.35"), **node(labels={"team": "a"})},
            "version",
        ),
    ],
    ids=["launch template", "release", "version"],
)
def test_where_nodes_go_nothing_else_is_said(before: dict[str, Any], after: dict[str, Any], argument: str) -> None:
    found = compared(before, after).of(UPDATE)
    [change] = [each for each in found if each.resource.type == NODE_GROUP and each.resource.owner.endswith("[gpu]")]
    assert {each.argument for each in change.causes} == {argument, "labels"}
    assert str(sentence(change)).endswith("is updated in place: its nodes are replaced, as many at once as update says")


def test_nested_values_and_references_are_not_written_out() -> None:
    changes = compared(node(kubelet={"max_pods": 50}), node(kubelet={"max_pods": 50}, ami={"family": "bottlerocket"}))
    assert sentences(changes, UPDATE)[0].startswith("node_groups[gpu]: user data changed; disk changed: ")
    changes = compared(of(EFA), of(group("p4d.24xlarge", zones=["usw2-az1"])))
    assert (
        "EFA interfaces 5 interfaces, 4 EFA, (0,0) interface, (0,1) efa-only, (1..3,0) efa-only -> none"
        in (sentences(changes, UPDATE)[0])
    )
    tolerations = {"tolerations": [{"operator": "Exists"}]}
    changes = compared(cluster(), cluster(addons={"metrics-server": {"configuration": {**tolerations, "replicas": 3}}}))
    [said] = sentences(changes, UPDATE)
    assert "\n" not in said
    assert "tolerations:" not in said
    changes = compared(of(GROUP), of(GROUP, tags={f"team-{index}": "a" * 100 for index in range(30)}))
    assert max(map(len, sentences(changes, UPDATE))) < 300


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (of(), "node_groups[gpu]: the placement group is DESTROYED"),
        (of(group("p4d.24xlarge")), "node_groups[gpu]: the placement group is DESTROYED"),
        (
            of(group("p4d.24xlarge", zones=["usw2-az1"])),
            "node_groups[gpu]: the placement group is DESTROYED: EC2 deletes no placement group that has running "
            "instances: its nodes have to go before",
        ),
    ],
    ids=["its nodes go", "its nodes are replaced", "its nodes stay"],
)
def test_a_placement_group_goes_after_its_nodes(after: dict[str, Any], expected: str) -> None:
    """Terraform destroys what uses it before; an update of what uses it comes later."""
    assert expected in sentences(compared(of(EFA), after), DESTROY)


def test_what_aws_does_not_delete_is_said() -> None:
    changes = compared(of(network={"zones": 3}), of(network={"zones": 2}))
    [said] = [each for each in sentences(changes, DESTROY) if "subnet private-" in each]
    assert "AWS deletes no subnet that still has network interfaces" in said
    changes = compared(of(EFA), of(group("p4d.24xlarge", zones=["usw2-az1"])))
    assert any("AWS deletes no security group that is in use" in each for each in sentences(changes, DESTROY))


SUBNETS = {f"usw2-az{index}": f"subnet-0000000000000000{index}" for index in (1, 2)}


def existing(vpc_id: str) -> dict[str, Any]:
    return of(network={"existing": {"vpc_id": vpc_id, "private_subnets": SUBNETS}})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (of(), existing("vpc-00000000000000001")),
        (existing("vpc-00000000000000001"), of()),
        (existing("vpc-00000000000000001"), existing("vpc-00000000000000002")),
    ],
    ids=["own to existing", "existing to own", "existing to existing"],
)
def test_a_control_plane_does_not_move(before: dict[str, Any], after: dict[str, Any]) -> None:
    if "network" in before and "network" in after:
        moved = {zone: subnet_id.replace("0000", "1111") for zone, subnet_id in SUBNETS.items()}
        after["network"]["existing"]["private_subnets"] = moved
    assert "EKS does not move a control plane" in compared(before, after).notes[0]


def test_another_network_carries_everything() -> None:
    changes = compared(of(GROUP), of(GROUP, network={"cidr": "10.8.0.0/16"}))
    found = counted(changes)
    assert found["aws_vpc", REPLACE] == 1
    assert found["aws_subnet", REPLACE] == 8
    assert found[NODE_GROUP, REPLACE] == 2
    assert found["aws_eks_cluster", UPDATE] == 1
    assert [each.own for each in changes.resources if each.resource.type == NODE_GROUP] == [False, False]
    assert "EKS does not move" in changes.notes[0]
    cidrs = [
        cause.replaces
        for each in changes.resources
        if each.resource.type == "aws_subnet"
        for cause in each.causes
        if cause.argument == "cidr_block"
    ]
    assert cidrs == [True] * 8


def test_tags_reach_everything_and_replace_every_node() -> None:
    """Instances and volumes get tags from the launch template only."""
    changes = compared(of(GROUP), of(GROUP, tags={"team": "a"}))
    assert {each.action for each in changes.resources} == {UPDATE}
    assert [each.only_tags for each in changes.resources if each.resource.type == "aws_vpc"] == [True]
    rolling = [each for each in changes.resources if each.resource.type == NODE_GROUP]
    assert [each.only_tags for each in rolling] == [False, False]
    assert all("its nodes are replaced" in str(sentence(each)) for each in rolling)


# Where it is deployed.


def test_another_name_is_another_deployment() -> None:
    changes = compare(strategy(GROUP), strategy(GROUP, name="other"))
    assert changes.state == "separate"
    assert {each.action for each in changes.resources} == {CREATE}
    assert "demo keeps running" in changes.notes[0]


def test_another_name_in_the_same_state_replaces_everything_that_is_named() -> None:
    backend = {"type": "s3", "bucket": "state", "key": "shared.tfstate", "region": "us-west-2"}
    changes = compare(strategy(GROUP, backend=backend), strategy(GROUP, name="other", backend=backend))
    assert changes.state == "same"
    assert counted(changes)["aws_eks_cluster", REPLACE] == 1
    assert counted(changes)[NODE_GROUP, REPLACE] == 2


def test_another_region_leaves_everything_behind() -> None:
    changes = compare(strategy(GROUP), strategy(GROUP, region="us-east-1"))
    assert changes.state == "region"
    count = changes.count()
    assert count[Action.FORGET] > 30
    assert count[CREATE] > 30
    # Roles are the same in every region, but have its name in theirs.
    assert {each.resource.type for each in changes.of(REPLACE)} == {
        "aws_iam_role",
        "aws_iam_role_policy",
        "aws_iam_role_policy_attachment",
    }
    assert "unmanaged" in changes.notes[0]


def test_a_state_that_moves_is_said() -> None:
    changes = compare(strategy(GROUP), strategy(GROUP, backend={"type": "local", "path": "elsewhere.tfstate"}))
    assert (changes.state, changes.resources) == ("same", ())
    assert "migrate-state" in changes.notes[0]
    assert changes.any


# Karpenter.

POOLS = {
    "types": ({"instance_families": ["g6"]}, "all"),
    "disk": ({"disk": {"size_gib": 500}}, "all"),
    "kubelet": ({"kubelet": {"max_pods": 50}}, "all"),
    "labels": ({"labels": {"team": "a"}}, "all"),
    "image": ({"ami": {"version": "v20260701"}}, "unmatched"),
    "capacity": ({"capacity": ["on-demand", "spot"]}, "unmatched"),
    "limits": ({"limits": {"nvidia.com/gpu": 16}}, "none"),
    "weight": ({"weight": 10}, "none"),
    "disruption": ({"disruption": {"budgets": [{"nodes": "1"}]}}, "none"),
}


@pytest.mark.parametrize(("fields", "nodes"), POOLS.values(), ids=POOLS)
def test_nodes_of_a_pool(fields: dict[str, Any], nodes: str) -> None:
    base = gpu_pool("gpu", instance_families=["g5"])
    changes = compare(strategy(**pools(base)), strategy(**pools({**base, **fields})))
    [pool] = changes.pools
    assert (pool.name, pool.action, pool.nodes, pool.held) == ("gpu", "changed", nodes, False)


def test_budgets_of_a_training_pool_hold_its_nodes() -> None:
    base = gpu_pool("gpu", instance_types=["p5.48xlarge"], workload="training")
    changes = compare(strategy(**pools(base)), strategy(**pools({**base, "disk": {"size_gib": 500}})))
    [pool] = changes.pools
    assert (pool.nodes, pool.held) == ("all", True)
    assert "old nodes stay until they are empty" in str(pool_sentence(pool))


UPGRADED: dict[str, tuple[dict[str, Any], list[tuple[str, bool]]]] = {
    "latest": ({"instance_families": ["g5"]}, [("all", False)]),
    "pinned": ({"instance_families": ["g5"], "ami": {"version": "v20260701"}}, [("all", False)]),
    "training": ({"instance_types": ["p5.48xlarge"], "workload": "training"}, [("all", True)]),
    "own image": ({"instance_families": ["g5"], "ami": {"image_id": "ami-0123456789abcdef0"}}, []),
}


@pytest.mark.parametrize(("fields", "expected"), UPGRADED.values(), ids=UPGRADED)
@pytest.mark.parametrize("versions", [("1.34", "1.35"), ("1.35", "1.34")], ids=["forth", "back"])
def test_another_version_replaces_nodes_whose_image_follows_it(
    versions: tuple[str, str], fields: dict[str, Any], expected: list[tuple[str, bool]]
) -> None:
    before, after = ({**cluster(kubernetes_version=each), **pools(gpu_pool("burst", **fields))} for each in versions)
    changes = compared(before, after)
    assert [(each.nodes, each.held) for each in changes.pools] == expected
    assert all(f"kubernetes_version {' -> '.join(versions)}" in str(pool_sentence(each)) for each in changes.pools)


def test_an_alias_instead_of_an_image_is_said_once() -> None:
    """What changes to or from an alias drifts for its terms."""
    own = gpu_pool("burst", instance_families=["g5"], ami={"image_id": "ami-0123456789abcdef0"})
    before = {**cluster(kubernetes_version="1.34"), **pools(own)}
    after = {**cluster(kubernetes_version="1.35"), **pools({**own, "ami": {}})}
    [pool] = compared(before, after).pools
    assert (pool.fields, pool.nodes) == (("EC2NodeClass amiFamily", "EC2NodeClass amiSelectorTerms"), "unmatched")


SPECS = {
    "EC2NodeClass": {
        "subnetSelectorTerms": "unmatched",
        "securityGroupSelectorTerms": "unmatched",
        "capacityReservationSelectorTerms": "unmatched",
        "amiSelectorTerms": "unmatched",
        "amiFamily": "unmatched",
        "blockDeviceMappings": "all",
        "userData": "all",
    },
    "NodePool": {"template.spec.requirements": "unmatched", "template.metadata.labels": "all", "limits": "none"},
}


@pytest.mark.parametrize(
    ("kind", "field", "nodes"), [(kind, *row) for kind, rows in SPECS.items() for row in rows.items()]
)
def test_drift_by_field(kind: str, field: str, nodes: str) -> None:
    """As Karpenter: static fields are hashed, the others are held against the running instance."""

    def another(value: Any, path: list[str]) -> Any:
        return {**value, path[0]: another(value.get(path[0], {}), path[1:])} if path else ["another"]

    old = bundle(resolve(strategy(**pools(gpu_pool("burst", instance_families=["g5"], kubelet={"max_pods": 50})))))
    [release] = [each for each in old.object_releases if each.name == "karpenter-resources"]
    objects = tuple(
        {**each, "spec": another(each["spec"], field.split("."))} if each["kind"] == kind else each
        for each in release.objects
    )
    new = Bundle(tuple(replace(each, objects=objects) if each is release else each for each in old.object_releases))
    [pool] = pool_changes(old, new, kubernetes_versions=("1.35", "1.35"))
    assert pool.nodes == nodes


# Helm releases that go though what they installed is wanted.

HELM = {"delivery": "helm"}
TWO = pools(
    gpu_pool("burst", instance_families=["g5"]), gpu_pool("train", instance_types=["p5.48xlarge"], workload="training")
)
UNINSTALLED = {
    "manifests": (HELM, {"delivery": "manifests"}, "charts leave Terraform"),
    "another stack's manifests": ({**HELM, "stack": "separate"}, {"delivery": "manifests"}, "charts leave Terraform"),
    "a stack of their own": (HELM, {**HELM, "stack": "separate"}, "charts change stacks"),
    "the same stack": ({**HELM, "stack": "separate"}, HELM, "charts change stacks"),
}


@pytest.mark.parametrize(("before", "after", "note"), UNINSTALLED.values(), ids=UNINSTALLED)
def test_nodes_go_with_the_release_of_their_pools(before: dict[str, Any], after: dict[str, Any], note: str) -> None:
    changes = compared({**of(), **TWO, "kubernetes": before}, {**of(), **TWO, "kubernetes": after})
    assert [(each.name, each.action, each.nodes) for each in changes.pools] == [
        ("burst", "replaced", "all"),
        ("train", "replaced", "all"),
    ]
    assert changes.notes[0].startswith(note)
    assert changes.notes[1] == (
        "the release karpenter-resources is uninstalled: every node that Karpenter made drains and goes "
        "(burst, train), whatever the disruption budgets say"
    )
    assert "REPLACED: its nodes drain and go" in str(pool_sentence(changes.pools[0]))


def test_without_karpenter_no_node_goes_with_a_release() -> None:
    changes = compared(of(GROUP, kubernetes=HELM), of(GROUP, kubernetes={"delivery": "manifests"}))
    assert [each.partition(":")[0] for each in changes.notes] == ["charts leave Terraform"]
    assert changes.pools == ()


def test_pools_that_go_with_karpenter_are_deleted() -> None:
    changes = compared({**of(GROUP), **TWO, "kubernetes": HELM}, {**of(GROUP), "kubernetes": HELM})
    assert {each.action for each in changes.pools} == {"deleted"}
    assert changes.notes == ()


def test_pools_come_and_go() -> None:
    one, other = gpu_pool("one", instance_families=["g5"]), gpu_pool("other", instance_families=["g6"])
    changes = compare(strategy(**pools(one)), strategy(**pools(other)))
    assert [(each.name, each.action) for each in changes.pools] == [("other", "created"), ("one", "deleted")]
    assert "drain and go" in str(pool_sentence(changes.pools[1]))


# Hardware and capacity.


def test_hardware() -> None:
    changes = compared(of(group("g5.xlarge"), EFA | {"name": "train"}), of(group("g6.xlarge")))
    by_path = {each.path: each for each in changes.hardware}
    assert [(each.path, each.action) for each in changes.hardware] == [
        ("node_groups[gpu]", "changed"),
        ("node_groups[train]", "removed"),
    ]
    differences = {each.name: (each.before, each.after) for each in by_path["node_groups[gpu]"].differences}
    assert differences["instance types"] == ("g5.xlarge", "g6.xlarge")
    assert differences["accelerators a node"] == ("1 x A10G", "1 x L4")
    gone = {each.name: each.before for each in by_path["node_groups[train]"].differences}
    assert gone["EFA interfaces"] == "4"


def test_a_group_under_another_name_is_recognized() -> None:
    changes = compared(node(), node(name="training"))
    assert [each.renamed_to for each in changes.hardware if each.action == "removed"] == ["training"]


def test_capacity() -> None:
    before = strategy(group("p5.48xlarge", scaling={"max": 2}), **pools(gpu_pool(instance_families=["g5"])))
    after = strategy(
        group("p5.48xlarge", scaling={"max": 3, "desired": 1}),
        **pools(gpu_pool(instance_families=["g5"], limits={"nvidia.com/gpu": 16})),
    )
    capacity = compare(before, after).capacity
    assert [(each.name, each.before, each.after) for each in capacity.nodes] == [
        ("node_groups[gpu] min/desired/max", "0/0/2", "0/1/3"),
        ("karpenter.node_pools[pool] limits", "8 nvidia.com/gpu, 512 cpu", "16 nvidia.com/gpu, 1024 cpu"),
    ]
    assert [(each.name, each.before, each.after) for each in capacity.accelerators] == [
        ("H100 at the most", "16", "24"),
        ("A10G at the most", "8", "16"),
    ]
    quotas = {each.name.partition(" ")[0]: (each.before, each.after) for each in capacity.vcpu_quotas}
    assert quotas["L-417A185B"] == ("384", "576")


# Every strategy there is.

FILES = [*sorted((TESTS / "corpus" / "good").glob("*.yaml")), *sorted(SPECIAL.glob("*.yaml"))]


def shown(changes: Changes) -> None:
    assert as_json(changes)["changed"] is changes.any
    assert as_markdown(changes).startswith("### ")
    assert as_text(changes)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_strategy_and_itself(name: str) -> None:
    changes = compare(shipped(name), shipped(name))
    assert (changes.any, changes.resources, changes.pools, changes.notes) == (False, (), (), ())
    shown(changes)


@pytest.mark.parametrize(("before", "after"), list(itertools.permutations(SHIPPED, 2)))
def test_every_two_shipped_strategies(before: str, after: str) -> None:
    changes = compare(shipped(before), shipped(after))
    assert changes.state == "separate"
    # And as if they were one deployment.
    shown(compare(shipped(before), shipped(after).model_copy(update={"name": before})))
    shown(changes)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_other_strategy(file: Any) -> None:
    found = load_strategy(file).strategy
    assert not compare(found, found).any
    shown(compare(shipped("mixed-hardware"), found))
    shown(compare(found, shipped("mixed-hardware").model_copy(update={"name": found.name})))
