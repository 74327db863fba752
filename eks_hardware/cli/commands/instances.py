"""``eks-hardware instances``: list the hardware catalogue, and refresh it."""

from __future__ import annotations

from datetime import date
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from eks_hardware.cli import completers, parameters
from eks_hardware.cli.errors import FAILED, exit_codes, fail, refuse_unknown, tell
from eks_hardware.cli.output import console, print_json, table
from eks_hardware.cli.output.narrow import fitted
from eks_hardware.installed_from import install_command

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_hardware.catalogue import Catalogue, InstanceType
    from eks_hardware.catalogue.build import Built, Ec2Data

_WITHDRAWN = "†"


def _filter(name: str, names: str, text: str) -> Callable[[parameters.Function], parameters.Function]:
    complete = completers.from_catalogue(names)
    return click.option(f"--{name}", metavar="NAME", shell_complete=complete, help=text)


@click.group(invoke_without_command=True, epilog=exit_codes())
@click.pass_context
@_filter("family", "families", "Only this family, such as g6e.")
@_filter("accelerator", "accelerators", "Only with this accelerator, such as h100.")
@click.option("--efa", is_flag=True, help="Only with Elastic Fabric Adapter.")
@_filter("region", "regions", "Only types offered in this region; adds zones and price.")
@click.option(
    "--hardware",
    metavar="KIND",
    shell_complete=completers.kinds_of_hardware,
    help="Only this kind, such as nvidia-gpu or trainium.",
)
@parameters.output_format(text="Output format; JSON includes every field.")
def instances(
    context: click.Context,
    family: str | None,
    accelerator: str | None,
    efa: bool,
    region: str | None,
    hardware: str | None,
    format_: str,
) -> None:
    """List the instance types of the hardware catalogue.

    \b
    Examples:
      eks-hardware instances --accelerator h100
      eks-hardware instances --family g6e --region us-west-2
    """
    if context.invoked_subcommand is not None:
        return
    from eks_hardware.catalogue import Hardware, load
    from eks_hardware.catalogue.store import label_name

    catalogue = load()
    family = family and family.lower()
    accelerator = accelerator and label_name(accelerator)
    hardware = hardware and hardware.lower()
    if family and (exists := catalogue.unlisted(family)):
        fail(f"--family: {exists}")
    refuse_unknown("--family", family, catalogue.families)
    refuse_unknown("--accelerator", accelerator, catalogue.accelerators)
    if region is not None and region not in catalogue.regions:
        fail(f"--region: {catalogue.not_listed(region)}")
    refuse_unknown("--hardware", hardware, tuple(kind.value for kind in Hardware))
    kinds = catalogue.select(family=family, accelerator=accelerator, efa=efa or None, region=region, hardware=hardware)
    if format_ == "json":
        rows = [_as_json(catalogue, item, region) for item in sorted(kinds, key=lambda item: item.name)]
        print_json({"instances": rows})
    elif kinds:
        _print_table(catalogue, kinds, region)
    else:
        click.echo("No instance type matches all filters.")


def _as_json(catalogue: Catalogue, item: InstanceType, region: str | None) -> dict[str, object]:
    from dataclasses import asdict

    row = asdict(item)
    row["efa_interfaces"] = [
        [interface.network_card_index, interface.device_index, interface.interface_type]
        for interface in item.efa_interfaces
    ]
    row["supports_efa"] = item.supports_efa
    row["supports_capacity_block"] = item.supports_capacity_block
    if region is None:
        regions = catalogue.offered_regions(item.name)
        row["zone_ids"] = {name: catalogue.offered(item.name, name) for name in regions}
    else:
        price = catalogue.price(item.name, region)
        row["zone_ids"] = catalogue.offered(item.name, region)
        row["price"] = price and asdict(price)
    return row


def _print_table(catalogue: Catalogue, kinds: tuple[InstanceType, ...], region: str | None) -> None:
    from eks_hardware.printable import usd

    places = ("Regions",) if region is None else ("Zones", "$/h")
    right = {"vCPU", "GiB", "EFA", "Regions", "$/h"}
    shown = table(("Type", "Accelerator", "vCPU", "GiB", "EFA", *places), right=right, fold=("Accelerator", places[0]))
    for item in kinds:
        cells = [
            f"{item.name} {_WITHDRAWN}" if item.withdrawn else item.name,
            _accelerator(item),
            str(item.vcpus),
            f"{item.memory_gib:g}",
            str(item.max_efa_interfaces or "-"),
        ]
        if region is None:
            cells.append(str(len(catalogue.offered_regions(item.name))))
        else:
            price = catalogue.price(item.name, region)
            zones = [zone.rpartition("-")[2] for zone in catalogue.offered(item.name, region)]
            cells += [" ".join(zones), usd(price.usd_per_hour) if price else "?"]
        shown.add_row(*cells, style="dim" if item.withdrawn else None)
    out = console(highlight=True)
    out.print(fitted(shown, out))
    if any(item.withdrawn for item in kinds):
        out.print(f"{_WITHDRAWN} withdrawn by AWS: no longer in the EC2 API", style="dim")
    if region is not None:
        out.print("$/h: On-Demand, Linux; ? unknown; --format json includes dates and sources", style="dim")


def _accelerator(item: InstanceType) -> str:
    chip = item.accelerator
    if chip is None:
        return "-"
    return f"{chip.count if chip.fraction is None else f'{chip.fraction:g}'} x {chip.name}"


@instances.command(epilog=exit_codes("--check finds a file that is out of date"))
@click.option(
    "--from",
    "source",
    type=click.Choice(["moto", "aws"]),
    default="moto",
    show_default=True,
    help="Read from the installed moto package, or from AWS with your credentials.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit with code 1 if a file is out of date.")
@click.option("--prices/--no-prices", default=True, show_default=True, help="Also read prices from AWS.")
@click.option(
    "--prices-from",
    "files",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Only import prices, from this file; can be repeated.",
)
@click.option(
    "--as-of",
    metavar="DAY",
    help="Date of the prices in the files; default: the date in the file, or the date of its last change.",
)
@parameters.output("FOLDER", "Folder to write to; default: the catalogue's.")
def refresh(
    source: str, check: bool, prices: bool, files: tuple[Path, ...], as_of: str | None, output: Path | None
) -> None:
    """Rebuild the catalogue's data files.

    With --from aws, the command calls DescribeRegions, DescribeInstanceTypes, DescribeInstanceTypeOfferings,
    DescribeSpotPriceHistory, GetProducts and DescribeSavingsPlansOfferingRates. All calls are read-only.
    `eks-hardware prices refresh` reads only prices.

    --prices-from accepts the output of `aws pricing get-products`, `aws ec2 describe-spot-price-history` and `aws
    savingsplans describe-savings-plans-offering-rates`. It also accepts spot.json from AWS's Spot pricing page,
    instances.json from instances.vantage.sh, and CSV files with the columns InstanceType, Region, Price and SpotPrice.
    Newer prices in the catalogue are kept.

    \b
    Examples:
      eks-hardware instances refresh --check
      eks-hardware instances refresh --prices-from spot.json
      eks-hardware instances refresh --from aws --output my-catalogue
    """
    from eks_hardware.catalogue import build

    try:
        if files:
            built = build.build_from_files(files, as_of and _day(as_of))
        else:
            built = build.build(build.from_moto() if source == "moto" else _ask_aws(prices))
    except (build.BuildError, OSError) as error:
        fail(str(error))
    report_built(built, check=check, output=output, command="eks-hardware instances refresh")


def report_built(built: Built, *, check: bool, output: Path | None, command: str) -> None:
    """Write the built files, or only compare them, and say which ones differ. ``command`` repeats the build."""
    from eks_hardware.catalogue import build
    from eks_hardware.data import FOLDER

    folder = output or FOLDER
    try:
        changed = build.stale(built, folder) if check else build.write(built, folder)
    except OSError as error:
        fail(str(error))
    for warning in built.warnings:
        tell(f"warning: {warning}")
    if not changed:
        click.echo("The catalogue is up to date.")
    elif check:
        fail(f"out of date: {', '.join(changed)}; run `{command}`", FAILED)
    else:
        click.echo(f"Wrote {', '.join(changed)} to {folder}")


def _day(given: str) -> str:
    try:
        return date.fromisoformat(given).isoformat()
    except ValueError:
        fail(f'--as-of: must be a date such as 2026-11-25, got "{given}"')


def _ask_aws(prices: bool) -> Ec2Data:
    from eks_hardware.catalogue.build import BuildError, from_aws

    try:
        boto3, exceptions = import_module("boto3"), import_module("botocore.exceptions")
    except ModuleNotFoundError:
        raise BuildError(f"boto3 is not installed: {install_command('local')}") from None
    try:
        return from_aws(boto3.Session(), prices=prices)
    except (exceptions.BotoCoreError, exceptions.ClientError) as error:
        raise BuildError(f"the request to AWS failed: {error}") from error
