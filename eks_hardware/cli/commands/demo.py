"""``eks-hardware demo``: deploy a strategy to a local AWS emulator and destroy it again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from eks_hardware.cli import completers
from eks_hardware.cli.checked_strategy import checked, validated
from eks_hardware.cli.errors import FAILED, exit_codes, fail, tell_findings

if TYPE_CHECKING:
    from eks_hardware.local.demo_cluster import Options


@click.command(epilog=exit_codes("errors in the strategy, or the deployment failed"))
@click.argument(
    "stack",
    required=False,
    shell_complete=completers.strategies,
    help="Stack to deploy, or a strategy file; default: mixed-hardware, or the project's only strategy.",
)
@click.option("--keep", is_flag=True, envvar="KEEP", help="Leave the deployment running, and print how to inspect it.")
@click.option("--stop", is_flag=True, help="Stop every demo that --keep left running.")
@click.option(
    "--cluster",
    is_flag=True,
    help="Also start a local Kubernetes, install the strategy's releases, and run a workload on each group and pool.",
)
@click.option(
    "--charts",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="With --cluster, use the charts that pull-charts.sh wrote to this folder, in place of stand-ins.",
)
def demo(stack: str | None, keep: bool, stop: bool, cluster: bool, charts: Path | None) -> None:
    """Deploy a stack with Terraform to a local AWS emulator, show its resources, and destroy it.

    Requires no AWS account: the command starts an emulator on this machine and stops it at the end. Outside a CDKTF
    project and a checkout, it deploys the shipped strategies or those in EKS_HARDWARE_STRATEGIES, and installs cdktf
    with npm in your cache folder.

    With --cluster, the command builds Kubernetes and Karpenter with Go the first time. No container runs: pods only
    report that they do.

    \b
    Examples:
      eks-hardware demo
      eks-hardware demo gpu-training --keep
      eks-hardware demo gpu-training --cluster
      eks-hardware demo my-cluster.yaml
    """
    # Imported here: no other command needs it.
    from rich.console import Console

    from eks_hardware.loader.discovery import OVERLAY_VARIABLE, STRATEGIES_VARIABLE
    from eks_hardware.loader.yaml_files import SUFFIXES
    from eks_hardware.local.demo import overlay_environment, run_demo, stop_kept
    from eks_hardware.local.demo_folder import DemoError, find_root, known_stack

    if charts and not cluster:
        raise click.UsageError("--charts requires --cluster; add --cluster")
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
        return
    options = _options(root, chosen, charts) if cluster else None
    if options and keep:
        from eks_hardware.local.demo_background import run_in_background

        code = run_in_background(root, chosen, named or chosen, options)
    else:
        code = run_demo(console, root=root, stack=chosen, named=named or chosen, keep=keep, cluster=options)
    if code:
        raise Exit(code)


def _options(root: Path, stack: str, charts: Path | None) -> Options:
    """Return what to run on the local cluster. End the command if the stack is not built from a strategy file."""
    from eks_hardware.loader.discovery import OVERLAY_VARIABLE, read_environment
    from eks_hardware.local.demo import overlay_environment
    from eks_hardware.local.demo_cluster import Options, differences
    from eks_hardware.local.demo_folder import strategy_file

    file = strategy_file(root, stack, os.environ)
    if file is None:
        fail(f"--cluster requires a stack that is built from a strategy file; {stack} has none in {root}")
    overlays = overlay_environment(os.environ)[OVERLAY_VARIABLE].split(",")
    here, own = (validated(str(file), names) for names in (overlays, read_environment(os.environ).overlays))
    if here.errors:
        tell_findings(here.errors)
        raise Exit(FAILED)
    ((deployed, _),) = here.strategies
    found = [differences(written.strategy, deployed.strategy) for written, _ in own.strategies]
    return Options(deployed.strategy, charts, *found)
