"""``eks-hardware demo``: deploy a strategy to an AWS on this machine and take it down again."""

from __future__ import annotations

import click
from click.exceptions import Exit

from eks_hardware.cli import completion
from eks_hardware.cli.errors import fail


@click.command()
@click.argument("stack", default="mixed-hardware", shell_complete=completion.strategies, help="The stack to deploy.")
@click.option("--keep", is_flag=True, envvar="KEEP", help="Leave it up and say how to look at it.")
@click.option("--stop", is_flag=True, help="Stop what --keep left running.")
def demo(stack: str, keep: bool, stop: bool) -> None:
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
        fail(str(error))
    if stop:
        stop_kept(console, root)
    elif code := run_demo(console, root=root, stack=stack, keep=keep):
        raise Exit(code)
