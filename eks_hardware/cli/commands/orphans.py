"""``eks-hardware orphans``: resources in the account that are not in the Terraform state. Read-only."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from eks_hardware.cli import parameters
from eks_hardware.cli.checked_strategy import checked
from eks_hardware.cli.errors import FAILED, exit_codes, fail
from eks_hardware.cli.output import print_json

if TYPE_CHECKING:
    from eks_hardware.orphans import Report

_JSON_VERSION = 1
_STACKS = Path("cdktf.out") / "stacks"


@click.command(epilog=exit_codes("errors in the strategy, or resources that are not in the Terraform state"))
@parameters.strategy()
@parameters.overlays("the file")
@click.option("--profile", metavar="NAME", help="AWS profile; default: the strategy's, then AWS_PROFILE.")
@click.option(
    "--stack-dir",
    type=parameters.FILE,
    metavar="FOLDER",
    help="Folder with cdk.tf.json where Terraform ran; default: cdktf.out/stacks/NAME in the project.",
)
@parameters.output_format()
def orphans(
    strategy: str, overlays: tuple[str, ...], profile: str | None, stack_dir: Path | None, format_: str
) -> None:
    """List resources that exist in your AWS account but not in the Terraform state, after an interrupted apply.

    Prints the command that imports or deletes each resource. Run these commands, then `orphans` again: some resources
    are found only after the state contains the resources they belong to. All calls are read-only.

    \b
    Examples:
      eks-hardware orphans mixed-hardware
      eks-hardware orphans my-cluster.yaml --stack-dir cdktf.out/stacks/my-cluster
    """
    from eks_hardware.doctor import AwsError
    from eks_hardware.doctor.aws import RoleNotAssumedError, connect
    from eks_hardware.local import terraform
    from eks_hardware.orphans import find

    given = checked(strategy, overlays).strategy
    folder = stack_dir or _stack_dir(given.name)
    document = _document(folder)
    profile = profile or given.aws.profile
    try:
        program = terraform.find_terraform()
        _refuse_broken_state(document, folder)
        state = _state(program.path, folder)
        report = find(
            document,
            state,
            connect(given.region, profile=profile, assume_role=given.aws.assume_role),
            strategy=given.name,
            region=given.region,
            folder=folder,
            program="tofu" if program.is_opentofu else "terraform",
            profile=profile,
        )
    except (AwsError, RoleNotAssumedError, terraform.TerraformError) as error:
        fail(str(error))
    if format_ == "json":
        print_json(_as_json(report, given.name))
    else:
        click.echo("\n".join(_lines(report, given.name)))
    if report.orphans:
        raise Exit(FAILED)


def _stack_dir(name: str) -> Path:
    from eks_hardware.new_project import project_above

    return (project_above(Path.cwd()) or Path()) / _STACKS / name


def _document(folder: Path) -> dict[str, object]:
    from eks_hardware.printable import reason

    file = folder / "cdk.tf.json"
    try:
        document: dict[str, object] = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        fail(f"{file}: {reason(error)}; run cdktf synth, or name the folder with --stack-dir")
    except ValueError as error:
        fail(f"{file}: must be JSON: {error}")
    return document


def _refuse_broken_state(document: dict[str, object], folder: Path) -> None:
    """Refuse an empty or incomplete local state file if Terraform kept an earlier state.

    Terraform empties the file before it writes it, so a kill at that moment leaves it broken.
    Source: https://github.com/hashicorp/terraform/blob/v1.11.4/internal/states/statemgr/filesystem.go
    """
    match document:
        case {"terraform": {"backend": {"local": {"path": str(path)}}}}:
            file = Path(os.path.normpath(folder / path))
        case _:
            return
    backup = Path(f"{file}.backup")
    if not file.exists() or _is_json(file) or not _is_json(backup):
        return
    copy = shlex.join(["cp", str(backup), str(file)])
    fail(
        f"{file}: must be a Terraform state, got an empty or incomplete file; Terraform was killed while it wrote it. "
        f"Restore the last state that Terraform saved, then run this command again: {copy}"
    )


def _is_json(file: Path) -> bool:
    try:
        json.loads(file.read_bytes())
    except (OSError, ValueError):
        return False
    return True


def _state(program: Path, folder: Path) -> dict[str, object]:
    """Return the state of a stack; empty if there is none."""
    done = subprocess.run(
        [program, "state", "pull"], capture_output=True, check=False, cwd=folder, stdin=subprocess.DEVNULL, text=True
    )
    if done.returncode:
        errors = " ".join(done.stderr.replace("\u2502", " ").split())
        fail(f"terraform state pull failed in {folder}; run terraform init there: {errors}")
    state: dict[str, object] = json.loads(done.stdout) if done.stdout.strip() else {}
    return state


def _lines(report: Report, name: str) -> Iterator[str]:
    from eks_hardware.printable import counted

    yield f"{name}: account {report.account}, {report.region}"
    for orphan in report.orphans:
        yield ""
        place = f"is {orphan.address} in the stack" if orphan.address else "is not in the stack"
        yield f"{orphan.kind} {orphan.id} {place}"
        # Not wrapped, to be copied.
        yield from (f"    {command}" for command in orphan.commands)
    if report.not_checked:
        yield ""
        yield from (f"not checked: {each}" for each in report.not_checked)
    yield ""
    found = counted(len(report.orphans), "resource") if report.orphans else "no resources"
    yield f"{found} missing from the Terraform state; nothing was changed"


def _as_json(report: Report, name: str) -> dict[str, object]:
    return {
        "version": _JSON_VERSION,
        "strategy": name,
        "account": report.account,
        "region": report.region,
        "orphans": [
            {"type": orphan.kind, "id": orphan.id, "address": orphan.address or None, "commands": list(orphan.commands)}
            for orphan in report.orphans
        ],
        "not_checked": list(report.not_checked),
    }
