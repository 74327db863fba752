"""``eks-hardware instances``: what the hardware catalogue knows, and how to bring it up to date."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from eks_hardware.catalogue import Catalogue, Hardware, InstanceType, load

if TYPE_CHECKING:
    from eks_hardware.catalogue.build import Ec2Data

app = typer.Typer(help="List instance types, or refresh the catalogue they come from.")

_WITHDRAWN = "†"


class Source(str, Enum):
    """Where a refresh gets EC2's answers from."""

    MOTO = "moto"
    AWS = "aws"


def _fail(message: str, code: int) -> NoReturn:
    typer.echo(f"Error: {message}", err=True)
    raise typer.Exit(code)


def _known(option: str, value: str | None, known: tuple[str, ...]) -> None:
    """End with exit code 2 if a filter value is not known."""
    if value is None or value in known:
        return
    from eks_hardware.suggestions import did_you_mean

    hint = did_you_mean(value, known, f"known: {', '.join(known)}")
    _fail(f"unknown {option} {value!r}; {hint}", 2)


@app.callback(invoke_without_command=True)
def instances(
    context: typer.Context,
    family: Annotated[str | None, typer.Option(help="Only this family, as g6e.")] = None,
    accelerator: Annotated[str | None, typer.Option(help="Only with this accelerator, as h100.")] = None,
    efa: Annotated[bool, typer.Option("--efa", help="Only with Elastic Fabric Adapter.")] = False,
    region: Annotated[str | None, typer.Option(help="Only offered here; adds zones and price.")] = None,
    hardware: Annotated[str | None, typer.Option(help="Only this kind, as nvidia-gpu or trainium.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every field.")] = False,
) -> None:
    """List the instance types of the hardware catalogue."""
    if context.invoked_subcommand is not None:
        return
    from eks_hardware.catalogue.store import label_name

    catalogue = load()
    family = family and family.lower()
    accelerator = accelerator and label_name(accelerator)
    hardware = hardware and hardware.lower()
    _known("family", family, catalogue.families)
    _known("accelerator", accelerator, catalogue.accelerators)
    _known("region", region, catalogue.regions)
    _known("hardware", hardware, tuple(kind.value for kind in Hardware))
    found = catalogue.select(family=family, accelerator=accelerator, efa=efa or None, region=region, hardware=hardware)
    if as_json:
        rows = [_as_json(catalogue, item, region) for item in sorted(found, key=lambda item: item.name)]
        typer.echo(json.dumps(rows, indent=2))
    elif found:
        _print_table(catalogue, found, region)
    else:
        typer.echo("No instance type meets all conditions.")


def _as_json(catalogue: Catalogue, item: InstanceType, region: str | None) -> dict[str, Any]:
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


def _print_table(catalogue: Catalogue, found: tuple[InstanceType, ...], region: str | None) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("Type", no_wrap=True)
    table.add_column("Accelerator", overflow="fold")
    for name in ("vCPU", "GiB", "EFA"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("Regions" if region is None else "Zones", justify="right" if region is None else "left")
    if region is not None:
        table.add_column("$/h", justify="right", no_wrap=True)
    for item in found:
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
            cells += [" ".join(zones), f"{price.usd_per_hour:.4f}" if price else "?"]
        table.add_row(*cells, style="dim" if item.withdrawn else None)
    console = Console()
    console.print(table)
    if any(item.withdrawn for item in found):
        console.print(f"{_WITHDRAWN} withdrawn by AWS: no longer in the EC2 API", style="dim")
    if region is not None:
        console.print("$/h: on demand, Linux; dates and sources with --json; ? unknown", style="dim")


def _accelerator(item: InstanceType) -> str:
    chip = item.accelerator
    if chip is None:
        return "-"
    return f"{chip.count if chip.fraction is None else f'{chip.fraction:g}'} x {chip.name}"


@app.command()
def refresh(
    source: Annotated[
        Source, typer.Option("--from", help="The installed moto wheel, or AWS with your credentials.")
    ] = Source.MOTO,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 if a file is out of date.")
    ] = False,
    prices: Annotated[bool, typer.Option(help="Ask AWS for on-demand prices too.")] = True,
    output: Annotated[Path | None, typer.Option(help="Folder to write to; the catalogue's own if not given.")] = None,
) -> None:
    """Rebuild the catalogue's data files.

    From AWS it reads DescribeRegions, DescribeInstanceTypes, DescribeInstanceTypeOfferings and GetProducts;
    it changes nothing in the account.
    """
    from eks_hardware.catalogue import build
    from eks_hardware.catalogue.tables import DATA

    folder = output or DATA
    try:
        built = build.build(build.from_moto() if source is Source.MOTO else _ask_aws(prices))
        changed = build.stale(built, folder) if check else build.write(built, folder)
    except (build.BuildError, OSError) as error:
        _fail(str(error), 1)
    for warning in built.warnings:
        typer.echo(f"warning: {warning}", err=True)
    if not changed:
        typer.echo("The catalogue is up to date.")
    elif check:
        _fail(f"out of date: {', '.join(changed)}; run eks-hardware instances refresh", 1)
    else:
        typer.echo(f"Wrote {', '.join(changed)} to {folder}")


def _ask_aws(prices: bool) -> Ec2Data:
    from eks_hardware.catalogue.build import BuildError, from_aws

    try:
        boto3, exceptions = import_module("boto3"), import_module("botocore.exceptions")
    except ModuleNotFoundError:
        raise BuildError("boto3 is not installed: pip install 'eks-hardware[local]'") from None
    try:
        return from_aws(boto3.Session(), prices=prices)
    except (exceptions.BotoCoreError, exceptions.ClientError) as error:
        raise BuildError(f"AWS did not answer: {error}") from error
