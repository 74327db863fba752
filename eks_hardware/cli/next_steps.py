"""The next commands after a strategy was written, one per line, ready to paste."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from eks_hardware.cli.streams import width, wrapped, wrapped_command

if TYPE_CHECKING:
    from eks_hardware.new_project import ProjectFile

_NAMES = 33
"""Width of the longest path of a project file, and a space."""
_LEAST_ROOM = 20
_UNLIMITED = 1000
_PROJECT_PROGRAM = ".venv/bin/eks-hardware"


def show_next(
    name: str,
    file: Path,
    project: Path | None,
    *,
    created: bool,
    private_in: str | None = None,
    err: bool = False,
) -> None:
    """Print the next commands for a strategy alone or in a project, which is new if ``created``.

    ``private_in`` is the region of a cluster with an API that is reachable only from its VPC.
    """
    click.echo("\nNext:", err=err)
    _show_commands(_lines(name, file, project, created), err)
    if not project and not _deploys(file):
        click.echo(wrapped(f"  {_NO_PROJECT}", width(err=err)), err=err)
    if empty := _without_nodes(file):
        click.echo(f"\n{wrapped(_EMPTY.format(', '.join(empty)), width(err=err))}", err=err)
    if private_in:
        click.echo(f"\n{wrapped(_PRIVATE, width(err=err))}", err=err)
        _show_commands(_private_lines(name, file, project, private_in, created), err)


def show_files(files: Sequence[tuple[ProjectFile, bool]], *, err: bool = False) -> None:
    """Print the files of a project, each with whether it was written, and how to make its requirements portable."""
    from eks_hardware.explain.columns import columns
    from eks_hardware.installed_from import source
    from eks_hardware.new_project import BUILD_WHEEL, local_source_notice

    room = (width(err=err) or _UNLIMITED) - _NAMES - len("   ")
    rows = [(f"  {each.path}", each.status(written=written)) for each, written in files]
    for line in columns(rows, (_NAMES + 2, max(room, _LEAST_ROOM))):
        click.echo(line, err=err)
    if notice := local_source_notice(source()):
        click.echo(f"\n{wrapped(notice, width(err=err))}", err=err)
        _show_commands(BUILD_WHEEL, err)


def _show_commands(lines: Iterable[str], err: bool) -> None:
    for line in lines:
        click.echo(wrapped_command(f"  {line}", width(err=err)), err=err)


def _without_nodes(file: Path) -> list[str]:
    """Return the node groups that start with 0 nodes."""
    from eks_hardware.validation import load_strategy

    groups = load_strategy(file).strategy.node_groups
    return [group.name for group in groups if not group.scaling.initial]


_NO_PROJECT = "repeat the command with --project to create a project that can deploy it"
_EMPTY = (
    "No nodes yet: {}. To start them, set `desired` in `scaling` and deploy again, or add "
    "`kubernetes: {{cluster_autoscaler: true}}`."
)
_PRIVATE = (
    "The Kubernetes API is private: only the VPC and connected networks reach it. Terraform creates the cluster, but "
    "installs no charts. After the deployment, run this on a machine in such a network (or commit the rendered folder "
    "for Argo CD or Flux):"
)


def _private_lines(name: str, file: Path, project: Path | None, region: str, created: bool) -> Iterator[str]:
    program = _PROJECT_PROGRAM if created else "eks-hardware"
    folder = shlex.quote(f"kubernetes/{name}")
    yield f"{program} render {_path(file, project)} --output {folder}"
    yield f"aws eks update-kubeconfig --region {region} --name {name}"
    yield f"{folder}/install.sh"


def _path(file: Path, project: Path | None) -> str:
    return shlex.quote(str(file.relative_to(project) if project else file))


def _lines(name: str, file: Path, project: Path | None, created: bool) -> Iterator[str]:
    path = _path(file, project)
    if project and project.resolve() != Path.cwd():
        yield f"cd {shlex.quote(str(project))}"
    if project and created:
        if not (project / ".venv" / "bin" / "python").exists():
            yield "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"
        yield "npm install"
    # The project's own program, because the running one may not be on the PATH.
    program = _PROJECT_PROGRAM if created else "eks-hardware"
    yield f"{program} validate {path}"
    yield f"{program} cost {path}"
    if project:
        yield f"npx cdktf deploy {name}"
    elif _deploys(file):
        yield f"EKS_HARDWARE_STRATEGIES={path} npx cdktf deploy {name}"


def _deploys(file: Path) -> bool:
    """Return whether this folder or the file's folder is in a CDKTF project."""
    from eks_hardware.new_project import project_above

    return bool(project_above(Path()) or project_above(file.parent))
