"""Requests that AWS would refuse are found in the record of the emulator: one per kind of mistake and protocol.

conftest.py checks the requests of every module that deploys.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from eks_hardware.local.emulator_patches.recorded import recorded
from helpers.cases import in_one_test
from helpers.conformance import violations


def policy(*statements: Mapping[str, Any], version: str = "2012-10-17") -> str:
    return json.dumps({**({"Version": version} if version else {}), "Statement": list(statements)})


NOBODY = {"Effect": "Allow", "Action": "sts:AssumeRole"}
READ = {"Sid": "Read", "Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::b/*"}
# Requests of Terraform, with the names of the protocol.
SUBNET = {
    "Action": "CreateSubnet",
    "Version": "2016-11-15",
    "VpcId": "vpc-e39c8f894a246ef71",
    "CidrBlock": "10.0.16.0/22",
    "TagSpecification.1.ResourceType": "subnet",
    "TagSpecification.1.Tag.1.Key": "Name",
    "TagSpecification.1.Tag.1.Value": "options-public",
}
ROLE = {
    "Action": "CreateRole",
    "Version": "2010-05-08",
    "AssumeRolePolicyDocument": policy({**NOBODY, "Principal": {"Service": "ec2.amazonaws.com"}}),
    "MaxSessionDuration": "3600",
    "RoleName": "options-us-west-2-node",
    "Tags.member.1.Key": "eks-hardware/strategy",
    "Tags.member.1.Value": "options",
}
INLINE = {
    "Action": "PutRolePolicy",
    "Version": "2010-05-08",
    "RoleName": "options",
    "PolicyName": "storage",
    "PolicyDocument": policy(READ),
}
GROUP = {
    "nodegroupName": "system",
    "nodeRole": "arn:aws:iam::000000000000:role/options-us-west-2-node",
    "subnets": ["subnet-5856626d26af86732"],
    "capacityType": "ON_DEMAND",
    "scalingConfig": {"desiredSize": 2, "maxSize": 6, "minSize": 2},
    "taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}],
    "updateConfig": {"maxUnavailable": 1},
}
RETENTION = {"logGroupName": "/aws/eks/options/cluster", "retentionInDays": 365}
RECEIVED = {"QueueUrl": "http://127.0.0.1/options", "AttributeNames": ["SentTimestamp"]}
QUEUE = {"QueueName": "options", "Attributes": {"MessageRetentionPeriod": "300"}}
LIFECYCLE = (
    "<LifecycleConfiguration><Rule><ID>old</ID><Filter><Prefix>a/</Prefix></Filter><Status>Enabled</Status>"
    "<Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>"
)


def form(service: str, parameters: Mapping[str, str]) -> dict[str, Any]:
    return {"service": service, "body": urlencode(parameters)}


def inline(*statements: Mapping[str, Any], version: str = "2012-10-17") -> dict[str, Any]:
    return form("iam", {**INLINE, "PolicyDocument": policy(*statements, version=version)})


def target(service: str, name: str, body: object) -> dict[str, Any]:
    return {"service": service, "headers": {"x-amz-target": name}, "body": json.dumps(body)}


def creates_group(body: object, path: str = "/clusters/options/node-groups") -> dict[str, Any]:
    return {"service": "eks", "path": path, "body": json.dumps(body)}


def lifecycle(body: str, query: str = "lifecycle=") -> dict[str, Any]:
    return {"service": "s3", "method": "PUT", "path": "/bucket", "query": query, "body": body}


def renamed(body: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {("Other" if name == key else name): value for name, value in body.items()}


def found_in(tmp_path: Path, request: Mapping[str, Any], agent: str = "APN/1.0 HashiCorp/1.0") -> list[str]:
    """Return the violations of a request that the emulator records, twice the same."""
    given = {"method": "POST", "path": "/", "query": "", "headers": {}, "body": "", **request}
    signed = f"AWS4-HMAC-SHA256 Credential=test/20261127/us-west-2/{given['service']}/aws4_request, SignedHeaders=host"
    headers = {"authorization": signed, "user-agent": agent, **given["headers"]}
    scope = {
        "type": "http",
        "method": given["method"],
        "path": given["path"],
        "query_string": given["query"].encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    bodies: list[bytes] = []

    async def app(_: Any, receive: Any, __: Any) -> None:
        bodies.append((await receive())["body"])

    async def run() -> None:
        async def receive() -> Any:
            return {"type": "http.request", "body": given["body"].encode(), "more_body": False}

        for _ in range(2):
            await recorded(app, file)(scope, receive, None)

    file = tmp_path / "requests.jsonl"
    file.unlink(missing_ok=True)
    asyncio.run(run())
    assert bodies == [given["body"].encode()] * 2, "the application receives the body, too"
    return violations(file)


def test_good_requests(tmp_path: Path) -> None:
    good = (
        form("ec2", SUBNET),
        form("iam", ROLE),
        form("iam", INLINE),
        creates_group(GROUP),
        target("logs", "Logs_20140328.PutRetentionPolicy", RETENTION),
        target("sqs", "AmazonSQS.CreateQueue", QUEUE),
        target("sqs", "AmazonSQS.ReceiveMessage", RECEIVED),
        lifecycle(LIFECYCLE),
    )
    assert [found_in(tmp_path, each) for each in good] == [[]] * len(good)


@in_one_test(
    ("request_", "fault"),
    [
        # EC2 protocol
        (form("ec2", renamed(SUBNET, "CidrBlock")), "ec2 CreateSubnet: Other is not a parameter"),
        (form("ec2", renamed(SUBNET, "VpcId")), "VpcId is required"),
        (form("ec2", {**SUBNET, "TagSpecification.1.ResourceType": "subnets"}), "ResourceType must be one of"),
        (form("ec2", {**SUBNET, "TagSpecification.1.Tag.1.Kay": "a"}), "TagSpecifications.Tags.Kay is not a"),
        (form("ec2", {**SUBNET, "Ipv6Native": "yes"}), "Ipv6Native must be a boolean"),
        (form("ec2", {**SUBNET, "Action": "MakeSubnet"}), "ec2 has no operation 'MakeSubnet'"),
        (form("ec2", {**SUBNET, "Version": "2014-01-01"}), "ec2 has version 2016-11-15"),
        # query protocol
        (form("iam", {**ROLE, "RoleName": "r" * 65}), "RoleName must have at most 64 characters, got 65"),
        (form("iam", {**ROLE, "RoleName": "a b"}), "RoleName must match"),
        (form("iam", {**ROLE, "MaxSessionDuration": "60"}), "MaxSessionDuration must have at least 3600"),
        (form("iam", {**ROLE, "Tags.member.1.Key": ""}), "Tags[].Key must have at least 1 characters"),
        (form("iam", {**ROLE, "Tags.member.1.Value": "a;b"}), "Tags[].Value must match"),
        (form("iam", renamed(ROLE, "AssumeRolePolicyDocument")), "AssumeRolePolicyDocument is required"),
        # JSON
        (target("logs", "Logs_20140328.PutRetentionPolicy", renamed(RETENTION, "retentionInDays")), "is required"),
        (target("logs", "Logs_20140328.PutRetentionPolicy", {**RETENTION, "retentionInDays": "x"}), "a integer"),
        (target("logs", "Logs_20140328.PutRetentionPolicy", {**RETENTION, "logGroupName": "a b"}), "must match"),
        (target("logs", "Logs_2014.PutRetentionPolicy", RETENTION), "logs has the prefix Logs_20140328"),
        (target("sqs", "AmazonSQS.CreateQueue", {**QUEUE, "Attributes": {"Retention": "1"}}), "must be one of"),
        (target("sqs", "AmazonSQS.ReceiveMessage", {**RECEIVED, "AttributeNames": ["Sent"]}), "must be one of"),
        # REST with JSON
        (creates_group(renamed(GROUP, "subnets")), "eks CreateNodegroup: Other is not a parameter"),
        (creates_group({**GROUP, "capacityType": "ONDEMAND"}), "capacityType must be one of ON_DEMAND, SPOT"),
        (creates_group({**GROUP, "scalingConfig": {"minSize": -1}}), "scalingConfig.minSize must have at least 0"),
        (creates_group({**GROUP, "updateConfig": {"maxUnavailable": 0}}), "maxUnavailable must have at least 1"),
        (creates_group({**GROUP, "taints": [{"key": "k" * 64}]}), "taints[].key must have at most 63 characters"),
        (creates_group({**GROUP, "subnets": "subnet-1"}), "subnets must be a list"),
        (creates_group(GROUP, "/cluster/options/node-groups"), "eks has no operation POST /cluster/options"),
        # REST with XML
        (lifecycle(LIFECYCLE.replace("Enabled", "On")), "Status must be one of Enabled, Disabled"),
        (lifecycle(LIFECYCLE.replace("Days", "Day")), "Expiration.Day is not a parameter"),
        (lifecycle(LIFECYCLE, "lifecycle=&acl=private"), "?acl is not a parameter"),
        # policies
        (inline(READ, version=""), "must be version 2012-10-17"),
        (inline({**READ, "Sid": "a b"}), "Sid must have only letters and digits"),
        (inline({**READ, "Effect": "Yes"}), "Syntax errors in policy"),
        (inline({**READ, "Resource": "b"}), "must be in ARN format"),
        (inline({**READ, "Action": "GetObject"}), "must be prefaced by a vendor"),
        (inline({**READ, "Condition": {"StringIs": {"aws:a": "b"}}}), "Syntax errors in policy"),
        (inline({**READ, "Principal": "*"}), "should not specify a principal"),
        (inline(READ, READ), "must be unique"),
        (form("iam", {**ROLE, "AssumeRolePolicyDocument": policy(READ)}), "actions can only be sts:AssumeRole"),
        (form("iam", {**ROLE, "AssumeRolePolicyDocument": policy(NOBODY)}), "Missing required field Principal"),
    ],
)
def test_a_changed_request_is_found(tmp_path: Path, request_: Mapping[str, Any], fault: str) -> None:
    said = found_in(tmp_path, request_)
    assert any(fault in each for each in said), f"{fault!r} is not in {said}"


def test_requests_of_the_tests_themselves_are_left_out(tmp_path: Path) -> None:
    assert found_in(tmp_path, form("ec2", renamed(SUBNET, "VpcId")), agent="Boto3/1.43.106") == []


def test_an_incomplete_request_is_neither_recorded_nor_answered(tmp_path: Path) -> None:
    """An interrupted Terraform closes the connection before the body is complete."""
    headers = {
        b"authorization": b"AWS4-HMAC-SHA256 Credential=test/20261127/us-west-2/ec2/aws4_request",
        b"content-length": b"99",
    }
    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": list(headers.items())}
    answered: list[Any] = []

    async def app(*arguments: Any) -> None:
        answered.append(arguments)

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    asyncio.run(recorded(app, tmp_path / "requests.jsonl")(scope, receive, None))
    assert (answered, list(tmp_path.iterdir())) == ([], [])
