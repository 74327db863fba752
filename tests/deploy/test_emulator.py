"""The emulator starts, listens only on its address, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.local import emulator as module
from eks_hardware.local import processes
from eks_hardware.local.emulator import Emulator, EmulatorError, answers, stop_detached
from eks_hardware.local.readback import Account
from helpers.emulated_ec2 import two_subnets

ROOT = Path(__file__).resolve().parents[2]
_PARENT = """
import sys, time
from pathlib import Path
from eks_hardware.local import processes
from eks_hardware.local.emulator import Emulator
with processes.signals_unwind(), Emulator(Path(sys.argv[1])) as emulator:
    print(emulator.pid, emulator.port, emulator.work_dir, flush=True)
    time.sleep(120)
"""


def _until(true: Callable[[], bool], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if true():
            return True
        time.sleep(0.05)
    return true()


def test_answers_while_it_runs_and_leaves_nothing(tmp_path: Path) -> None:
    with Emulator(tmp_path / "log") as running:
        pid, port, work_dir = running.pid, running.port, running.work_dir
        account = Account(running.endpoint_url, "us-west-2")
        assert account.items("eks", "list_clusters", "clusters") == []
        account.close()
    assert not processes.is_running(pid)
    assert not work_dir.exists()
    with socket.socket() as probe:
        assert probe.connect_ex((module.HOST, port)) != 0


_FLOW_LOG: dict[str, Any] = {
    "ResourceType": "VPC",
    "TrafficType": "REJECT",
    "LogDestinationType": "cloud-watch-logs",
    "LogDestination": "arn:aws:logs:eu-west-1:000000000000:log-group:l",
    "DeliverLogsPermissionArn": "arn:aws:iam::000000000000:role/l",
    "MaxAggregationInterval": 60,
}
_TAGS = [{"Key": "Name", "Value": "l"}]
_TAGGED = [{"ResourceType": "vpc-flow-log", "Tags": _TAGS}]


def test_remembers_what_it_was_sent(account: Callable[[str], Account]) -> None:
    aws = account("eu-west-1")
    interfaces = [
        {"DeviceIndex": 0, "InterfaceType": "interface", "NetworkCardIndex": 0, "Groups": ["sg-1"]},
        {"DeviceIndex": 1, "InterfaceType": "efa-only", "NetworkCardIndex": 1},
    ]
    data = {"NetworkInterfaces": interfaces, "Placement": {"GroupName": "together"}}
    created = aws.client("ec2").create_launch_template(LaunchTemplateName="t", LaunchTemplateData=data)
    template = created["LaunchTemplate"]["LaunchTemplateId"]
    roles = {"cluster": "arn:aws:iam::000000000000:role/c", "node": "arn:aws:iam::000000000000:role/n"}
    ec2 = aws.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnets = two_subnets(ec2, vpc, "10.0")
    aws.client("eks").create_cluster(
        name="c",
        roleArn=roles["cluster"],
        resourcesVpcConfig={"subnetIds": subnets},
        upgradePolicy={"supportType": "STANDARD"},
    )
    aws.client("eks").create_nodegroup(
        clusterName="c",
        nodegroupName="n",
        nodeRole=roles["node"],
        subnets=subnets,
        launchTemplate={"id": template, "version": "1"},
    )
    (flow_log,) = aws.client("ec2").create_flow_logs(ResourceIds=["vpc-1"], TagSpecifications=_TAGGED, **_FLOW_LOG)[
        "FlowLogIds"
    ]
    versions = aws.items(
        "ec2",
        "describe_launch_template_versions",
        "LaunchTemplateVersions",
        LaunchTemplateId=template,
        Versions=["1"],
    )
    group = aws.client("eks").describe_nodegroup(clusterName="c", nodegroupName="n")["nodegroup"]
    try:
        assert versions[0]["LaunchTemplateData"] == data
        assert aws.client("eks").describe_cluster(name="c")["cluster"]["upgradePolicy"] == {"supportType": "STANDARD"}
        assert group["launchTemplate"] == {"id": template, "version": "1"}
        found = aws.client("ec2").describe_flow_logs(FlowLogIds=[flow_log])["FlowLogs"][0]
        assert _FLOW_LOG.items() <= {**found, "ResourceType": "VPC"}.items()
        assert found["Tags"] == _TAGS
    finally:
        aws.client("ec2").delete_flow_logs(FlowLogIds=[flow_log])
        aws.client("eks").delete_nodegroup(clusterName="c", nodegroupName="n")
        aws.client("eks").delete_cluster(name="c")
        ec2.delete_launch_template(LaunchTemplateId=template)
        for subnet in subnets:
            ec2.delete_subnet(SubnetId=subnet)
        ec2.delete_vpc(VpcId=vpc)


def asked_in_json(emulator: Emulator, operation: str, **sent: Any) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Send an operation of SQS as the SDKs do; return status, headers and answer."""
    headers = {
        "Authorization": "AWS4-HMAC-SHA256 Credential=test/20261127/us-west-2/sqs/aws4_request, SignedHeaders=host",
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": f"AmazonSQS.{operation}",
    }
    connection = http.client.HTTPConnection(module.HOST, emulator.port, timeout=30)
    with contextlib.closing(connection):
        connection.request("POST", "/", json.dumps(sent), headers)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, json.loads(answer.read())


def test_sqs_speaks_json_and_names_errors_as_before(emulator: Emulator) -> None:
    """Without the header, clients do not find the error that the Query protocol had.

    Source: https://github.com/smithy-lang/smithy-rs/issues/1872
    """
    _, _, queue = asked_in_json(emulator, "CreateQueue", QueueName="q", Attributes={"MessageRetentionPeriod": "300"})
    asked_in_json(emulator, "SendMessage", QueueUrl=queue["QueueUrl"], MessageBody="a < b")
    wanted = {"MaxNumberOfMessages": 10, "VisibilityTimeout": 20, "MessageSystemAttributeNames": ["SentTimestamp"]}
    status, headers, received = asked_in_json(emulator, "ReceiveMessage", QueueUrl=queue["QueueUrl"], **wanted)
    (message,) = received["Messages"]
    assert (status, headers["content-type"]) == (200, "application/x-amz-json-1.0")
    assert (message["Body"], [*message["Attributes"]]) == ("a < b", ["SentTimestamp"])
    handle = message["ReceiptHandle"]
    assert asked_in_json(emulator, "DeleteMessage", QueueUrl=queue["QueueUrl"], ReceiptHandle=handle)[0] == 200

    _, _, found = asked_in_json(emulator, "GetQueueAttributes", QueueUrl=queue["QueueUrl"], AttributeNames=["All"])
    left = {name: found["Attributes"][name] for name in ("MessageRetentionPeriod", "ApproximateNumberOfMessages")}
    assert left == {"MessageRetentionPeriod": "300", "ApproximateNumberOfMessages": "0"}

    status, headers, error = asked_in_json(emulator, "GetQueueUrl", QueueName="none")
    assert (status, error["__type"].rpartition("#")[2]) == (400, "QueueDoesNotExist")
    assert headers["x-amzn-query-error"] == "AWS.SimpleQueueService.NonExistentQueue;Sender"
    status, headers, _ = asked_in_json(emulator, "CreateQueue", QueueName="q", Attributes={"DelaySeconds": "1"})
    assert (status, headers["x-amzn-query-error"]) == (400, "QueueAlreadyExists;Sender")


def test_two_at_once_do_not_see_each_other(tmp_path: Path) -> None:
    with Emulator(tmp_path / "one") as one, Emulator(tmp_path / "two") as two:
        accounts = [Account(running.endpoint_url, "us-west-2") for running in (one, two)]
        accounts[0].client("sqs").create_queue(QueueName="only-in-one")
        queues = [account.items("sqs", "list_queues", "QueueUrls") for account in accounts]
        for account in accounts:
            account.close()
        assert [len(urls) for urls in queues] == [1, 0]
        assert not answers(one.port, two.token)


def test_takes_another_port_when_one_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as busy:
        busy.bind((module.HOST, 0))
        busy.listen()
        taken = busy.getsockname()[1]
        ports = iter([taken, module.free_port()])
        monkeypatch.setattr(module, "free_port", lambda: next(ports))
        with Emulator(tmp_path / "log") as running:
            assert running.port != taken


def test_an_early_end_shows_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PROGRAM", "raise SystemExit('no such thing')")
    emulator = Emulator(tmp_path / "log", work_dir=tmp_path / "work")
    with pytest.raises(EmulatorError, match="no such thing"):
        emulator.start()
    assert not (tmp_path / "work").exists()


def test_an_end_is_reported_instead_of_the_errors_of_clients(tmp_path: Path) -> None:
    def use() -> None:
        with Emulator(tmp_path / "log") as running:
            os.kill(running.pid, signal.SIGKILL)
            assert _until(lambda: not processes.is_running(running.pid))
            raise ConnectionRefusedError

    with pytest.raises(EmulatorError, match="the emulator exited with code -9"):
        use()


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_ends_with_its_parent(tmp_path: Path, signum: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _PARENT, str(tmp_path / "log")],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        # A background run ignores SIGINT, and its children would, too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as parent:
        assert parent.stdout is not None
        pid, port, work_dir = parent.stdout.readline().split()
        assert processes.is_running(int(pid))
        parent.send_signal(signum)
        parent.wait(timeout=20)
        assert _until(lambda: not processes.is_running(int(pid)))
        assert _until(lambda: not Path(work_dir).exists())
        with socket.socket() as probe:
            assert probe.connect_ex((module.HOST, int(port))) != 0


def test_detached_runs_on_until_it_is_stopped(tmp_path: Path) -> None:
    emulator = Emulator(tmp_path / "log", work_dir=tmp_path / "work")
    emulator.start()
    pid, port, token = emulator.pid, emulator.port, emulator.token
    emulator.detach()
    emulator.stop()
    try:
        assert answers(port, token)
        assert not stop_detached(pid, port, "of another one", tmp_path / "none")
        assert answers(port, token)
        assert stop_detached(pid, port, token, tmp_path / "work")
    finally:
        # It is still our child here, although `detach` is not meant for that: read its exit code.
        os.waitpid(pid, 0)
    assert not answers(port, token)
    assert not (tmp_path / "work").exists()


def test_repeats_its_answer_to_one_client_token(account: Callable[[str], Account]) -> None:
    """The provider's client repeats a call after a broken connection; EC2 then returns the first response."""
    ec2 = account("eu-west-1").client("ec2")
    call = {"LaunchTemplateName": "twice", "LaunchTemplateData": {"EbsOptimized": True}, "ClientToken": "token-1"}
    first = ec2.create_launch_template(**call)["LaunchTemplate"]["LaunchTemplateId"]
    try:
        assert ec2.create_launch_template(**call)["LaunchTemplate"]["LaunchTemplateId"] == first
        with pytest.raises(ec2.exceptions.ClientError, match="AlreadyExists"):
            ec2.create_launch_template(**{**call, "ClientToken": "token-2"})
    finally:
        ec2.delete_launch_template(LaunchTemplateId=first)


def test_repeats_its_answer_to_one_invocation(account: Callable[[str], Account]) -> None:
    """EC2 has no client token for an internet gateway: the SDK's invocation id identifies a repeated call."""
    ec2 = account("eu-west-2").client("ec2")
    ec2.meta.events.register(
        "before-send.ec2.CreateInternetGateway",
        lambda request, **_: request.headers.__setitem__("amz-sdk-invocation-id", "one"),
    )
    made = {ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"] for _ in range(2)}
    try:
        assert len(made) == 1
    finally:
        for each in made:
            ec2.delete_internet_gateway(InternetGatewayId=each)


_INTERFACE = {"DeviceIndex": 0, "InterfaceType": "efa-only", "NetworkCardIndex": 1}
# Fields that stock ministack accepts but does not return, each with its expected place: the reason for the patches.
FORGOTTEN: dict[str, Callable[[dict[str, Any]], bool]] = {
    "launch template: interface type": lambda it: "InterfaceType" not in it["template"]["NetworkInterfaces"][0],
    "launch template: network card": lambda it: "NetworkCardIndex" not in it["template"]["NetworkInterfaces"][0],
    "launch template: placement": lambda it: "Placement" not in it["template"],
    "node group: launch template": lambda it: "launchTemplate" not in it["group"],
    "node group: update settings": lambda it: "updateConfig" not in it["group"],
    "node group: repair settings": lambda it: "nodeRepairConfig" not in it["group"],
    "cluster: upgrade policy": lambda it: "upgradePolicy" not in it["cluster"],
    "flow log: role": lambda it: "DeliverLogsPermissionArn" not in it["flow_log"],
    "flow log: tags": lambda it: not it["flow_log"].get("Tags"),
    "flow log: interval": lambda it: "MaxAggregationInterval" not in it["flow_log"],
}


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the responses of an emulator without our patch for objects with all of these fields."""
    with Emulator(tmp_path_factory.mktemp("stock") / "log", patched=False) as running:
        account = Account(running.endpoint_url, "us-west-2")
        ec2, eks = account.client("ec2"), account.client("eks")
        data = {"NetworkInterfaces": [_INTERFACE], "Placement": {"GroupName": "together"}}
        template = ec2.create_launch_template(LaunchTemplateName="stock", LaunchTemplateData=data)["LaunchTemplate"]
        eks.create_cluster(
            name="c",
            roleArn="arn:aws:iam::000000000000:role/c",
            resourcesVpcConfig={"subnetIds": ["subnet-1"]},
            upgradePolicy={"supportType": "STANDARD"},
        )
        eks.create_nodegroup(
            clusterName="c",
            nodegroupName="n",
            nodeRole="arn:aws:iam::000000000000:role/n",
            subnets=["subnet-1"],
            launchTemplate={"id": template["LaunchTemplateId"], "version": "1"},
            updateConfig={"maxUnavailable": 1},
            nodeRepairConfig={"enabled": True},
        )
        ec2.create_flow_logs(ResourceIds=["vpc-1"], TagSpecifications=_TAGGED, **_FLOW_LOG)
        found = {
            "flow_log": ec2.describe_flow_logs()["FlowLogs"][0],
            "template": ec2.describe_launch_template_versions(LaunchTemplateName="stock", Versions=["1"])[
                "LaunchTemplateVersions"
            ][0]["LaunchTemplateData"],
            "cluster": eks.describe_cluster(name="c")["cluster"],
            "group": eks.describe_nodegroup(clusterName="c", nodegroupName="n")["nodegroup"],
        }
        account.close()
    return found


@pytest.mark.parametrize("field", FORGOTTEN)
def test_stock_ministack_forgets(stock: dict[str, Any], field: str) -> None:
    """A failing line is good news: ministack supports the field now, and the patch for it can be removed."""
    assert FORGOTTEN[field](stock)
