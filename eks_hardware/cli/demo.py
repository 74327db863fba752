"""``eks-hardware demo``: deploy a strategy to an AWS on this machine and take it down again."""

from __future__ import annotations

from typing import Annotated

import typer


def demo(
    stack: Annotated[str, typer.Argument(help="The stack to deploy.")] = "mixed-hardware",
    keep: Annotated[bool, typer.Option("--keep", envvar="KEEP", help="Leave it up and say how to look at it.")] = False,
    stop: Annotated[bool, typer.Option("--stop", help="Stop what --keep left running.")] = False,
) -> None:
    """Deploy a stack with the real Terraform to a local AWS, show what came to be, destroy it.

    Needs no AWS account: an emulator is started on this machine and stopped again.
    """
    # Late, because every other command does without.
    from rich.console import Console

    from eks_hardware.local.demo import DemoError, find_root, run_demo, stop_kept

    console = Console()
    try:
        root = find_root()
    except DemoError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    code = stop_kept(console, root) if stop else run_demo(console, root=root, stack=stack, keep=keep)
    if code:
        raise typer.Exit(code)


if __name__ == "__main__":
    typer.run(demo)
