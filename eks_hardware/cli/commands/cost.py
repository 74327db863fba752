"""``eks-hardware cost``: what a strategy costs an hour and a month, line by line, with the day of each price."""

from __future__ import annotations

import click
from click.exceptions import Exit

from eks_hardware.cli import parameters
from eks_hardware.cli.checked_strategy import checked
from eks_hardware.cli.errors import FAILED
from eks_hardware.cli.output import print_json


@click.command()
@parameters.strategy()
@parameters.overlays("the file")
@parameters.output_format(text="How to print it; JSON has every source.")
def cost(strategy: str, overlays: tuple[str, ...], format_: str) -> None:
    """Show what a strategy costs at the minimum, desired and maximum number of nodes.

    Exit code 0; 1 with errors in the strategy, which are shown as validate shows them; 2 for wrong usage. A strategy
    that is only over its budget is shown all the same, with exit code 1.
    """
    from eks_hardware.cli.output import cost as output
    from eks_hardware.cost import cost_of
    from eks_hardware.resolve import resolve

    read = checked(strategy, overlays)
    resolved = resolve(read.strategy)
    found = cost_of(resolved)
    if format_ == "json":
        print_json(output.content(resolved, found))
    else:
        output.show(resolved, found)
    if read.over_budget:
        raise Exit(FAILED)
