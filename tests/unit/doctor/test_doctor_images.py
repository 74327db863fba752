"""Machine images: parameters of EKS's releases, and custom images."""

from __future__ import annotations

from typing import Any

import pytest

from eks_hardware.doctor import images
from helpers.cases import in_one_test
from helpers.doctor import RefusedError, answering, look
from helpers.findings import codes
from helpers.strategies import group, pools

EKS = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023"
STANDARD = f"{EKS}/x86_64/standard/recommended/image_id"


def account_with_parameters(*there: str, **answers: Any) -> Any:
    def parameters(params: dict[str, Any]) -> dict[str, Any]:
        known = [name for name in params["Names"] if name in (STANDARD, *there)]
        answer: dict[str, Any] = {"Parameters": [{"Name": name, "Value": "ami-12345678"} for name in known]}
        invalid = [name for name in params["Names"] if name not in known]
        return {**answer, "InvalidParameters": invalid} if invalid else answer

    return answering({"ssm:GetParameters": parameters, **{f"ec2:{name}": each for name, each in answers.items()}})


@in_one_test(
    ("fields", "parameter"),
    [
        ({"instance_types": ["g6.xlarge"]}, f"{EKS}/x86_64/nvidia/recommended/image_id"),
        ({"instance_types": ["g5g.xlarge"]}, f"{EKS}/arm64/nvidia/recommended/image_id"),
        ({"instance_types": ["trn1.2xlarge"]}, f"{EKS}/x86_64/neuron/recommended/image_id"),
        (
            {"instance_types": ["g6.xlarge"], "ami": {"release_version": "1.35.0-20261101"}},
            f"{EKS}/x86_64/nvidia/amazon-eks-node-al2023-x86_64-nvidia-1.35-v20261101/image_id",
        ),
        (
            {"instance_types": ["g6.xlarge"], "ami": {"family": "bottlerocket"}},
            "/aws/service/bottlerocket/aws-k8s-1.35-nvidia/x86_64/latest/image_id",
        ),
        (
            {
                "instance_types": ["m7g.xlarge"],
                "ami": {"family": "bottlerocket", "release_version": "1.55.0-abcdef12"},
            },
            "/aws/service/bottlerocket/aws-k8s-1.35/arm64/1.55.0/image_id",
        ),
    ],
)
def test_release_of_a_group(fields: dict[str, Any], parameter: str) -> None:
    given = {"name": "gpu", "scaling": {"max": 4}, **fields}
    assert codes(look(images, account_with_parameters(parameter), given).findings) == []
    outcome = look(images, account_with_parameters(), given)
    pinned = "release_version" in fields.get("ami", {})
    path = "node_groups[gpu].ami.release_version" if pinned else "node_groups[gpu]"
    assert codes(outcome.findings) == [("IMAGE_RELEASE_MISSING", path)]
    folder = parameter.rsplit("/", 2)[0]
    assert f"get-parameters-by-path --path {folder} --recursive " in outcome.findings[0].command


@pytest.mark.parametrize(
    ("ami", "parameter"),
    [
        (
            {"version": "v20261101"},
            f"{EKS}/x86_64/nvidia/amazon-eks-node-al2023-x86_64-nvidia-1.35-v20261101/image_id",
        ),
        (
            {"family": "bottlerocket", "version": "v1.55.0"},
            "/aws/service/bottlerocket/aws-k8s-1.35-nvidia/x86_64/1.55.0/image_id",
        ),
    ],
)
def test_release_of_a_pool(ami: dict[str, str], parameter: str) -> None:
    pool = {"name": "l4", "instance_types": ["g6.xlarge"], "ami": ami, "limits": {"nvidia.com/gpu": 4}}
    assert codes(look(images, account_with_parameters(parameter), **pools(pool)).findings) == []
    outcome = look(images, account_with_parameters(), **pools(pool))
    assert codes(outcome.findings) == [("IMAGE_RELEASE_MISSING", "karpenter.node_pools[l4].ami.version")]


def own_image(image_id: str = "ami-0123456789abcdef0") -> dict[str, Any]:
    return group("m6i.xlarge", name="own", ami={"image_id": image_id})


@in_one_test(
    ("code", "answer"),
    [
        (None, {"Images": [{"State": "available", "Architecture": "x86_64"}]}),
        ("IMAGE_MISSING", {"Images": []}),
        ("IMAGE_MISSING", RefusedError("InvalidAMIID.NotFound")),
        ("IMAGE_MISSING", {"Images": [{"State": "deregistered", "Architecture": "x86_64"}]}),
        ("IMAGE_ARCHITECTURE", {"Images": [{"State": "available", "Architecture": "arm64"}]}),
    ],
)
def test_own_image(code: str | None, answer: Any) -> None:
    expected = [(code, "node_groups[own].ami.image_id")] if code else []
    assert codes(look(images, account_with_parameters(DescribeImages=answer), own_image()).findings) == expected


def test_denied() -> None:
    outcome = look(images, answering({}, otherwise=RefusedError("AccessDeniedException")), own_image())
    assert codes(outcome.findings) == [
        ("CHECK_DENIED", "node_groups[system]"),
        ("CHECK_DENIED", "node_groups[own].ami.image_id"),
    ]
    assert all(any(call in each.message for each in outcome.findings) for call in images.CALLS)
