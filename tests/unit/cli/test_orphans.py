"""``eks-hardware orphans``: exit codes, text, JSON, and where it reads the stack and its state."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.local import terraform
from helpers import cli
from helpers.doctor import ACCOUNT, answering, no_aws_settings
from helpers.strategies import group, write_document

run = partial(cli.run, "orphans")

TEMPLATE = {"LaunchTemplateId": "lt-1", "LaunchTemplateName": "demo/gpu"}
STACK = Path("cdktf.out/stacks/demo")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    no_aws_settings(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)
    STACK.mkdir(parents=True)
    document = {"resource": {"aws_launch_template": {"it": {"name": "demo/gpu"}}}}
    (STACK / "cdk.tf.json").write_text(json.dumps(document), encoding="utf-8")
    program(monkeypatch, "exit 0")
    return write_document(Path("demo.yaml"), group("p4d.24xlarge", name="a100"))


def program(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Replace Terraform with a script."""
    path = Path("terraform").absolute()
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    found = terraform.Terraform(path, (1, 9, 0), "linux_amd64")
    monkeypatch.setattr(terraform, "find_terraform", lambda: found)


def account(monkeypatch: pytest.MonkeyPatch, *templates: dict[str, Any]) -> list[dict[str, Any]]:
    """Let the account have these launch templates; return how it is connected to."""
    asked: list[dict[str, Any]] = []

    def connect(region: str, **options: Any) -> Any:
        asked.append({"region": region, **options})
        return answering({"ec2:DescribeLaunchTemplates": {"LaunchTemplates": list(templates)}})

    monkeypatch.setattr("eks_hardware.doctor.aws.connect", connect)
    return asked


def test_nothing_is_found(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = account(monkeypatch)
    code, out, err = run(file, "--profile", "production")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"demo: account {ACCOUNT}, us-west-2",
        "",
        "no resources missing from the Terraform state; nothing was changed",
    ]
    assert asked == [{"region": "us-west-2", "profile": "production", "assume_role": None}]


def test_each_has_its_command(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account(monkeypatch, TEMPLATE)
    code, out, err = run(file)
    assert (code, err) == (1, "")
    assert out.splitlines()[2:] == [
        "aws_launch_template lt-1 is aws_launch_template.it in the stack",
        f"    terraform -chdir={STACK} import aws_launch_template.it lt-1",
        "",
        "1 resource missing from the Terraform state; nothing was changed",
    ]


def test_json(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account(monkeypatch, TEMPLATE)
    code, out, err = run(file, "--json", "--stack-dir", STACK.absolute())
    assert (code, err) == (1, "")
    assert json.loads(out) == {
        "version": 1,
        "strategy": "demo",
        "account": ACCOUNT,
        "region": "us-west-2",
        "orphans": [
            {
                "type": "aws_launch_template",
                "id": "lt-1",
                "address": "aws_launch_template.it",
                "commands": [f"terraform -chdir={STACK.absolute()} import aws_launch_template.it lt-1"],
            }
        ],
        "not_checked": [],
    }


def test_the_state_is_read_in_the_stacks_folder(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account(monkeypatch, TEMPLATE)
    instances = [{"attributes": {"id": "lt-1"}}]
    resource = {"mode": "managed", "type": "aws_launch_template", "name": "it", "instances": instances}
    (STACK / "state").write_text(json.dumps({"resources": [resource]}), encoding="utf-8")
    program(monkeypatch, '[ "$*" = "state pull" ] && cat state')
    assert run(file)[0] == 0


def test_a_state_that_cannot_be_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account(monkeypatch)
    program(monkeypatch, "echo 'Backend initialization required' >&2; exit 1")
    code, out, err = run(file)
    assert (code, out) == (2, "")
    assert " ".join(err.split()) == (
        f"error: terraform state pull failed in {STACK}; run terraform init there: Backend initialization required"
    )


def test_a_stack_that_was_never_synthesized(file: Path) -> None:
    (STACK / "cdk.tf.json").unlink()
    code, _, err = run(file)
    assert code == 2
    assert "run cdktf synth, or name the folder with --stack-dir" in " ".join(err.split())


@pytest.mark.parametrize("written", ["", '{"version": 4,'])
def test_a_state_file_broken_by_a_kill_is_restored_first(file: Path, written: str) -> None:
    document = {"terraform": {"backend": {"local": {"path": "../../../my state.tfstate"}}}}
    (STACK / "cdk.tf.json").write_text(json.dumps(document), encoding="utf-8")
    state = Path("my state.tfstate").absolute()
    state.write_text(written, encoding="utf-8")
    backup = Path(f"{state}.backup")
    backup.write_text("{}", encoding="utf-8")
    code, out, err = run(file, "--stack-dir", STACK.absolute())
    assert (code, out) == (2, "")
    assert f"{state}: must be a Terraform state" in err.replace("\n", " ")
    assert err.endswith(f"cp '{backup}' '{state}'\n")


def test_an_empty_state_without_a_backup_is_searched_for_everything(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = json.loads((STACK / "cdk.tf.json").read_text(encoding="utf-8"))
    document["terraform"] = {"backend": {"local": {"path": "terraform.tfstate"}}}
    (STACK / "cdk.tf.json").write_text(json.dumps(document), encoding="utf-8")
    (STACK / "terraform.tfstate").touch()
    account(monkeypatch, TEMPLATE)
    code, out, _ = run(file)
    assert code == 1
    assert "import aws_launch_template.it lt-1" in out
