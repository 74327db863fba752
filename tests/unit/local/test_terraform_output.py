"""The output of cdktf and Terraform is parsed."""

from __future__ import annotations

import pytest

from eks_hardware.local import terraform_output
from eks_hardware.local.terraform_output import Progress, plain
from helpers.cases import in_one_test

# Output of cdktf 0.21 for Terraform 1.11: a chunk starts with the stack's name, the rest is indented.
_DEPLOY = """\
toy  \x1b[0m\x1b[1mInitializing the backend...\x1b[0m
     \x1b[0m\x1b[1mInitializing provider plugins...\x1b[0m
     \x1b[0m\x1b[1m\x1b[32mTerraform has been successfully initialized!\x1b[0m\x1b[32m\x1b[0m
     \x1b[1mPlan:\x1b[0m 3 to add, 0 to change, 0 to destroy.
toy  data.aws_ssm_parameter.ami: Reading...
     data.aws_ssm_parameter.ami: Read complete after 0s [id=x]
toy  \x1b[0m\x1b[1maws_sqs_queue.q: Creating...\x1b[0m\x1b[0m
     \x1b[0m\x1b[1maws_vpc.network_vpc_1A2B3C4D: Creating...\x1b[0m\x1b[0m
     \x1b[0m\x1b[1maws_iam_role.node-groups_gpu["a b"]: Creating...\x1b[0m\x1b[0m
toy  \x1b[0m\x1b[1maws_vpc.network_vpc_1A2B3C4D: Creation complete after 0s [id=vpc-68c3c21746002b572]\x1b[0m
toy  \x1b[0m\x1b[1maws_sqs_queue.q: Still creating... [10s elapsed]\x1b[0m\x1b[0m
     aws_iam_role.node-groups_gpu["a b"]: Creation complete after 1s [id=gpu]
toy  aws_sqs_queue.q: Creation complete after 25s [id=http://127.0.0.1:4566/000000000000/q]
     Apply complete! Resources: 3 added, 0 changed, 0 destroyed.
"""


def test_deploy_is_followed() -> None:
    progress = Progress()
    seen = []
    for line in _DEPLOY.splitlines():
        if progress.feed(plain(line)):
            seen.append((progress.done, progress.total, progress.current))
    assert seen == [
        (0, None, "initializing the backend"),
        (0, None, "installing the AWS provider"),
        (0, None, "planning"),
        (0, 3, "waiting for AWS"),
        (0, 3, "data.aws_ssm_parameter.ami"),
        (0, 3, "waiting for AWS"),
        (0, 3, "aws_sqs_queue.q"),
        (0, 3, "aws_sqs_queue.q and 1 more"),
        (0, 3, "aws_sqs_queue.q and 2 more"),
        (1, 3, "aws_sqs_queue.q and 1 more"),
        (1, 3, "aws_sqs_queue.q and 1 more"),
        (2, 3, "aws_sqs_queue.q"),
        (3, 3, "finishing"),
    ]


def test_destroy_is_followed() -> None:
    progress = Progress()
    for line in (
        "     Plan: 0 to add, 0 to change, 2 to destroy.",
        "toy  aws_sqs_queue.q: Destroying... [id=http://127.0.0.1:4566/000000000000/q]",
        "     aws_sqs_queue.q: Destruction complete after 0s",
    ):
        assert progress.feed(line)
    assert (progress.done, progress.total) == (1, 2)


@in_one_test("line", ["", "toy", "     + arn = (known after apply)", '     + resource "aws_vpc" "v" {', "Plan: later"])
def test_other_lines_change_nothing(line: str) -> None:
    progress = Progress()
    assert not progress.feed(line)
    assert progress == Progress()


@in_one_test(
    ("raw", "expected"),
    [
        ("\x1b[1mbold\x1b[0m  \r\n", "bold"),
        ("\x1b[2K\x1b[1A\x1b[2K\x1b[Gtoy  x", "toy  x"),
        ("half\rwhole\n", "whole"),
        ("\x1b]0;title\x07text", "text"),
        ("│ Error: ünïcode", "│ Error: ünïcode"),
    ],
)
def test_plain(raw: str, expected: str) -> None:
    assert plain(raw) == expected


_BOX = """\
toy  aws_sqs_queue.q: Creation complete after 25s [id=x]
toy  ╷
     │ Error: creating EKS Add-On (toy:vpc-cni): ResourceNotFoundException
     │
     │   with aws_eks_addon.addon (addon),
     │   on cdk.tf.json line 45, in resource.aws_eks_addon.addon (addon):
     ╵
     ╷
     │ Warning: something else
     ╵

0 Stacks deploying     1 Stack done     0 Stacks waiting
Invoking Terraform CLI failed with exit code 1
"""
_ON_ONE_CHUNK = "toy  ╷\ntoy  │ Error: no such thing\n     │ really\n     ╵\n"
_RAISED = """\
[2026-01-01T00:00:00.000] [ERROR] default - Traceback (most recent call last):
ERROR: cdktf encountered an error while synthesizing

Synth command: python main.py
Error:         non-zero exit code 1

Command output on stderr:

    Traceback (most recent call last):
      File "main.py", line 23, in <module>
        raise ValueError("the strategy is broken")
    ValueError: the strategy is broken
      and why

⠏  Synthesizing
"""
_FINDINGS = """\
Error:         non-zero exit code 1

Command output on stderr:

    strategy.yaml:3:5: error EFA_UNSUPPORTED node_groups[0].efa: no EFA on g5.xlarge
      fix: take one of g5.8xlarge, g5.12xlarge
"""


@in_one_test(
    ("printed", "expected"),
    [
        pytest.param(
            _BOX,
            [
                "Error: creating EKS Add-On (toy:vpc-cni): ResourceNotFoundException",
                "  with aws_eks_addon.addon (addon),",
                "  on cdk.tf.json line 45, in resource.aws_eks_addon.addon (addon):",
            ],
            id="Terraform's box",
        ),
        pytest.param(_ON_ONE_CHUNK, ["Error: no such thing", "really"], id="a box after the stack's name"),
        pytest.param(_RAISED, ["ValueError: the strategy is broken", "  and why"], id="the app raised"),
        pytest.param(
            _FINDINGS,
            [
                "strategy.yaml:3:5: error EFA_UNSUPPORTED node_groups[0].efa: no EFA on g5.xlarge",
                "  fix: take one of g5.8xlarge, g5.12xlarge",
            ],
            id="the app's findings",
        ),
        pytest.param("one\n\ntwo\n", ["one", "two"], id="anything else"),
        pytest.param("\n".join(map(str, range(50))), [str(n) for n in range(38, 50)], id="the last lines"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_errors(printed: str, expected: list[str]) -> None:
    assert terraform_output.errors(printed.splitlines()) == expected
