"""Effects on resources for each kind of change, from synthesized strategies."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from eks_hardware import facts
from eks_hardware.diff import Action, Changes, sentence
from eks_hardware.diff.json import as_json
from eks_hardware.diff.markdown import as_markdown
from eks_hardware.diff.resources import TAGS, resources
from eks_hardware.diff.terminal import as_text
from eks_hardware.models import S3BackendSpec, Strategy
from eks_hardware.resolve import resolve
from eks_hardware.testing import Template
from eks_hardware.validation import load_strategy
from helpers.diff import compared, synthesized_once, with_cluster
from helpers.paths import GOLDEN, SPECIAL
from helpers.sections import node_groups
from helpers.strategies import FOLDER, SHIPPED, SYSTEM, group, shipped, strategy

KEY = "arn:aws:kms:us-west-2:111122223333:key/11111111-1111-1111-1111-11111111111{}"
ADMIN = "arn:aws:iam::111122223333:role/admin"
GROUP = group("g5.xlarge")
EFA = group("p4d.24xlarge", efa=True)
REPLACE, DESTROY, UPDATE, CREATE = Action.REPLACE, Action.DESTROY, Action.UPDATE, Action.CREATE


class Case(NamedTuple):
    """Two strategies, and all of Terraform's actions: type, action and count."""

    before: dict[str, Any]
    after: dict[str, Any]
    expected: dict[tuple[str, Action], int]


def node(**fields: Any) -> dict[str, Any]:
    return node_groups(group("g5.xlarge", **fields))


NODE_GROUP = "aws_eks_node_group"
TEMPLATE = "aws_launch_template"
ROLLING = {(TEMPLATE, UPDATE): 1, (NODE_GROUP, UPDATE): 1}
REPLACED = {(NODE_GROUP, REPLACE): 1}
UPDATED = {(NODE_GROUP, UPDATE): 1}
CLUSTER_UPDATED = {("aws_eks_cluster", UPDATE): 1}

CASES = {
    "nothing": Case(node(), node(), {}),
    # Node groups: settings that EKS accepts only on creation.
    "capacity": Case(node(), node(capacity="spot"), REPLACED),
    "types": Case(node(), node_groups(group("g5.2xlarge")), REPLACED),
    "order of types": Case(
        node_groups(group(["g5.xlarge", "g5.2xlarge"])), node_groups(group(["g5.2xlarge", "g5.xlarge"])), REPLACED
    ),
    "operating system": Case(
        node(), node(ami={"family": "bottlerocket"}), {(TEMPLATE, UPDATE): 1, (NODE_GROUP, REPLACE): 1}
    ),
    "zones": Case(node(), node(zones=["usw2-az1"]), REPLACED),
    "EFA on": Case(
        node_groups(group("p4d.24xlarge")),
        node_groups(EFA),
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
        node_groups(EFA),
        node_groups(group("p4d.24xlarge", zones=["usw2-az1"])),
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
    "added": Case(node_groups(), node(), {(TEMPLATE, CREATE): 1, (NODE_GROUP, CREATE): 1}),
    # Node groups: settings that create a new version of the launch template.
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
    # Node groups: settings that change in place.
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
        with_cluster(kubernetes_version="1.34"),
        with_cluster(kubernetes_version="1.35"),
        {**CLUSTER_UPDATED, (NODE_GROUP, UPDATE): 2},
    ),
    "service network": Case(
        with_cluster(), with_cluster(service_cidr="172.20.0.0/16"), {("aws_eks_cluster", REPLACE): 1}
    ),
    "service network no longer stated": Case(with_cluster(service_cidr="172.20.0.0/16"), with_cluster(), {}),
    "encryption off": Case(
        with_cluster(),
        with_cluster(secrets_encryption={"enabled": False}),
        {
            ("aws_eks_cluster", REPLACE): 1,
            ("aws_kms_key", DESTROY): 1,
            ("aws_kms_alias", DESTROY): 1,
            ("aws_iam_role_policy", DESTROY): 1,
        },
    ),
    "another key": Case(
        with_cluster(secrets_encryption={"kms_key_arn": KEY.format(1)}),
        with_cluster(secrets_encryption={"kms_key_arn": KEY.format(2)}),
        {**CLUSTER_UPDATED, ("aws_iam_role_policy", UPDATE): 1},
    ),
    "creator": Case(with_cluster(admins=[ADMIN]), with_cluster(admins=[ADMIN], creator_is_admin=False), {}),
    "endpoint": Case(with_cluster(), with_cluster(endpoint={"public_cidrs": ["52.94.0.0/22"]}), CLUSTER_UPDATED),
    "endpoint closed": Case(with_cluster(endpoint={"public_cidrs": ["52.94.0.0/22"]}), with_cluster(), CLUSTER_UPDATED),
    "logs": Case(
        with_cluster(), with_cluster(logging={"retention_days": 30}), {("aws_cloudwatch_log_group", UPDATE): 1}
    ),
    "access": Case(
        with_cluster(),
        with_cluster(admins=[ADMIN]),
        {("aws_eks_access_entry", CREATE): 1, ("aws_eks_access_policy_association", CREATE): 1},
    ),
    "add-on": Case(
        with_cluster(),
        with_cluster(addons={"coredns": {"version": "v1.13.2-eksbuild.4"}}),
        {("aws_eks_addon", UPDATE): 1},
    ),
    "add-on gone": Case(
        with_cluster(), with_cluster(addons={"metrics-server": {"enabled": False}}), {("aws_eks_addon", DESTROY): 1}
    ),
    # The network.
    "an additional zone, groups in separate zones": Case(
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
            # S3's endpoint serves an additional route table.
            ("aws_vpc_endpoint", UPDATE): 1,
        },
    ),
    "NAT gateways": Case(
        node_groups(GROUP),
        node_groups(GROUP, network={"nat_gateways": "one-per-zone"}),
        {("aws_eip", CREATE): 2, ("aws_nat_gateway", CREATE): 2, ("aws_route", UPDATE): 2},
    ),
    "flow logs": Case(
        node_groups(GROUP),
        node_groups(GROUP, network={"flow_logs": {"traffic": "ALL"}}),
        {("aws_flow_log", REPLACE): 1},
    ),
    # Identities.
    "boundary": Case(
        node_groups(GROUP),
        node_groups(GROUP, aws={"permissions_boundary_arn": "arn:aws:iam::111122223333:policy/edge"}),
        {("aws_iam_role", UPDATE): 4},
    ),
    # Storage.
    "EFS throughput": Case(
        node_groups(storage={"efs": {}}),
        node_groups(storage={"efs": {"throughput": "bursting"}}),
        {("aws_efs_file_system", UPDATE): 1},
    ),
    "EFS key": Case(
        node_groups(storage={"efs": {"kms_key_arn": KEY.format(1)}}),
        node_groups(storage={"efs": {"kms_key_arn": KEY.format(2)}}),
        {("aws_efs_file_system", REPLACE): 1, ("aws_efs_mount_target", REPLACE): 3},
    ),
    "Lustre grows": Case(
        node_groups(storage={"fsx_lustre": {"size_gib": 1200}}),
        node_groups(storage={"fsx_lustre": {"size_gib": 2400}}),
        {("aws_fsx_lustre_file_system", UPDATE): 1},
    ),
    "Lustre shrinks": Case(
        node_groups(storage={"fsx_lustre": {"size_gib": 2400}}),
        node_groups(storage={"fsx_lustre": {"size_gib": 1200}}),
        {("aws_fsx_lustre_file_system", REPLACE): 1},
    ),
    "Lustre throughput": Case(
        node_groups(storage={"fsx_lustre": {}}),
        node_groups(storage={"fsx_lustre": {"throughput_mibps_per_tib": 500}}),
        {("aws_fsx_lustre_file_system", UPDATE): 1},
    ),
    # Charts.
    "chart": Case(
        node_groups(GROUP, kubernetes={"delivery": "helm"}),
        node_groups(GROUP, kubernetes={"delivery": "helm", "charts": {"nvidia-device-plugin": {"version": "0.19.0"}}}),
        {("helm_release", UPDATE): 1},
    ),
    "charts in files": Case(
        node_groups(GROUP, kubernetes={"delivery": "helm"}),
        node_groups(GROUP, kubernetes={"delivery": "manifests"}),
        {("helm_release", DESTROY): 1},
    ),
    "charts in a separate stack": Case(
        node_groups(GROUP, kubernetes={"delivery": "helm"}),
        node_groups(GROUP, kubernetes={"delivery": "helm", "stack": "separate"}),
        {("helm_release", DESTROY): 1, ("helm_release", CREATE): 1},
    ),
}


def counted(changes: Changes) -> dict[tuple[str, Action], int]:
    found: dict[tuple[str, Action], int] = {}
    for each in changes.resources:
        key = (each.resource.type, each.action)
        found[key] = found.get(key, 0) + 1
    return found


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_terraform(case: Case) -> None:
    changes = compared(case.before, case.after)
    assert counted(changes) == case.expected
    assert unlisted(changes) == set()


def unlisted(changes: Changes) -> set[tuple[str, str]]:
    """Return changes without a row, whose effect was never checked against the provider."""
    return {
        (each.resource.type, cause.argument)
        for each in changes.resources
        for cause in each.causes
        if cause.argument != TAGS and not cause.row
    }


def sentences_of(changes: Changes, action: Action) -> list[str]:
    return [str(sentence(each)) for each in changes.of(action)]


def test_sentences() -> None:
    changes = compared(node(), node(capacity="spot"))
    assert sentences_of(changes, REPLACE) == [
        "node_groups[gpu]: capacity on-demand -> spot: the node group is REPLACED: its nodes are drained and "
        "terminated, and then new ones start"
    ]
    changes = compared(node(), node(disk={"size_gib": 300}))
    assert sentences_of(changes, UPDATE) == [
        "node_groups[gpu]: disk ebs.volume_size=200 -> 300: the launch template is updated in place: it gets a new "
        "version",
        "node_groups[gpu]: the launch template gets a new version: the node group is updated in place: its nodes "
        "are replaced, as many at once as the group's update setting allows",
    ]
    changes = compared(with_cluster(), with_cluster(service_cidr="172.20.0.0/16"))
    assert sentences_of(changes, REPLACE) == [
        "cluster: service_cidr none -> 172.20.0.0/16: the control plane is REPLACED: everything that runs on it is "
        "lost: unless EKS chose exactly this range when it created the control plane"
    ]
    assert "is replaced, unless EKS chose exactly this range" in changes.notes[0]
    assert "EKS does not delete a cluster with node groups" in changes.notes[0]
    # A stated one is known.
    changes = compared(with_cluster(service_cidr="172.20.0.0/16"), with_cluster(service_cidr="192.168.0.0/16"))
    assert sentences_of(changes, REPLACE) == [
        "cluster: service_cidr 172.20.0.0/16 -> 192.168.0.0/16: the control plane is REPLACED: everything that runs "
        "on it is lost"
    ]
    assert "the control plane is replaced: EKS" in changes.notes[0]


KEPT = {"secrets_encryption": {"enabled": False}}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (KEPT, {}, "EKS can neither change the key nor disable encryption later"),
        (
            {"secrets_encryption": {"kms_key_arn": KEY.format(1)}},
            {"secrets_encryption": {"kms_key_arn": KEY.format(2)}},
            "EKS keeps the key permanently, and the provider does not request another: the apply reports nothing, "
            "and every plan shows the change again",
        ),
    ],
    ids=["first key", "another key"],
)
def test_encryption(before: dict[str, Any], after: dict[str, Any], expected: str) -> None:
    changes = compared(with_cluster(**before), with_cluster(**after))
    [said] = [each for each in sentences_of(changes, UPDATE) if "EKS" in each]
    assert said.endswith(f"the control plane is updated in place: {expected}")
    assert ["role's access to the current key" in each for each in changes.notes] == ([] if before == KEPT else [True])


VERSIONS = {
    ("1.34", "1.35"): None,
    ("1.33", "1.35"): "EKS upgrades one minor version at a time; deploy 1.34 first",
    ("1.33", "1.36"): "EKS upgrades one minor version at a time; deploy 1.34 first",
    ("1.35", "1.34"): "EKS allows it within 7 days of the upgrade, but not while nodes run 1.35",
    ("1.35", "1.33"): "EKS rolls back at most one minor version",
}


@pytest.mark.parametrize(("versions", "note"), VERSIONS.items(), ids=map(" to ".join, VERSIONS))
def test_versions_that_eks_refuses(versions: tuple[str, str], note: str | None) -> None:
    changes = compared(*(with_cluster(kubernetes_version=each) for each in versions))
    [said] = [each for each in sentences_of(changes, UPDATE) if "control plane" in each]
    assert "by one minor version at a time, and allows a rollback only within 7 days of the upgrade" in said
    if note is None:
        assert changes.notes == ()
    else:
        assert f"Kubernetes {' -> '.join(versions)}" in changes.notes[0]
        assert note in changes.notes[0]


def test_a_replaced_control_plane_takes_any_version() -> None:
    changes = compared(
        with_cluster(kubernetes_version="1.33"),
        with_cluster(kubernetes_version="1.35", secrets_encryption={"enabled": False}),
    )
    assert ["Kubernetes" in each for each in changes.notes] == [False]


@pytest.mark.parametrize(
    ("before", "after", "argument"),
    [
        (node(), node(disk={"size_gib": 300}, labels={"team": "a"}), "launch_template.version"),
        (node(), node(ami={"release_version": "1.35.0-20260801"}, labels={"team": "a"}), "release_version"),
        (
            with_cluster(kubernetes_version="1.34"),
            {**with_cluster(kubernetes_version="1.35"), **node(labels={"team": "a"})},
            "version",
        ),
    ],
    ids=["launch template", "release", "version"],
)
def test_a_removed_node_is_reported_alone(before: dict[str, Any], after: dict[str, Any], argument: str) -> None:
    found = compared(before, after).of(UPDATE)
    [change] = [each for each in found if each.resource.type == NODE_GROUP and each.resource.owner.endswith("[gpu]")]
    assert {each.argument for each in change.causes} == {argument, "labels"}
    assert str(sentence(change)).endswith(
        "is updated in place: its nodes are replaced, as many at once as the group's update setting allows"
    )


def test_nested_values_and_references_are_not_written_out() -> None:
    changes = compared(node(kubelet={"max_pods": 50}), node(kubelet={"max_pods": 50}, ami={"family": "bottlerocket"}))
    assert sentences_of(changes, UPDATE)[0].startswith("node_groups[gpu]: user data changed; disk changed: ")
    changes = compared(node_groups(EFA), node_groups(group("p4d.24xlarge", zones=["usw2-az1"])))
    assert "EFA interfaces changed; placement_group demo/gpu -> none" in sentences_of(changes, UPDATE)[0]
    tolerations = {"tolerations": [{"operator": "Exists"}]}
    changes = compared(
        with_cluster(), with_cluster(addons={"metrics-server": {"configuration": {**tolerations, "replicas": 3}}})
    )
    [said] = sentences_of(changes, UPDATE)
    assert "\n" not in said
    assert "tolerations:" not in said
    changes = compared(node_groups(GROUP), node_groups(GROUP, tags={f"team-{index}": "a" * 100 for index in range(30)}))
    assert max(map(len, sentences_of(changes, UPDATE))) < 300


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (node_groups(), "node_groups[gpu]: the placement group is DESTROYED"),
        (node_groups(group("p4d.24xlarge")), "node_groups[gpu]: the placement group is DESTROYED"),
        (
            node_groups(group("p4d.24xlarge", zones=["usw2-az1"])),
            "node_groups[gpu]: the placement group is DESTROYED: EC2 does not delete a placement group with "
            "running instances: remove its nodes first",
        ),
    ],
    ids=["its nodes go", "its nodes are replaced", "its nodes stay"],
)
def test_a_placement_group_goes_after_its_nodes(after: dict[str, Any], expected: str) -> None:
    """Terraform destroys its users first and updates its users later."""
    assert expected in sentences_of(compared(node_groups(EFA), after), DESTROY)


def test_the_output_names_what_aws_does_not_delete() -> None:
    changes = compared(node_groups(network={"zones": 3}), node_groups(network={"zones": 2}))
    [said] = [each for each in sentences_of(changes, DESTROY) if "subnet private-" in each]
    assert "AWS does not delete a subnet that still has network interfaces" in said
    changes = compared(node_groups(EFA), node_groups(group("p4d.24xlarge", zones=["usw2-az1"])))
    assert any("AWS does not delete a security group that is in use" in each for each in sentences_of(changes, DESTROY))


SUBNETS = {f"usw2-az{index}": f"subnet-0000000000000000{index}" for index in (1, 2)}


def existing_vpc(vpc_id: str) -> dict[str, Any]:
    return node_groups(network={"existing": {"vpc_id": vpc_id, "private_subnets": SUBNETS}})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (node_groups(), existing_vpc("vpc-00000000000000001")),
        (existing_vpc("vpc-00000000000000001"), node_groups()),
        (existing_vpc("vpc-00000000000000001"), existing_vpc("vpc-00000000000000002")),
    ],
    ids=["own to existing", "existing to own", "existing to existing"],
)
def test_a_control_plane_does_not_move(before: dict[str, Any], after: dict[str, Any]) -> None:
    if "network" in before and "network" in after:
        moved = {zone: subnet_id.replace("0000", "1111") for zone, subnet_id in SUBNETS.items()}
        after["network"]["existing"]["private_subnets"] = moved
    assert "EKS cannot move a control plane" in compared(before, after).notes[0]


def test_another_network_carries_everything() -> None:
    changes = compared(node_groups(GROUP), node_groups(GROUP, network={"cidr": "10.8.0.0/16"}))
    found = counted(changes)
    assert found["aws_vpc", REPLACE] == 1
    assert found["aws_subnet", REPLACE] == 8
    assert found[NODE_GROUP, REPLACE] == 2
    assert found["aws_eks_cluster", UPDATE] == 1
    assert [each.own for each in changes.resources if each.resource.type == NODE_GROUP] == [False, False]
    assert "EKS cannot move" in changes.notes[0]
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
    changes = compared(node_groups(GROUP), node_groups(GROUP, tags={"team": "a"}))
    assert {each.action for each in changes.resources} == {UPDATE}
    assert [each.only_tags for each in changes.resources if each.resource.type == "aws_vpc"] == [True]
    rolling = [each for each in changes.resources if each.resource.type == NODE_GROUP]
    assert [each.only_tags for each in rolling] == [False, False]
    assert all("its nodes are replaced" in str(sentence(each)) for each in rolling)


# Location of the deployment.


def test_another_name_is_another_deployment() -> None:
    changes = compared(strategy(GROUP), strategy(GROUP, name="other"))
    assert changes.state == "separate"
    assert {each.action for each in changes.resources} == {CREATE}
    assert "keep running" in changes.notes[0]


def test_another_name_in_the_same_state_replaces_everything_that_is_named() -> None:
    backend = {"type": "s3", "bucket": "state", "key": "shared.tfstate", "region": "us-west-2"}
    changes = compared(strategy(GROUP, backend=backend), strategy(GROUP, name="other", backend=backend))
    assert changes.state == "same"
    assert counted(changes)["aws_eks_cluster", REPLACE] == 1
    assert counted(changes)[NODE_GROUP, REPLACE] == 2


def test_another_region_leaves_everything_behind() -> None:
    changes = compared(strategy(GROUP), strategy(GROUP, region="us-east-1"))
    assert changes.state == "region"
    count = changes.count()
    assert count[Action.FORGET] > 30
    assert count[CREATE] > 30
    # Roles are global, but have the region in their name.
    assert {each.resource.type for each in changes.of(REPLACE)} == {
        "aws_iam_role",
        "aws_iam_role_policy",
        "aws_iam_role_policy_attachment",
    }
    assert "unmanaged" in changes.notes[0]


def test_a_moved_state_is_reported() -> None:
    changes = compared(strategy(GROUP), strategy(GROUP, backend={"type": "local", "path": "elsewhere.tfstate"}))
    assert (changes.state, changes.resources) == ("same", ())
    assert "migrate-state" in changes.notes[0]
    assert changes.any


# Every strategy.

FILES = [*sorted(FOLDER.glob("*.yaml")), *sorted(SPECIAL.glob("*.yaml"))]

# With a shared state, each is the successor of every other one.
SHARED = S3BackendSpec(type="s3", bucket="state", key="shared.tfstate", region="us-west-2")


def sharing(found: Strategy) -> Strategy:
    return found.model_copy(update={"backend": SHARED})


def test_what_is_compared_is_what_is_synthesized() -> None:
    """Without a file, and with the path of each construct."""
    [document] = synthesized_once(resolve(shipped("mixed-hardware")))
    assert Template.from_json(document).document == json.loads((GOLDEN / "mixed-hardware" / "stack.json").read_text())
    assert document["resource"]["aws_vpc"].popitem()[1]["//"]["metadata"]["path"].endswith("/platform/network/vpc")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_resource_follows_from_a_field(file: Path) -> None:
    """A resource without a pattern would be reported by its construct path."""
    found = resources(synthesized_once(resolve(sharing(load_strategy(file).strategy))))
    assert [each.address for each in found if "/" in each.owner] == []
    rows = facts.replacements()["resources"]
    assert {each.type for each in found} <= set(rows)


def test_every_row_is_used() -> None:
    """A row that no strategy uses is unnecessary."""
    given = [sharing(load_strategy(file).strategy) for file in FILES]
    lustre = {"fsx_lustre": {"kms_key_arn": KEY.format(1)}}
    given.append(strategy(**node(update={"strategy": "minimal"}), storage=lustre))
    used = {
        (each.type, argument)
        for found in given
        for each in resources(synthesized_once(resolve(found)))
        for argument in each.arguments
    }
    rows = {
        (type_, argument) for type_, row in facts.replacements()["resources"].items() for argument in row["arguments"]
    }
    assert rows - used == set()


def check_formats(changes: Changes) -> None:
    assert as_json(changes)["changed"] is changes.any
    assert as_markdown(changes).startswith("### ")
    assert as_text(changes)


@pytest.mark.parametrize(("before", "after"), list(itertools.permutations(SHIPPED, 2)))
def test_every_two_shipped_strategies(before: str, after: str) -> None:
    changes = compared(sharing(shipped(before)), sharing(shipped(after)))
    assert changes.state != "separate"
    assert unlisted(changes) == set()
    check_formats(changes)


@pytest.mark.parametrize("file", sorted(SPECIAL.glob("*.yaml")), ids=lambda file: file.stem)
def test_every_other_strategy(file: Path) -> None:
    found, mixed = sharing(load_strategy(file).strategy), sharing(shipped("mixed-hardware"))
    assert not compared(found, found).any
    check_formats(compared(mixed, found))
    check_formats(compared(found, mixed))
