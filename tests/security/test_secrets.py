"""No secrets or tokens in synthesized stacks or files, and no storage without encryption."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import Any

import pytest
import yaml

from eks_hardware.kubernetes import bundle
from helpers.paths import SHIPPED, SPECIAL
from helpers.secrets import secrets_in
from helpers.strategies import resolved_of
from helpers.synthesized import Synthesized

# Any other data source is suspect: aws_eks_cluster_auth and aws_ecr_authorization_token put a token into the state,
# aws_secretsmanager_secret_version and aws_ssm_parameter the values that they read.
DATA_SOURCES = {
    "aws_autoscaling_group",
    "aws_autoscaling_groups",
    "aws_availability_zone",
    "aws_caller_identity",
    "terraform_remote_state",
}

# Resources that create a secret and keep it in the state, and providers whose every resource does.
SECRET_RESOURCES = re.compile(
    r"aws_(iam_access_key|iam_user_login_profile|key_pair|secretsmanager_secret_version|ssm_parameter|db_\w+)"
    r"|(random|tls|kubernetes|vault|local)_\w+"
)


def test_no_secret_in_terraform(stacks: Sequence[Synthesized]) -> None:
    assert [f"{stack}: {found}" for stack in stacks for found in secrets_in(stack.document)] == []


def test_no_resource_keeps_a_secret_in_the_state(stacks: Sequence[Synthesized]) -> None:
    assert {type_ for stack in stacks for type_, _, _ in stack.resources("data")} <= DATA_SOURCES
    made = {type_ for stack in stacks for type_, _, _ in stack.resources()}
    assert [type_ for type_ in made if SECRET_RESOURCES.fullmatch(type_)] == []


def test_the_token_for_charts_is_asked_for_when_it_is_needed(stacks: Sequence[Synthesized]) -> None:
    with_charts = [stack for stack in stacks if "helm" in stack.document["provider"]]
    assert len(with_charts) >= 7
    for stack in with_charts:
        (provider,) = stack.document["provider"]["helm"]
        assert set(provider) == {"kubernetes"}, str(stack)
        assert set(provider["kubernetes"]) == {"host", "cluster_ca_certificate", "exec"}, str(stack)
        assert set(provider["kubernetes"]["exec"]) == {"api_version", "args", "command"}, str(stack)
        assert provider["kubernetes"]["exec"]["args"][:2] == ["eks", "get-token"], str(stack)
        for _, _, release in (each for each in stack.resources() if each[0] == "helm_release"):
            # Sensitive in the provider: https://registry.terraform.io/providers/hashicorp/helm/latest/docs
            assert not {"repository_password", "repository_username", "set_sensitive", "set_wo"} & set(release)


def test_outputs_are_no_secrets(stacks: Sequence[Synthesized]) -> None:
    """A value that is marked as sensitive would still be in the state as plain text."""
    for stack in stacks:
        for name, output in stack.document.get("output", {}).items():
            assert not output.get("sensitive"), f"{stack}: {name}"


@pytest.mark.parametrize("file", sorted([*SHIPPED.glob("*.yaml"), *SPECIAL.glob("*.yaml")]), ids=lambda each: each.stem)
def test_no_secret_in_what_goes_onto_the_cluster(file: Any) -> None:
    found = bundle(resolved_of(file))
    contents: list[Any] = [
        getattr(release, "values", None) or getattr(release, "objects", None) for release in found.releases
    ]
    assert list(secrets_in(contents)) == []
    kinds = {each["kind"] for content in contents if isinstance(content, list | tuple) for each in content}
    assert "Secret" not in kinds


SECRET = base64.b64encode(b"export AWS_SECRET_ACCESS_KEY=" + b"a" * 40).decode()


@pytest.mark.parametrize(
    "value",
    [
        "AKIA" + "A" * 16,
        "k8s-aws-v1.aHR0cHM6",
        "-----BEGIN RSA PRIVATE KEY-----",
        "https://user:password@charts.example.com",
        {"user_data": SECRET},
        {"grafana": [{"adminPassword": "x"}]},
        {"repository_password": "x"},
        f"eyJ{'a' * 20}.eyJ{'a' * 20}.x",
    ],
)
def test_a_secret_is_found(value: Any) -> None:
    assert list(secrets_in({"a": [value]}))


# --- encryption that checkov does not check


def unencrypted(stack: Synthesized) -> list[str]:
    """Return node volumes without encryption, in launch templates and Karpenter's node classes."""
    found = []
    for type_, name, body in stack.resources():
        if type_ == "aws_launch_template":
            devices = body["block_device_mappings"]
            assert devices
            found += [name for device in devices if device["ebs"]["encrypted"] != "true"]
        if type_ == "helm_release":
            for values in map(yaml.safe_load, body["values"]):
                classes = [each for each in values.get("objects", []) if each["kind"] == "EC2NodeClass"]
                devices = [device for each in classes for device in each["spec"]["blockDeviceMappings"]]
                assert bool(devices) == bool(classes)
                found += [name for device in devices if device["ebs"].get("encrypted") is not True]
    return found


def test_every_volume_is_encrypted(stacks: Sequence[Synthesized]) -> None:
    assert [(str(stack), found) for stack in stacks for found in unencrypted(stack)] == []
    plain = next(stack for stack in stacks if stack.stack == "mixed-hardware" and not stack.overlay)
    assert any(type_ == "helm_release" and "EC2NodeClass" in str(body) for type_, _, body in plain.resources())
