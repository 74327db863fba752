"""Commands: valid shell syntax, in lines that fit."""

from __future__ import annotations

import shlex

from eks_hardware.doctor.aws_cli import aws_command, wrapped
from helpers.cases import in_one_test

LONG = aws_command(
    "ssm",
    "get-parameters-by-path",
    path="/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/nvidia",
    recursive=(),
    query="Parameters[].Name",
    region="us-west-2",
)


def test_words_are_quoted_for_a_shell() -> None:
    command = aws_command("ec2", "describe-subnets", filters=["Name=a,Values=b c", "x"], query="Subnets[].[A,B]")
    assert shlex.split(command) == [
        "aws",
        "ec2",
        "describe-subnets",
        "--filters",
        "Name=a,Values=b c",
        "x",
        "--query",
        "Subnets[].[A,B]",
    ]


def test_injection_stays_one_word() -> None:
    assert shlex.split(aws_command("iam", "get-role", role_name="a; rm -rf $(pwd)"))[-1] == "a; rm -rf $(pwd)"


@in_one_test("width", [30, 60, 80])
@in_one_test("command", [LONG, aws_command("sts", "get-caller-identity")])
def test_wrapped_is_the_same_command(command: str, width: int) -> None:
    lines = wrapped(command, width, "    ")
    assert shlex.split("\n".join(lines).replace("\\\n", " ")) == shlex.split(command)
    longest = max(len(word) for word in command.split())
    assert max(map(len, lines)) <= max(width, longest + len("      --recursive  \\"))


def test_options_keep_their_value() -> None:
    assert not any(line.rstrip(" \\").endswith(("--path", "--query", "--region")) for line in wrapped(LONG, 40))
