"""``eks-hardware prices``: update the price tables from AWS."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from textwrap import wrap

import click

from eks_hardware.cli import completers, parameters
from eks_hardware.cli.commands.instances import report_built
from eks_hardware.cli.errors import exit_codes, fail
from eks_hardware.cli.output import console, print_json, table
from eks_hardware.cli.output.narrow import fitted
from eks_hardware.installed_from import install_command

_BESIDE_SOURCE, _LEAST_SOURCE = 46, 30
"""Width of the other columns, and the minimum width of the sources in a table."""
_JOINT = "\u2060"
_SPELLINGS = {"fsx": "FSx", "govcloud": "GovCloud", "ipv4": "IPv4", "kms": "KMS", "lustre": "Lustre", "nat": "NAT"}
"""Words of ``prices/services.json`` that are not written in lower case."""


@click.group(invoke_without_command=True, epilog=exit_codes())
@click.pass_context
@parameters.output_format()
def prices(context: click.Context, format_: str) -> None:
    """List the sources of the price tables with their dates, oldest first.

    \b
    Examples:
      eks-hardware prices
    """
    if context.invoked_subcommand is not None:
        return
    from datetime import date

    from eks_hardware import facts
    from eks_hardware.cost import first_day

    rows = [
        (words, each["as_of"], each["source"])
        for words, file in (
            ("On-Demand", facts.on_demand_prices),
            ("Spot", facts.spot_prices),
            ("Capacity Blocks", facts.capacity_block_prices),
            ("Reserved", facts.commitment_prices),
        )
        for each in file()["sources"].values()
    ]
    volumes = facts.volume_prices()
    rows.append(("Volumes", volumes["as_of"], volumes["source"]))
    services = {name: each for name, each in facts.service_prices().items() if isinstance(each, dict)}
    rows += [(_title(name), each["as_of"], each["source"]) for name, each in services.items()]
    dated = [
        (words, as_of, (date.today() - first_day(as_of)).days, source)
        for words, as_of, source in sorted(dict.fromkeys(rows), key=lambda row: first_day(row[1]))
    ]
    if format_ == "json":
        keys = ("prices", "as_of", "days_ago", "source")
        print_json({"sources": [dict(zip(keys, row, strict=True)) for row in dated]})
    else:
        _print_table(dated)


def _title(name: str) -> str:
    """Return a key of ``prices/services.json`` as a title: ``kms_key_govcloud`` -> KMS key GovCloud."""
    text = " ".join(_SPELLINGS.get(word, word) for word in name.split("_"))
    return text[0].upper() + text[1:]


def _print_table(rows: Sequence[tuple[str, str, int, str]]) -> None:
    shown = table(("Prices", "Date", "Days ago", "Source"), right={"Days ago"}, fold=("Source",))
    out = console()
    room = out.width - _BESIDE_SOURCE
    for words, as_of, days, source in rows:
        lines = _broken_at_slashes(source, room) if room >= _LEAST_SOURCE else [source]
        shown.add_row(words, as_of, str(days), "\n".join(lines))
    out.print(fitted(shown, out))


def _broken_at_slashes(source: str, width: int) -> list[str]:
    """Return the lines of a source, whose paths and addresses may continue on the next line after a slash."""
    lines = wrap(source.replace("/", f"/{_JOINT} "), width, break_on_hyphens=False)
    return [line.replace(f"{_JOINT} ", "").rstrip(_JOINT) for line in lines]


@prices.command(epilog=exit_codes("--check finds a file that is out of date"))
@click.option(
    "--region",
    "regions",
    metavar="NAME",
    multiple=True,
    shell_complete=completers.from_catalogue("regions"),
    help="Only prices of this region; can be repeated. Default: every region that the account has enabled.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit with code 1 if a file is out of date.")
@parameters.output("FOLDER", "Folder to write to; default: the catalogue's.")
def refresh(regions: tuple[str, ...], check: bool, output: Path | None) -> None:
    """Read today's prices from AWS with your credentials.

    On-Demand and reserved prices come from the price list, Spot prices from EC2, and rates of Compute Savings Plans
    from the Savings Plans API. The command calls GetProducts, DescribeSpotPriceHistory,
    DescribeSavingsPlansOfferingRates and, without --region, DescribeRegions. All calls are read-only. Prices of
    Capacity Blocks are not in these sources.

    Each price keeps its source and date. To import prices from files, use `eks-hardware instances refresh
    --prices-from FILE`.

    \b
    Examples:
      eks-hardware prices refresh --region us-west-2
      eks-hardware prices refresh --check
    """
    from eks_hardware.catalogue import build, load

    catalogue = load()
    for region in regions:
        if region not in catalogue.regions:
            fail(f"--region: {catalogue.not_listed(region)}")
    try:
        boto3, exceptions = import_module("boto3"), import_module("botocore.exceptions")
    except ModuleNotFoundError:
        fail(f"boto3 is not installed: {install_command('local')}")
    try:
        built = build.prices_from_aws(boto3.Session(), regions)
    except (exceptions.BotoCoreError, exceptions.ClientError) as error:
        fail(f"the request to AWS failed: {error}")
    report_built(built, check=check, output=output, command="eks-hardware prices refresh")
