"""Requests to the EC2 of an emulator, for the tests of its patches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

REGION = "us-west-2"


def aws_error(call: Callable[..., Any], **arguments: Any) -> tuple[str, int]:
    """Return the error code and the HTTP status with which a call fails."""
    return aws_refusal(call, **arguments)[:2]


def aws_refusal(call: Callable[..., Any], **arguments: Any) -> tuple[str, int, str]:
    """Return the error code, the HTTP status and the message with which a call fails."""
    with pytest.raises(Exception) as raised:  # noqa: PT011  (botocore generates the classes)
        call(**arguments)
    answer: Mapping[str, Any] = getattr(raised.value, "response", {})
    return answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Message"]


def fleet(*overrides: Mapping[str, Any], template: str, count: int = 1, capacity: str = "on-demand") -> dict[str, Any]:
    specification = {"LaunchTemplateName": template, "Version": "$Latest"}
    return {
        "Type": "instant",
        "LaunchTemplateConfigs": [{"LaunchTemplateSpecification": specification, "Overrides": list(overrides)}],
        "TargetCapacitySpecification": {"TotalTargetCapacity": count, "DefaultTargetCapacityType": capacity},
        "TagSpecifications": [{"ResourceType": "instance", "Tags": [{"Key": "of", "Value": template}]}],
    }


def two_subnets(ec2: Any, vpc: str, network: str) -> list[str]:
    """Create a subnet in each of two zones of a VPC, as a cluster needs them. Their blocks begin with ``network``."""
    zones = [each["ZoneName"] for each in ec2.describe_availability_zones()["AvailabilityZones"]][:2]
    made = (
        ec2.create_subnet(VpcId=vpc, CidrBlock=f"{network}.{number}.0/24", AvailabilityZone=zone)["Subnet"]
        for number, zone in enumerate(zones, start=100)
    )
    return [each["SubnetId"] for each in made]


def running_instances(ec2: Any, **tags: str) -> list[dict[str, Any]]:
    filters = [{"Name": f"tag:{key.replace('_', ':')}", "Values": [value]} for key, value in tags.items()]
    filters.append({"Name": "instance-state-name", "Values": ["running"]})
    found = ec2.describe_instances(Filters=filters)["Reservations"]
    return [each for reservation in found for each in reservation["Instances"]]
