"""The next commands after a strategy was written, one per line, ready to paste."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from eks_hardware.cli.streams import width, wrapped

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
    """Print the next commands for a strategy in a project, which may be ``created`` just now, or alone.

    ``private_in`` is the region of a cluster with an API that is reachable only from its VPC.
    """
    click.echo("\nNext:", err=err)
    for line in _lines(name, file, project, created):
        click.echo(f"  {line}", err=err)
    if private_in:
        click.echo(f"\n{wrapped(_PRIVATE, width(err=err))}", err=err)
        for line in _private_lines(name, file, project, private_in, created):
            click.echo(f"  {line}", err=err)


_PRIVATE = (
    "The Kubernetes API is private: only the VPC and connected networks reach it. Terraform creates the cluster, but "
    "installs no charts. After the deployment, on a machine in such a network (or commit the rendered folder for "
    "Argo CD or Flux):"
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
    from eks_hardware.new_project import project_above

    path = _path(file, project)
    if project and project.resolve() != Path.cwd():
        yield f"cd {shlex.quote(str(project))}"
    if project and created:
        if not (project / ".venv" / "bin" / "python").exists():
            yield "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"
        yield "npm install"
    # The project's own, because this one may not be on the PATH.
    program = _PROJECT_PROGRAM if created else "eks-hardware"
    yield f"{program} validate {path}"
    yield f"{program} cost {path}"
    if project:
        yield f"npx cdktf deploy {name}"
    elif project_above(Path()) or project_above(file.parent):
        yield f"EKS_HARDWARE_STRATEGIES={path} npx cdktf deploy {name}"
    else:
        yield "repeat the command with --project to create a project that can deploy it"
