"""Capacity Reservations, Capacity Blocks and events of the emulator, for Karpenter, node groups and `doctor`."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from eks_hardware.local.emulator import Emulator
from eks_hardware.local.emulator_patches import events
from eks_hardware.local.readback import Account
from helpers.cases import in_one_test
from helpers.emulated_ec2 import REGION, aws_error, fleet, running_instances

ROLE = "arn:aws:iam::000000000000:role/node"
EXCEEDED = ("ReservationCapacityExceeded", 400)
MINUTE = datetime.timedelta(minutes=1)


@pytest.fixture
def moved(emulator: Emulator) -> Iterator[Emulator]:
    """Return an emulator with its own time, which is that of this machine at the end."""
    yield emulator
    emulator.set_clock_ahead(datetime.timedelta())


class Queue:
    """A queue that a rule of EventBridge feeds."""

    def __init__(self, aws: Account, name: str, pattern: Mapping[str, Any]) -> None:
        self._sqs = aws.client("sqs")
        self.url = self._sqs.create_queue(QueueName=name)["QueueUrl"]
        rules = aws.client("events")
        rules.put_rule(Name=name, EventPattern=json.dumps(pattern))
        arn = f"arn:aws:sqs:{REGION}:000000000000:{name}"
        rules.put_targets(Rule=name, Targets=[{"Id": "queue", "Arn": arn}])

    def events(self) -> list[dict[str, Any]]:
        """Return the events that arrived since the last call."""
        found: list[dict[str, Any]] = []
        while messages := self._sqs.receive_message(QueueUrl=self.url, MaxNumberOfMessages=10).get("Messages"):
            for each in messages:
                self._sqs.delete_message(QueueUrl=self.url, ReceiptHandle=each["ReceiptHandle"])
                found.append(json.loads(each["Body"]))
        return found


@pytest.fixture(scope="module")
def queue(aws: Account) -> Queue:
    return Queue(aws, "every-event", {"source": ["aws.ec2", "aws.health"]})


def create_reservation(ec2: Any, instance_type: str, zone: str, count: int = 1, **fields: Any) -> str:
    """Create a reservation that an instance has to target; return its ID."""
    asked = {"InstancePlatform": "Linux/UNIX", "InstanceMatchCriteria": "targeted", **fields}
    made = ec2.create_capacity_reservation(
        InstanceType=instance_type, AvailabilityZone=zone, InstanceCount=count, **asked
    )
    return str(made["CapacityReservation"]["CapacityReservationId"])


def describe_reservation(ec2: Any, reservation: str) -> dict[str, Any]:
    (found,) = ec2.describe_capacity_reservations(CapacityReservationIds=[reservation])["CapacityReservations"]
    return dict(found)


def targeting(reservation: str) -> dict[str, Any]:
    """Return a launch template's field that names a reservation, as Karpenter writes it."""
    return {
        "CapacityReservationSpecification": {
            "CapacityReservationPreference": "capacity-reservations-only",
            "CapacityReservationTarget": {"CapacityReservationId": reservation},
        }
    }


def buy_block(ec2: Any, instance_type: str, subnets: Mapping[str, str], hours: int = 24) -> dict[str, Any]:
    """Buy the Capacity Block of one instance that a zone with a subnet offers; return its reservation."""
    offered = ec2.describe_capacity_block_offerings(
        InstanceType=instance_type, InstanceCount=1, CapacityDurationHours=hours
    )["CapacityBlockOfferings"]
    offering = next(each for each in offered if each["AvailabilityZone"] in subnets)
    return dict(
        ec2.purchase_capacity_block(
            CapacityBlockOfferingId=offering["CapacityBlockOfferingId"], InstancePlatform="Linux/UNIX"
        )["CapacityReservation"]
    )


# --- reservations


def test_a_reservation_is_described_with_its_count(ec2: Any, subnets: dict[str, str]) -> None:
    zone, _ = sorted(subnets)
    tags = [{"ResourceType": "capacity-reservation", "Tags": [{"Key": "purpose", "Value": "described"}]}]
    name = create_reservation(ec2, "g6.xlarge", zone, 3, TagSpecifications=tags)
    found = describe_reservation(ec2, name)
    assert found["CapacityReservationArn"].endswith(f":capacity-reservation/{name}")
    assert (found["TotalInstanceCount"], found["AvailableInstanceCount"], found["State"]) == (3, 3, "active")
    assert (found["AvailabilityZoneId"], found["ReservationType"]) == ("usw2-az1", "default")
    assert (found["InstanceMatchCriteria"], found["EndDateType"]) == ("targeted", "unlimited")
    assert found["Tags"] == [{"Key": "purpose", "Value": "described"}]

    ec2.modify_capacity_reservation(CapacityReservationId=name, InstanceCount=5)
    assert describe_reservation(ec2, name)["AvailableInstanceCount"] == 5
    ec2.cancel_capacity_reservation(CapacityReservationId=name)
    assert (describe_reservation(ec2, name)["State"], describe_reservation(ec2, name)["AvailableInstanceCount"]) == (
        "cancelled",
        0,
    )


@in_one_test(
    ("name", "values", "is_found"),
    [
        ("state", ["active"], True),
        ("state", ["cancelled"], False),
        ("tag:purpose", ["filtered"], True),
        ("tag:purpose", ["another"], False),
        ("tag-key", ["purpose"], True),
        ("instance-type", ["g6.2xlarge", "g6.4xlarge"], True),
        ("instance-match-criteria", ["open"], False),
        ("owner-id", ["000000000000"], True),
        ("owner-id", ["111122223333"], False),
    ],
)
def test_filters(ec2: Any, subnets: dict[str, str], name: str, values: list[str], is_found: bool) -> None:
    tags = [{"ResourceType": "capacity-reservation", "Tags": [{"Key": "purpose", "Value": "filtered"}]}]
    made = create_reservation(ec2, "g6.2xlarge", min(subnets), TagSpecifications=tags)
    found = ec2.describe_capacity_reservations(Filters=[{"Name": name, "Values": values}])["CapacityReservations"]
    assert (made in [each["CapacityReservationId"] for each in found]) == is_found


def test_unknown_reservations_and_filters_are_errors(ec2: Any) -> None:
    unknown = {"CapacityReservationId": "cr-0123456789abcdef0"}
    code = ("InvalidCapacityReservationId.NotFound", 400)
    assert aws_error(ec2.cancel_capacity_reservation, **unknown) == code
    assert aws_error(ec2.modify_capacity_reservation, InstanceCount=1, **unknown) == code
    assert aws_error(ec2.describe_capacity_reservations, CapacityReservationIds=list(unknown.values())) == code
    run = {"InstanceType": "g6.xlarge", "ImageId": "ami-0123456789abcdef0", "MinCount": 1, "MaxCount": 1}
    assert aws_error(ec2.run_instances, **run, **targeting(unknown["CapacityReservationId"])) == code
    market = {"InstanceMarketOptions": {"MarketType": "capacity-block"}}
    assert aws_error(ec2.run_instances, **run, **market) == EXCEEDED
    filters = [{"Name": "colour", "Values": ["red"]}]
    assert aws_error(ec2.describe_capacity_reservations, Filters=filters) == ("InvalidParameterValue", 400)


def test_a_fleet_takes_from_the_count_until_it_is_used_up(ec2: Any, subnets: dict[str, str]) -> None:
    (zone, subnet), _ = sorted(subnets.items())
    name = create_reservation(ec2, "g6.8xlarge", zone)
    ec2.create_launch_template(LaunchTemplateName="reserved", LaunchTemplateData=targeting(name))
    asked = fleet({"InstanceType": "g6.8xlarge", "SubnetId": subnet}, template="reserved", count=2)
    answer = ec2.create_fleet(**asked)
    (launched,), (error,) = answer["Instances"], answer["Errors"]
    assert (len(launched["InstanceIds"]), error["ErrorCode"]) == (1, "ReservationCapacityExceeded")
    assert error["LaunchTemplateAndOverrides"]["Overrides"]["AvailabilityZone"] == zone
    (instance,) = running_instances(ec2, of="reserved")
    assert instance["CapacityReservationId"] == name
    told = instance["CapacityReservationSpecification"]
    assert told == targeting(name)["CapacityReservationSpecification"]
    assert describe_reservation(ec2, name)["AvailableInstanceCount"] == 0

    ec2.terminate_instances(InstanceIds=launched["InstanceIds"])
    assert describe_reservation(ec2, name)["AvailableInstanceCount"] == 1
    assert len(ec2.create_fleet(**asked)["Instances"]) == 1


def test_a_reservation_of_another_type_or_zone_is_refused(ec2: Any, subnets: dict[str, str]) -> None:
    (zone, subnet), (_, other) = sorted(subnets.items())
    name = create_reservation(ec2, "g6.16xlarge", zone)
    ec2.create_launch_template(LaunchTemplateName="another", LaunchTemplateData=targeting(name))
    for override in (
        {"InstanceType": "g6.xlarge", "SubnetId": subnet},
        {"InstanceType": "g6.16xlarge", "SubnetId": other},
    ):
        answer = ec2.create_fleet(**fleet(override, template="another"))
        assert [each["ErrorCode"] for each in answer["Errors"]] == ["ReservationCapacityExceeded"]
        assert answer["Instances"] == []
    assert describe_reservation(ec2, name)["AvailableInstanceCount"] == 1


def test_run_instances_starts_all_or_nothing(ec2: Any, subnets: dict[str, str]) -> None:
    (zone, subnet), _ = sorted(subnets.items())
    name = create_reservation(ec2, "g5.2xlarge", zone)
    data = {"InstanceType": "g5.2xlarge", "ImageId": "ami-0123456789abcdef0", **targeting(name)}
    ec2.create_launch_template(LaunchTemplateName="run", LaunchTemplateData=data)
    asked = {"LaunchTemplate": {"LaunchTemplateName": "run"}, "SubnetId": subnet, "MinCount": 1}
    before = len(running_instances(ec2))
    assert aws_error(ec2.run_instances, **{**asked, "MinCount": 2}, MaxCount=2) == EXCEEDED
    assert len(running_instances(ec2)) == before
    (instance,) = ec2.run_instances(**asked, MaxCount=2)["Instances"]
    assert (instance["InstanceType"], instance["CapacityReservationId"]) == ("g5.2xlarge", name)
    assert aws_error(ec2.run_instances, **asked, MaxCount=1) == EXCEEDED
    ec2.stop_instances(InstanceIds=[instance["InstanceId"]])
    assert describe_reservation(ec2, name)["AvailableInstanceCount"] == 1


def test_an_open_reservation_is_used_by_instances_that_fit(ec2: Any, subnets: dict[str, str]) -> None:
    (zone, subnet), _ = sorted(subnets.items())
    name = create_reservation(ec2, "g5.4xlarge", zone, InstanceMatchCriteria="open")
    none = {"CapacityReservationSpecification": {"CapacityReservationPreference": "none"}}
    ec2.create_launch_template(LaunchTemplateName="open", LaunchTemplateData={})
    ec2.create_launch_template(LaunchTemplateName="outside", LaunchTemplateData=none)
    override = {"InstanceType": "g5.4xlarge", "SubnetId": subnet}
    for template, capacity, free in (("outside", "on-demand", 1), ("open", "spot", 1), ("open", "on-demand", 0)):
        (launched,) = ec2.create_fleet(**fleet(override, template=template, capacity=capacity))["Instances"]
        assert launched["InstanceIds"]
        assert describe_reservation(ec2, name)["AvailableInstanceCount"] == free
    # More instances run outside it.
    assert len(ec2.create_fleet(**fleet(override, template="open"))["Instances"]) == 1


def test_a_node_group_starts_as_many_nodes_as_its_reservation_has(aws: Account, subnets: dict[str, str]) -> None:
    ec2, eks, groups = aws.client("ec2"), aws.client("eks"), aws.client("resource-groups")
    (zone, subnet), _ = sorted(subnets.items())
    name = create_reservation(ec2, "p4d.24xlarge", zone, 2)
    group = groups.create_group(Name="reserved", Configuration=[{"Type": "AWS::EC2::CapacityReservationPool"}])
    arn = group["Group"]["GroupArn"]
    groups.group_resources(Group=arn, ResourceArns=[describe_reservation(ec2, name)["CapacityReservationArn"]])
    target = {"CapacityReservationTarget": {"CapacityReservationResourceGroupArn": arn}}
    data = {"InstanceType": "p4d.24xlarge", "CapacityReservationSpecification": target}
    ec2.create_launch_template(LaunchTemplateName="of-reserved", LaunchTemplateData=data)
    eks.create_cluster(name="reserved", roleArn=ROLE, resourcesVpcConfig={"subnetIds": list(subnets.values())})
    eks.create_nodegroup(
        clusterName="reserved",
        nodegroupName="n",
        nodeRole=ROLE,
        subnets=[subnet],
        amiType="AL2023_x86_64_NVIDIA",
        launchTemplate={"name": "of-reserved", "version": "1"},
        scalingConfig={"minSize": 0, "maxSize": 3, "desiredSize": 3},
    )
    there = running_instances(ec2, **{"eks_cluster-name": "reserved"})
    assert [each["CapacityReservationId"] for each in there] == [name, name]
    eks.delete_nodegroup(clusterName="reserved", nodegroupName="n")
    assert describe_reservation(ec2, name)["AvailableInstanceCount"] == 2


def test_a_reservation_with_an_end_expires_and_its_instances_stay(
    moved: Emulator, ec2: Any, subnets: dict[str, str]
) -> None:
    (zone, subnet), _ = sorted(subnets.items())
    end = datetime.datetime.now(datetime.timezone.utc) + 60 * MINUTE
    name = create_reservation(ec2, "g5.8xlarge", zone, EndDate=end, EndDateType="limited")
    ec2.create_launch_template(LaunchTemplateName="limited", LaunchTemplateData=targeting(name))
    override = {"InstanceType": "g5.8xlarge", "SubnetId": subnet}
    ec2.create_fleet(**fleet(override, template="limited"))
    moved.set_clock_ahead(61 * MINUTE)
    (instance,) = running_instances(ec2, of="limited")
    assert "CapacityReservationId" not in instance
    assert describe_reservation(ec2, name)["State"] == "expired"
    (error,) = ec2.create_fleet(**fleet(override, template="limited"))["Errors"]
    assert error["ErrorCode"] == "ReservationCapacityExceeded"


def test_reservations_with_given_ids(emulator: Emulator, aws: Account) -> None:
    ec2 = aws.client("ec2")
    arn = aws.client("resource-groups").create_group(Name="given")["Group"]["GroupArn"]
    hardware = {"instance_type": "p5.48xlarge", "zone_id": "usw2-az4", "count": 2}
    emulator.add_reservations(
        REGION,
        [
            {**hardware, "id": "cr-11111111111111111", "is_block": True, "group_arn": arn},
            {**hardware, "tags": {"purpose": "given"}, "owner": "444455556666"},
        ],
    )
    block = describe_reservation(ec2, "cr-11111111111111111")
    assert (block["ReservationType"], block["State"], block["AvailableInstanceCount"]) == (
        "capacity-block",
        "active",
        2,
    )
    assert block["EndDate"] - block["StartDate"] == datetime.timedelta(days=7)
    members = aws.client("resource-groups").list_group_resources(Group=arn)["ResourceIdentifiers"]
    assert [each["ResourceArn"] for each in members] == [block["CapacityReservationArn"]]
    filters = [{"Name": "tag:purpose", "Values": ["given"]}, {"Name": "owner-id", "Values": ["444455556666"]}]
    (shared,) = ec2.describe_capacity_reservations(Filters=filters)["CapacityReservations"]
    assert (shared["ReservationType"], shared["AvailabilityZoneId"]) == ("default", "usw2-az4")


# --- Capacity Blocks


def test_a_block_ends_its_instances_30_minutes_before_its_end(
    moved: Emulator, ec2: Any, subnets: dict[str, str], queue: Queue
) -> None:
    block = buy_block(ec2, "p5.48xlarge", subnets)
    name, zone = block["CapacityReservationId"], block["AvailabilityZone"]
    assert (block["ReservationType"], block["EndDate"] - block["StartDate"]) == ("capacity-block", 24 * 60 * MINUTE)
    market = {"InstanceMarketOptions": {"MarketType": "capacity-block"}}
    ec2.create_launch_template(LaunchTemplateName="block", LaunchTemplateData={**targeting(name), **market})
    override = {"InstanceType": "p5.48xlarge", "SubnetId": subnets[zone]}
    # Another market does not start in a block.
    (error,) = ec2.create_fleet(**fleet(override, template="block"))["Errors"]
    assert error["ErrorCode"] == "ReservationCapacityExceeded"
    (launched,) = ec2.create_fleet(**fleet(override, template="block", capacity="capacity-block"))["Instances"]
    (instance,) = running_instances(ec2, of="block")
    assert (instance["InstanceLifecycle"], launched["Lifecycle"]) == ("capacity-block", "capacity-block")
    assert "Capacity Block Reservation Delivered" in [each["detail-type"] for each in queue.events()]

    moved.set_clock_ahead((24 * 60 - 41) * MINUTE)
    assert (running_instances(ec2, of="block"), queue.events()) == ([instance], [])
    moved.set_clock_ahead((24 * 60 - 39) * MINUTE)
    assert running_instances(ec2, of="block") == [instance]
    expiring, interrupted = queue.events()
    assert expiring["detail-type"] == "Capacity Block Reservation Expiration Warning"
    assert expiring["detail"]["capacity-reservation-id"] == name
    assert interrupted["detail-type"] == "EC2 Capacity Reservation Instance Interruption Warning"
    assert interrupted["detail"]["instance-id"] == instance["InstanceId"]
    assert interrupted["detail"]["instance-lifecycle"] == "capacity-block"
    moved.set_clock_ahead((24 * 60 - 29) * MINUTE)
    assert running_instances(ec2, of="block") == []
    assert [each["detail"].get("state") for each in queue.events()] == ["shutting-down", "terminated"]
    moved.set_clock_ahead((24 * 60 + 1) * MINUTE)
    assert describe_reservation(ec2, name)["State"] == "expired"


def test_a_block_is_used_from_its_start_and_is_not_canceled(moved: Emulator, ec2: Any, subnets: dict[str, str]) -> None:
    start = datetime.datetime.now(datetime.timezone.utc) + 60 * MINUTE
    offered = ec2.describe_capacity_block_offerings(
        InstanceType="trn1.32xlarge", InstanceCount=1, CapacityDurationHours=24, StartDateRange=start
    )["CapacityBlockOfferings"]
    offering = next(each for each in offered if each["AvailabilityZone"] in subnets)
    bought = ec2.purchase_capacity_block(
        CapacityBlockOfferingId=offering["CapacityBlockOfferingId"], InstancePlatform="Linux/UNIX"
    )["CapacityReservation"]
    name = bought["CapacityReservationId"]
    assert (bought["State"], bought["AvailableInstanceCount"]) == ("scheduled", 0)
    asked = {
        "InstanceType": "trn1.32xlarge",
        "ImageId": "ami-0123456789abcdef0",
        "SubnetId": subnets[offering["AvailabilityZone"]],
        "InstanceMarketOptions": {"MarketType": "capacity-block"},
        "MinCount": 1,
        "MaxCount": 1,
    }
    code = aws_error(ec2.run_instances, **asked, **targeting(name))
    assert code == ("InvalidCapacityReservationState.PendingActivation", 400)
    assert aws_error(ec2.cancel_capacity_reservation, CapacityReservationId=name)[1] == 400
    moved.set_clock_ahead(61 * MINUTE)
    (instance,) = ec2.run_instances(**asked, **targeting(name))["Instances"]
    assert instance["InstanceLifecycle"] == "capacity-block"


def test_an_unknown_offering_is_an_error(ec2: Any) -> None:
    unknown = {"CapacityBlockOfferingId": "cb-0123456789abcdef0", "InstancePlatform": "Linux/UNIX"}
    code = ("InvalidCapacityBlockOfferingIdNotFound", 400)
    assert aws_error(ec2.purchase_capacity_block, **unknown) == code


# --- events


def test_events_reach_the_queues_whose_rules_match(emulator: Emulator, aws: Account, queue: Queue) -> None:
    pattern = {"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning"]}
    spot = Queue(aws, "spot", pattern)
    queue.events()
    instance = "i-0123456789abcdef0"
    emulator.deliver(events.spot_interruption(instance, REGION))
    emulator.deliver(events.rebalance_recommendation(instance, REGION))
    emulator.deliver(events.scheduled_change(instance, REGION))
    (delivered,) = spot.events()
    assert delivered["detail"] == {"instance-id": instance, "instance-action": "terminate"}
    assert delivered["resources"] == [f"arn:aws:ec2:{REGION}:000000000000:instance/{instance}"]
    assert (delivered["region"], delivered["account"], delivered["version"]) == (REGION, "000000000000", "0")
    assert [each["detail-type"] for each in queue.events()] == [
        "EC2 Spot Instance Interruption Warning",
        "EC2 Instance Rebalance Recommendation",
        "AWS Health Event",
    ]
    emulator.deliver(events.spot_interruption(instance, "us-east-1"))
    assert (spot.events(), queue.events()) == ([], [])


def test_an_instance_that_stops_or_terminates_is_an_event(ec2: Any, subnets: dict[str, str], queue: Queue) -> None:
    ec2.create_launch_template(LaunchTemplateName="states", LaunchTemplateData={})
    override = {"InstanceType": "m5.large", "SubnetId": min(subnets.values())}
    (launched,) = ec2.create_fleet(**fleet(override, template="states"))["Instances"]
    queue.events()
    for operation, states in (
        (ec2.stop_instances, ["stopping", "stopped"]),
        (ec2.terminate_instances, ["shutting-down", "terminated"]),
        (ec2.terminate_instances, []),
    ):
        operation(InstanceIds=launched["InstanceIds"])
        assert [each["detail"]["state"] for each in queue.events()] == states
