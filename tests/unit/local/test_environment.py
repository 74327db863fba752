"""Environment variables of the emulator, AWS clients, Terraform and cdktf."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from eks_hardware.local import emulator, tools
from eks_hardware.local.demo import environment_script, overlay_environment
from helpers.cases import in_one_test

ENDPOINT = "http://127.0.0.1:4566"


@in_one_test(
    "setting",
    [
        "AWS_PROFILE",
        "AWS_DEFAULT_PROFILE",
        "AWS_SESSION_TOKEN",
        "AWS_ROLE_ARN",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_ENDPOINT_URL_EKS",
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_REGION",
    ],
)
def test_no_aws_setting_of_the_user_is_left(tmp_path: Path, setting: str) -> None:
    assert setting not in emulator.environment(ENDPOINT, tmp_path, {setting: "mine"})


def test_clients_are_pointed_at_the_emulator(tmp_path: Path) -> None:
    found = emulator.environment(ENDPOINT, tmp_path, {"AWS_ACCESS_KEY_ID": "mine", "PATH": "/bin"})
    assert found["AWS_ENDPOINT_URL"] == ENDPOINT
    assert found["AWS_ACCESS_KEY_ID"] == "test"
    assert found["AWS_SECRET_ACCESS_KEY"] == "test"
    assert found["AWS_EC2_METADATA_DISABLED"] == "true"
    assert found["PATH"] == "/bin"
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        assert Path(found[name]).read_text(encoding="utf-8") == ""


@in_one_test(
    ("given", "expected"),
    [
        ({}, "127.0.0.1,localhost"),
        ({"NO_PROXY": "example.com"}, "example.com,127.0.0.1,localhost"),
        ({"no_proxy": "localhost"}, "localhost,127.0.0.1"),
    ],
)
def test_no_proxy_stands_between(tmp_path: Path, given: dict[str, str], expected: str) -> None:
    found = emulator.environment(ENDPOINT, tmp_path, given)
    assert found["NO_PROXY"] == found["no_proxy"] == expected


def test_emulator_listens_on_loopback_and_keeps_nothing(tmp_path: Path) -> None:
    surprises = {
        "PERSIST_STATE": "1",
        "BIND_HOST": "0.0.0.0",
        "USE_SSL": "1",
        "SERVICES": "s3",
        "EDGE_PORT": "1",
    }
    found = emulator.server_environment(4566, tmp_path, "token", {**surprises, "HOME": "/home/me"})
    assert found["BIND_HOST"] == "127.0.0.1"
    assert found["GATEWAY_PORT"] == "4566"
    assert found["PERSIST_STATE"] == found["S3_PERSIST"] == "0"
    assert {"USE_SSL", "SERVICES", "EDGE_PORT"}.isdisjoint(found)
    assert found["HOME"] == "/home/me"
    for folder in ("STATE_DIR", "S3_DATA_DIR", "TMPDIR"):
        assert Path(found[folder]).is_relative_to(tmp_path)


@in_one_test(("node_major", "silenced"), [(20, "20"), (22, None), (24, None)])
def test_only_node_20s_warning_is_silenced(tmp_path: Path, node_major: int, silenced: str | None) -> None:
    found = tools.cdktf_environment({}, node_major=node_major, log_dir=tmp_path)
    assert found.get("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION") == silenced
    assert found["CHECKPOINT_DISABLE"] == "1"


def test_script_can_be_sourced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ROLE_ARN", "mine")
    value = "it's a path"
    given = {"AWS_CONFIG_FILE": value, "HOME": "/h", "TERRAFORM_BINARY_NAME": "tofu"}
    lines = environment_script(given, region="eu-west-1").splitlines()
    assert {"unset AWS_PROFILE", "unset AWS_ROLE_ARN", f"export AWS_CONFIG_FILE={shlex.quote(value)}"} <= set(lines)
    assert {"export AWS_REGION=eu-west-1", "export TERRAFORM_BINARY_NAME=tofu"} <= set(lines)
    assert not any("HOME" in line for line in lines)


@in_one_test(
    ("named", "expected"), [("", "local"), ("production, audit", "production,audit,local"), ("local,a", "a,local")]
)
def test_the_overlay_for_the_emulator_comes_last(named: str, expected: str) -> None:
    assert overlay_environment({"EKS_HARDWARE_OVERLAY": named}) == {"EKS_HARDWARE_OVERLAY": expected}
