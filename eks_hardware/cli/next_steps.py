"""The next commands after a strategy was written, one per line, ready to paste."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import click


def show_next(name: str, file: Path, project: Path | None, *, created: bool, err: bool = False) -> None:
    """Print the next commands for a strategy in a project, which may be ``created`` just now, or alone."""
    click.echo("\nNext:", err=err)
    for line in _lines(name, file, project, created):
        click.echo(f"  {line}", err=err)


def _lines(name: str, file: Path, project: Path | None, created: bool) -> Iterator[str]:
    from eks_hardware.new_project import project_above

    path = shlex.quote(str(file.relative_to(project) if project else file))
    if project and project.resolve() != Path.cwd():
        yield f"cd {shlex.quote(str(project))}"
    if project and created:
        if not (project / ".venv" / "bin" / "python").exists():
            yield "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"
        yield "npm install"
    # The project's own, because this one may not be on the PATH.
    program = ".venv/bin/eks-hardware" if created else "eks-hardware"
    yield f"{program} validate {path}"
    yield f"{program} cost {path}"
    if project:
        yield f"npx cdktf deploy {name}"
    elif project_above(Path()) or project_above(file.parent):
        yield f"EKS_HARDWARE_STRATEGIES={path} npx cdktf deploy {name}"
    else:
        yield "repeat the command with --project to create a project that can deploy it"
