"""The parameters of an EC2 request become the XML of the response."""

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
from typing import Any

import pytest

from eks_hardware.local import emulator_patches
from eks_hardware.local.emulator_patches.ec2_protocol import read, render


def _shape(name: str) -> Any:
    session = importlib.import_module("botocore.session").get_session()
    return session.get_service_model("ec2").shape_for(name)


@pytest.mark.parametrize(
    ("sent", "stored", "answered"),
    [
        pytest.param({}, None, "", id="nothing"),
        pytest.param(
            {"D.InstanceType": "p4d.24xlarge"},
            {"InstanceType": "p4d.24xlarge"},
            "<instanceType>p4d.24xlarge</instanceType>",
            id="a value",
        ),
        pytest.param(
            {"D.Placement.GroupName": "a&b"},
            {"Placement": {"GroupName": "a&b"}},
            "<placement><groupName>a&amp;b</groupName></placement>",
            id="a structure",
        ),
        pytest.param(
            {
                "D.NetworkInterface.1.InterfaceType": "interface",
                "D.NetworkInterface.1.SecurityGroupId.1": "sg-1",
                "D.NetworkInterface.2.InterfaceType": "efa-only",
                "D.NetworkInterface.2.NetworkCardIndex": "1",
            },
            {
                "NetworkInterfaces": [
                    {"InterfaceType": "interface", "Groups": ["sg-1"]},
                    {"InterfaceType": "efa-only", "NetworkCardIndex": "1"},
                ]
            },
            "<networkInterfaceSet>"
            "<item><groupSet><groupId>sg-1</groupId></groupSet><interfaceType>interface</interfaceType></item>"
            "<item><interfaceType>efa-only</interfaceType><networkCardIndex>1</networkCardIndex></item>"
            "</networkInterfaceSet>",
            id="lists",
        ),
    ],
)
def test_launch_template_data(sent: dict[str, str], stored: dict[str, Any] | None, answered: str) -> None:
    assert read(_shape("RequestLaunchTemplateData"), "D", sent) == stored
    assert render(_shape("ResponseLaunchTemplateData"), stored or {}) == answered


def test_connections_outlive_the_clients_patience() -> None:
    """In a separate process: the patch is permanent. ministack sets 75 s, the provider keeps 90 s."""
    program = (
        f"import runpy; runpy.run_path({emulator_patches.__file__!r})['install']();"
        "from hypercorn.config import Config; config = Config(); config.keep_alive_timeout = 75;"
        "print(config.keep_alive_timeout, config.keep_alive_max_requests)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    idle, requests = map(int, ran.stdout.split()[-2:])
    assert idle > 90
    assert requests > 100_000


@pytest.mark.parametrize(
    ("status", "key", "calls"),
    [(200, b"one", 1), (400, b"one", 1), (500, b"one", 2), (200, None, 2)],
    ids=["repeated", "repeated error", "a fault is tried again", "no invocation id"],
)
def test_a_call_that_is_sent_again_has_the_first_answer(status: int, key: bytes | None, calls: int) -> None:
    made = []

    async def app(_: Any, __: Any, send: Any) -> None:
        made.append(1)
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": str(len(made)).encode()})

    async def run() -> list[list[Any]]:
        once = emulator_patches.answered_once(app)
        scope = {"type": "http", "headers": [(b"amz-sdk-invocation-id", key)] if key else []}
        answers: list[list[Any]] = []
        for _ in range(2):
            sent: list[Any] = []

            async def send(message: Any, into: list[Any] = sent) -> None:
                into.append(message)

            await once(scope, None, send)
            answers.append(sent)
        return answers

    first, second = asyncio.run(run())
    assert len(made) == calls
    assert (first == second) is (calls == 1)
