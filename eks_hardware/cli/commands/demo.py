"""``eks-hardware demo``: deploy a strategy to a local AWS emulator and destroy it again."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.exceptions import Exit

from eks_hardware.cli import completion
from eks_hardware.cli.checked_strategy import checked
from eks_hardware.cli.errors import exit_codes, fail


@click.command(epilog=exit_codes("errors in the strategy, or the deployment failed"))
@click.argument(
    "stack",
    required=False,
    shell_complete=completion.strategies,
    help="Stack to deploy, or a strategy file; default: mixed-hardware, or the project's only strategy.",
)
@click.option("--keep", is_flag=True, envvar="KEEP", help="Leave the deployment running, and print how to inspect it.")
@click.option("--stop", is_flag=True, help="Stop every demo that --keep left running.")
def demo(stack: str | None, keep: bool, stop: bool) -> None:
    """Deploy a stack with Terraform to a local AWS emulator, show its resources, and destroy it.

    Requires no AWS account: the command starts an emulator on this machine and stops it at the end. Outside a CDKTF
    project and a checkout, it deploys the shipped strategies or those in EKS_HARDWARE_STRATEGIES, and installs cdktf
    with npm in your cache folder.

    \b
    Examples:
      eks-hardware demo
      eks-hardware demo gpu-training --keep
      eks-hardware demo my-cluster.yaml
    """
    # Imported here: no other command needs it.
    from rich.console import Console

    from eks_hardware.loader.discovery import OVERLAY_VARIABLE, STRATEGIES_VARIABLE
    from eks_hardware.loader.yaml_files import SUFFIXES
    from eks_hardware.local.demo import overlay_environment, run_demo, stop_kept
    from eks_hardware.local.demo_folder import DemoError, find_root, known_stack

    console = Console()
    named = stack
    if stack and Path(stack).suffix in SUFFIXES and not stop:
        file = Path(stack).absolute()
        # The strategy as the demo deploys it. Errors are shown before anything starts.
        overlays = overlay_environment(os.environ)[OVERLAY_VARIABLE].split(",")
        stack = checked(stack, overlays).strategy.name
        os.environ[STRATEGIES_VARIABLE] = str(file)
    try:
        root = find_root()
        chosen = "" if stop else known_stack(root, stack, os.environ)
    except DemoError as error:
        fail(str(error))
    if stop:
        stop_kept(console, root)
    elif code := run_demo(console, root=root, stack=chosen, named=named or chosen, keep=keep):
        raise Exit(code)
