"""``eks-hardware cost``: the cost of a strategy per hour and month, line by line, with the date of each price."""

from __future__ import annotations

import click
from click.exceptions import Exit

from eks_hardware.cli import parameters
from eks_hardware.cli.checked_strategy import checked
from eks_hardware.cli.errors import FAILED, exit_codes
from eks_hardware.cli.output import print_json


@click.command(epilog=exit_codes("errors in the strategy, or a cost above its budget"))
@parameters.strategy()
@parameters.overlays("the file")
@click.option("--all", "everything", is_flag=True, help="Show volumes, other purchasing options, and price sources.")
@parameters.output_format(text="Output format; JSON includes every source.")
def cost(strategy: str, overlays: tuple[str, ...], everything: bool, format_: str) -> None:
    """Show what a strategy costs at the minimum, desired and maximum number of nodes.

    A cost above the budget is shown, too. If the strategy has other errors, only the errors are shown.

    \b
    Examples:
      eks-hardware cost mixed-hardware
      eks-hardware cost my-cluster.yaml --overlay private --all
    """
    from eks_hardware.cli.output import cost as output
    from eks_hardware.cost import cost_of
    from eks_hardware.resolve import resolve

    read = checked(strategy, overlays)
    resolved = resolve(read.strategy)
    strategy_cost = cost_of(resolved)
    if format_ == "json":
        print_json(output.content(resolved, strategy_cost))
    else:
        output.show(resolved, strategy_cost, everything=everything)
    if read.over_budget:
        raise Exit(FAILED)
