"""Shared storage: zones, add-ons with their permissions, and the mount setup of nodes."""

from __future__ import annotations

import subprocess
from typing import Any

from eks_hardware import facts
from eks_hardware.iam_policies.document import policy
from eks_hardware.models import StorageSpec
from eks_hardware.resolve import ResolvedAddon, ResolvedStrategy, resolve
from eks_hardware.resolve.addons import storage_addons
from eks_hardware.resolve.zones import fsx_zone
from helpers.cases import in_one_test
from helpers.strategies import group, strategy

EFA = group("p5.48xlarge", name="efa", workload="training", efa=True, zones=["usw2-az3"])
TRAINING = group("g5.xlarge", name="training", workload="training", zones=["usw2-az2", "usw2-az1"])
BOTTLEROCKET = {"family": "bottlerocket"}


def resolved_with_storage(*groups: dict[str, Any], **storage: Any) -> ResolvedStrategy:
    return resolve(strategy(*groups, storage=storage))


def csi_drivers(resolved_: ResolvedStrategy) -> dict[str, ResolvedAddon]:
    return {addon.name: addon for addon in resolved_.cluster.addons if addon.name.endswith("csi-driver")}


def test_nothing_unless_it_is_asked_for() -> None:
    result = resolved_with_storage(EFA)
    assert (result.storage.fsx_lustre, result.storage.efs, result.storage.buckets) == (None, None, ())
    assert csi_drivers(result) == {}
    assert {each.shell for each in result.node_groups} == {()}


# --- FSx for Lustre


@in_one_test(
    ("groups", "fsx", "expected"),
    [
        ([EFA], {"zone": "usw2-az1"}, "usw2-az1"),
        ([TRAINING, EFA], {}, "usw2-az3"),
        ([TRAINING], {}, "usw2-az1"),
        ([], {}, "usw2-az1"),
    ],
    ids=["its own", "of the nodes with EFA", "of training", "of any"],
)
def test_the_zone_is_that_of_its_clients(groups: list[dict[str, Any]], fsx: dict[str, Any], expected: str) -> None:
    lustre = resolved_with_storage(*groups, fsx_lustre=fsx).storage.fsx_lustre
    assert lustre is not None
    assert lustre.zone_id == expected


def test_nodes_of_the_system_come_last() -> None:
    storage = StorageSpec.model_validate({"fsx_lustre": {}})
    assert fsx_zone(storage, [("system", ("a",)), ("inference", ("b",))]) == "b"
    assert fsx_zone(storage, [("system", ("a",))]) == "a"
    assert fsx_zone(StorageSpec(), [("training", ("a",))]) is None


def test_defaults_of_lustre() -> None:
    lustre = resolved_with_storage(EFA, fsx_lustre={}).storage.fsx_lustre
    assert lustre is not None
    assert (lustre.size_gib, lustre.deployment_type, lustre.throughput_mibps_per_tib) == (1200, "PERSISTENT_2", 250)
    assert (lustre.lustre_version, lustre.ports) == ("2.15", ((988, 988), (1018, 1023)))


def test_scratch_has_no_throughput() -> None:
    lustre = resolved_with_storage(EFA, fsx_lustre={"deployment": "scratch-2"}).storage.fsx_lustre
    assert lustre is not None
    assert (lustre.deployment_type, lustre.throughput_mibps_per_tib) == ("SCRATCH_2", None)


def test_every_al2023_node_installs_the_client_and_no_bottlerocket_one() -> None:
    document = strategy(
        EFA,
        group(name="bottlerocket", ami=BOTTLEROCKET),
        storage={"fsx_lustre": {}},
        karpenter={
            "node_pools": [
                {"name": "pool", "instance_families": ["g6"], "limits": {"nvidia.com/gpu": 8}},
                {"name": "bare", "instance_families": ["c7i"], "ami": BOTTLEROCKET, "limits": {"cpu": 8}},
            ]
        },
    )
    result = resolve(document)
    with_client = {each.name for each in (*result.node_groups, *result.node_pools) if each.shell}
    assert with_client == {"system", "efa", "pool"}


def test_the_script_is_a_script_that_envsubst_leaves_alone() -> None:
    script = "\n".join(facts.storage()["lustre_client"]["al2023"])
    assert script.isascii()
    assert "$" not in script
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# --- EFS


def test_efs_is_in_every_zone_of_the_network() -> None:
    efs = resolved_with_storage(efs={}).storage.efs
    assert efs is not None
    assert efs.zone_ids == ("usw2-az1", "usw2-az2", "usw2-az3")
    assert (efs.throughput_mode, efs.port, efs.kms_key_arn) == ("elastic", 2049, None)


# --- add-ons and permissions


def test_each_storage_brings_its_driver() -> None:
    asked = {"fsx_lustre": {}, "efs": {}, "s3_buckets": [{"name": "data"}]}
    assert set(csi_drivers(resolved_with_storage(EFA, **asked))) == {
        "aws-fsx-csi-driver",
        "aws-efs-csi-driver",
        "aws-mountpoint-s3-csi-driver",
    }


def test_lustre_that_exists_is_only_listed() -> None:
    addon = csi_drivers(resolved_with_storage(EFA, fsx_lustre={}))["aws-fsx-csi-driver"]
    assert addon.policy_arns == ()
    assert [each["Action"] for each in addon.statements] == ["fsx:DescribeFileSystems"]
    assert (addon.service_account, addon.role_name) == ("fsx-csi-controller-sa", "demo-us-west-2-aws-fsx-csi-driver")


def test_who_names_the_add_on_gets_all_that_it_can_do() -> None:
    document = strategy(EFA, storage={"fsx_lustre": {}}, cluster={"addons": {"aws-fsx-csi-driver": {}}})
    addon = csi_drivers(resolve(document))["aws-fsx-csi-driver"]
    assert addon.policy_arns == ("arn:aws:iam::aws:policy/AmazonFSxFullAccess",)
    assert addon.statements == ()


def test_efs_makes_access_points() -> None:
    addon = csi_drivers(resolved_with_storage(efs={}))["aws-efs-csi-driver"]
    assert addon.policy_arns == ("arn:aws:iam::aws:policy/service-role/AmazonEFSCSIDriverPolicy",)


def test_buckets_are_the_only_ones() -> None:
    storage = StorageSpec.model_validate(
        {"s3_buckets": [{"name": "data-in"}, {"name": "data-out", "read_only": False}]}
    )
    statements = storage_addons(storage, partition="aws-us-gov")["aws-mountpoint-s3-csi-driver"]
    assert [(each["Action"], each["Resource"]) for each in statements] == [
        ("s3:ListBucket", ["arn:aws-us-gov:s3:::data-in", "arn:aws-us-gov:s3:::data-out"]),
        ("s3:GetObject", ["arn:aws-us-gov:s3:::data-in/*", "arn:aws-us-gov:s3:::data-out/*"]),
        (["s3:AbortMultipartUpload", "s3:DeleteObject", "s3:PutObject"], "arn:aws-us-gov:s3:::data-out/*"),
    ]


def test_buckets_that_are_read_are_not_written() -> None:
    statements = csi_drivers(resolved_with_storage(s3_buckets=[{"name": "data-in"}]))[
        "aws-mountpoint-s3-csi-driver"
    ].statements
    assert [each["Action"] for each in statements] == ["s3:ListBucket", "s3:GetObject"]


def test_the_most_buckets_fit_into_a_role() -> None:
    """IAM allows 10,240 characters for all inline policies of a role, without white space.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
    """
    names = [f"{index:02}{'b' * 61}" for index in range(20)]
    storage = StorageSpec.model_validate({"s3_buckets": [{"name": name, "read_only": False} for name in names]})
    statements = storage_addons(storage, partition="aws-us-gov")["aws-mountpoint-s3-csi-driver"]
    assert len(policy(*statements)) < 10240


def test_a_driver_without_buckets_has_no_role() -> None:
    document = strategy(cluster={"addons": {"aws-mountpoint-s3-csi-driver": {}}})
    addon = csi_drivers(resolve(document))["aws-mountpoint-s3-csi-driver"]
    assert (addon.service_account, addon.namespace, addon.role_name) == (None, None, None)
