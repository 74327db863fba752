"""One cluster in the emulator with features that mixed-hardware does not use.

It has an autoscaled group, p5 nodes with all their EFA interfaces, EFS and FSx for Lustre, and the permissions of their
drivers and of Mountpoint. It is planned again, changed and destroyed.
"""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from eks_hardware.aws_names import STRATEGY_TAG
from eks_hardware.doctor.aws import Aws
from eks_hardware.local.emulator import Emulator
from eks_hardware.local.readback import Account
from eks_hardware.models import Strategy
from eks_hardware.orphans import Orphan, find
from eks_hardware.resolve import resolve
from helpers.aws_requests import operation
from helpers.strategies import group
from helpers.synthesized import synthesize

FSX = "aws_fsx_lustre_file_system"
LUSTRE = {name: {"deployment": name, "size_gib": 2400} for name in ("persistent-2", "scratch-2")}
REGION = "us-west-2"
NAME = "options"
Resources = dict[str, list[dict[str, Any]]]
STORAGE = {
    "efs": {},
    "fsx_lustre": LUSTRE["persistent-2"],
    "s3_buckets": [{"name": "acme-datasets"}, {"name": "acme-checkpoints", "read_only": False}],
}


def synthesized_options(folder: Path, *, minimum: int = 2, storage: dict[str, Any] = STORAGE) -> Path:
    """Return the folder of the stack."""
    strategy = Strategy.model_validate(
        {
            "version": 1,
            "name": NAME,
            "region": REGION,
            "cluster": {"creator_is_admin": True},
            "network": {"zones": 2, "nat_gateways": "single", "pod_cidr": "100.64.0.0/16"},
            "node_groups": [
                group("m7i.xlarge", "system", scaling={"min": minimum, "max": 6, "autoscaled": True}),
                group("p5.48xlarge", "h100", efa=True, disk={"size_gib": 500}, labels={"team": "research"}),
            ],
            "kubernetes": {
                "delivery": "manifests",
                "cluster_autoscaler": True,
                "load_balancer_controller": True,
            },
            "storage": storage,
        }
    )
    (stack,) = synthesize(folder, [resolve(strategy)])
    return stack.file.parent


class Deployed(NamedTuple):
    """The deployed stack: its Terraform project and its account."""

    project: Any
    account: Account

    @contextlib.contextmanager
    def changed(self, document: str) -> Iterator[Any]:
        """Give the stack another configuration for the duration of the block."""
        file = self.project.stack_dir / "cdk.tf.json"
        before = file.read_bytes()
        file.write_text(document, encoding="utf-8")
        try:
            yield self.project
        finally:
            file.write_bytes(before)

    def template(self, name: str) -> dict[str, Any]:
        answer = self.account.client("ec2").describe_launch_template_versions(
            LaunchTemplateName=f"{NAME}/{name}", Versions=["$Latest"]
        )
        data: dict[str, Any] = answer["LaunchTemplateVersions"][0]["LaunchTemplateData"]
        return data

    def roles(self) -> dict[str, str]:
        """Return the role of every service account with a Pod Identity association."""
        eks = self.account.client("eks")
        found = {
            each["serviceAccount"]: eks.describe_pod_identity_association(
                clusterName=NAME, associationId=each["associationId"]
            )["association"]["roleArn"]
            for each in eks.list_pod_identity_associations(clusterName=NAME)["associations"]
        }
        return {name: arn.rpartition("/")[2] for name, arn in found.items()}


@pytest.fixture(scope="module")
def deployed(
    deploy: Any, account: Callable[[str], Account], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployed]:
    """Deploy once; destroy must leave nothing behind."""
    here = account(REGION)
    file_systems, lustre = here.client("efs").describe_file_systems, here.client("fsx")
    before, before_efs = here.inventory(), file_systems()["FileSystems"]
    with deploy.directly(synthesized_options(tmp_path_factory.mktemp("options") / "out")) as project:
        yield Deployed(project, here)
        # Terraform waits ten minutes before it looks whether FSx has deleted a file system.
        (state,) = (each for each in project.addresses() if each.startswith(f"{FSX}."))
        project.run("state", "rm", state)
        for each in lustre.describe_file_systems()["FileSystems"]:
            lustre.delete_file_system(FileSystemId=each["FileSystemId"])
    assert here.inventory() == before, "destroy left something behind"
    assert file_systems()["FileSystems"] == before_efs


@pytest.mark.usefixtures("deployed")
def test_the_requests_that_conftest_checks_are_recorded(emulator: Emulator) -> None:
    assert emulator.requests_file is not None
    requests = map(json.loads, emulator.requests_file.read_text(encoding="utf-8").splitlines())
    names = {(each.service, each.name) for each in map(operation, requests)}
    assert names >= {("ec2", "CreateLaunchTemplate"), ("eks", "CreateNodegroup"), ("iam", "CreateRole")}
    assert {service for service, _ in names} >= {"efs", "kms", "logs"}


# --- EFA


def test_every_card_of_p5_carries_efa(deployed: Deployed) -> None:
    # https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html, written out instead of computed.
    expected = [(0, 0, "interface"), (0, 1, "efa-only"), *((card, 0, "efa-only") for card in range(1, 32))]
    actual = deployed.template("h100")["NetworkInterfaces"]
    assert [(each["NetworkCardIndex"], each["DeviceIndex"], each["InterfaceType"]) for each in actual] == expected


def test_efa_group_is_in_one_zone_and_one_placement_group(deployed: Deployed) -> None:
    found = deployed.account.client("eks").describe_nodegroup(clusterName=NAME, nodegroupName="h100")["nodegroup"]
    assert len(found["subnets"]) == 1
    assert deployed.template("h100")["Placement"]["GroupName"] == f"{NAME}/h100"
    assert "Placement" not in deployed.template("system")


def test_p5_node_group(deployed: Deployed) -> None:
    found = deployed.account.client("eks").describe_nodegroup(clusterName=NAME, nodegroupName="h100")["nodegroup"]
    assert found["amiType"] == "AL2023_x86_64_NVIDIA"
    assert found["labels"]["accelerator"] == "h100"
    assert found["labels"]["team"] == "research"
    assert found["taints"] == [{"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}]
    [disk] = deployed.template("h100")["BlockDeviceMappings"]
    assert disk["Ebs"]["VolumeSize"] == 500


# --- storage


def test_file_system(deployed: Deployed) -> None:
    efs, ec2 = deployed.account.client("efs"), deployed.account.client("ec2")
    [file_system] = efs.describe_file_systems(CreationToken=f"{NAME}-efs")["FileSystems"]
    assert (file_system["Encrypted"], file_system["ThroughputMode"]) == (True, "elastic")
    targets = efs.describe_mount_targets(FileSystemId=file_system["FileSystemId"])["MountTargets"]
    subnets = ec2.describe_subnets(SubnetIds=[each["SubnetId"] for each in targets])["Subnets"]
    names = {tag["Value"] for subnet in subnets for tag in subnet["Tags"] if tag["Key"] == "Name"}
    document = deployed.project.document()
    private = {each["tags"]["Name"] for each in document["resource"]["aws_subnet"].values()}
    assert names == {each for each in private if f"{NAME}-private-" in each}
    assert len(names) == 2


def test_lustre_is_in_the_zone_of_the_training_nodes(deployed: Deployed) -> None:
    (found,) = deployed.account.client("fsx").describe_file_systems()["FileSystems"]
    settings = found["LustreConfiguration"]
    assert (found["StorageCapacity"], settings["DeploymentType"], settings["PerUnitStorageThroughput"]) == (
        2400,
        "PERSISTENT_2",
        250,
    )
    group = deployed.account.client("eks").describe_nodegroup(clusterName=NAME, nodegroupName="h100")["nodegroup"]
    assert found["SubnetIds"] == group["subnets"]


def test_pods_have_subnets_of_their_own_network(deployed: Deployed) -> None:
    ec2 = deployed.account.client("ec2")
    (vpc,) = ec2.describe_vpcs(Filters=[{"Name": "tag:Name", "Values": [NAME]}])["Vpcs"]
    assert {each["CidrBlock"] for each in vpc["CidrBlockAssociationSet"]} == {"10.0.0.0/16", "100.64.0.0/16"}
    subnets = ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [vpc["VpcId"]]}])["Subnets"]
    of_pods = [each for each in subnets if each["CidrBlock"].startswith("100.")]
    assert len({each["AvailabilityZoneId"] for each in of_pods}) == 2


def test_permissions_of_the_drivers(deployed: Deployed) -> None:
    iam, roles = deployed.account.client("iam"), deployed.roles()
    attached = iam.list_attached_role_policies(RoleName=roles["efs-csi-controller-sa"])["AttachedPolicies"]
    assert [each["PolicyArn"].rpartition("/")[2] for each in attached] == ["AmazonEFSCSIDriverPolicy"]
    mountpoint = roles["s3-csi-driver-sa"]
    assert iam.list_attached_role_policies(RoleName=mountpoint)["AttachedPolicies"] == []
    document = iam.get_role_policy(RoleName=mountpoint, PolicyName="storage")["PolicyDocument"]
    allowed = {each["Sid"]: each["Resource"] for each in document["Statement"]}
    assert allowed == {
        "ListBuckets": ["arn:aws:s3:::acme-datasets", "arn:aws:s3:::acme-checkpoints"],
        "ReadObjects": ["arn:aws:s3:::acme-datasets/*", "arn:aws:s3:::acme-checkpoints/*"],
        "WriteObjects": "arn:aws:s3:::acme-checkpoints/*",
    }


# --- a node group whose size an autoscaler sets (docs/adr/0007-desired-size.md)


def planned_resources(plan: Any) -> Resources:
    """Return resources after a plan, by type."""
    found: Resources = {}
    for each in plan.document["resource_changes"]:
        found.setdefault(each["type"], []).append(each["change"]["after"])
    return found


def sizes(resources: Resources) -> tuple[int, int]:
    """Return minimum and desired size of the system group."""
    [scaling] = [
        scaling
        for each in resources["aws_eks_node_group"]
        if each["node_group_name"] == "system"
        for scaling in each["scaling_config"]
    ]
    return scaling["min_size"], scaling["desired_size"]


@pytest.fixture(scope="module")
def autoscaled(deployed: Deployed) -> Iterator[Deployed]:
    """Let an autoscaler change the size of the system group from 2 to 4, where EKS would keep it."""
    system = {"clusterName": NAME, "nodegroupName": "system"}
    found = deployed.account.client("eks").describe_nodegroup(**system)["nodegroup"]["scalingConfig"]
    assert found == {"minSize": 2, "maxSize": 6, "desiredSize": 2}
    client = deployed.account.client("autoscaling")
    # With EKS's tags for node groups. The emulator creates no Auto Scaling group.
    tags = {"eks:cluster-name": NAME, "eks:nodegroup-name": "system"}
    of_the_group = {"PropagateAtLaunch": True, "ResourceId": "eks-system-1", "ResourceType": "auto-scaling-group"}
    client.create_auto_scaling_group(
        AutoScalingGroupName="eks-system-1",
        MinSize=2,
        MaxSize=6,
        DesiredCapacity=4,
        AvailabilityZones=[f"{REGION}a"],
        LaunchTemplate={"LaunchTemplateName": f"{NAME}/system", "Version": "1"},
        Tags=[{"Key": key, "Value": value, **of_the_group} for key, value in tags.items()],
    )
    yield deployed
    client.delete_auto_scaling_group(AutoScalingGroupName="eks-system-1", ForceDelete=True)


def test_the_look_up_names_nothing_that_a_plan_does_not_know(deployed: Deployed) -> None:
    [found] = deployed.project.document()["data"]["aws_autoscaling_groups"].values()
    assert [each["values"] for each in found["filter"]] == [[NAME], ["system"]]


def test_a_second_plan_keeps_the_size_and_changes_nothing_else(autoscaled: Deployed) -> None:
    """The emulator's node group still has 2 nodes, so that its update shows the size that Terraform would set."""
    assert {"cluster-autoscaler", "aws-load-balancer-controller"} <= set(autoscaled.roles())
    plan = autoscaled.project.plan()
    assert list(plan.changes.values()) == ["update"]
    assert sizes(planned_resources(plan)) == (2, 4)
    (change,) = (each["change"] for each in plan.document["resource_changes"] if each["address"] in plan.changes)
    different = {name for name, value in change["after"].items() if change["before"][name] != value}
    assert (different, change["after_unknown"]) == ({"scaling_config"}, {})


# --- changes that are only planned, all in one plan, because Terraform takes seconds to start


@pytest.fixture(scope="module")
def planned(autoscaled: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Resources:
    """Return the plan for a higher minimum, and for both deployment types of Lustre."""
    document, other = (
        json.loads((synthesized_options(folder / "out", minimum=5, storage=storage) / "cdk.tf.json").read_bytes())
        for each in LUSTRE.values()
        for folder, storage in [(tmp_path_factory.mktemp("lustre"), {**STORAGE, "fsx_lustre": each})]
    )
    document["resource"][FSX]["other"] = next(iter(other["resource"][FSX].values()))
    with autoscaled.changed(json.dumps(document)) as project:
        return planned_resources(project.plan())


def test_a_minimum_above_the_running_number_raises_both(planned: Resources) -> None:
    """Ignoring the size would fail."""
    assert sizes(planned) == (5, 5)


def test_the_provider_plans_lustre(planned: Resources) -> None:
    assert {
        each["deployment_type"]: (each["per_unit_storage_throughput"], each["skip_final_backup"])
        for each in planned[FSX]
    } == {
        "PERSISTENT_2": (250, False),
        "SCRATCH_2": (None, True),
    }
    assert {(each["storage_capacity"], each["file_system_type_version"]) for each in planned[FSX]} == {(2400, "2.15")}


def test_orphans_finds_storage_and_the_block_for_pods(deployed: Deployed) -> None:
    """With the state lost of each. It is last, because an import leaves out what AWS does not return."""
    project = deployed.project
    kinds = ("aws_efs_file_system", "aws_efs_mount_target", FSX, "aws_vpc_ipv4_cidr_block_association")
    lost = {each for each in project.addresses() if each.partition(".")[0] in kinds}
    assert {each.partition(".")[0] for each in lost} == {*kinds}

    def found() -> tuple[Orphan, ...]:
        state = json.loads(project.run("state", "pull").stdout)
        aws = Aws(deployed.account.client)  # asks each question once
        report = find(project.document(), state, aws, strategy=NAME, region=REGION, folder=project.stack_dir)
        assert report.not_checked == ()
        return report.orphans

    assert found() == ()
    project.run("state", "rm", *lost)
    while lost:
        orphans = found()
        assert {each.address for each in orphans} <= lost
        for each in orphans:
            project.run("import", "-input=false", each.address, each.id)
        lost -= {each.address for each in orphans}
    assert found() == ()
    # An import does not record what depends on what, which a destroy without a refresh needs for its order.
    project.run("apply", "-refresh-only", "-auto-approve", "-input=false")

    efs, subnets = deployed.account.client("efs"), deployed.account.client("ec2").describe_subnets()["Subnets"]
    tags = [{"Key": STRATEGY_TAG, "Value": NAME}]
    second = efs.create_file_system(CreationToken="second", Tags=tags)["FileSystemId"]
    efs.create_mount_target(FileSystemId=second, SubnetId=subnets[0]["SubnetId"])
    (orphan,) = found()
    assert (orphan.id, orphan.address) == (second, "")
    for command in orphan.commands:
        project.aws(*shlex.split(command)[1:])
    assert found() == ()
