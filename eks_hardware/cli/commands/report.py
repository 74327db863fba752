"""``eks-hardware report``: a strategy as one HTML page, without Terraform, Node or AWS."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import click
from click.exceptions import Exit

from eks_hardware import atomic_files
from eks_hardware.cli import parameters
from eks_hardware.cli.checked_strategy import checked
from eks_hardware.cli.errors import FAILED, exit_codes, fail, say
from eks_hardware.printable import reason

_STDOUT = "-"
_DOCTYPE = b"<!doctype html"


@click.command(epilog=exit_codes("errors in the strategy, or a cost above its budget"))
@parameters.strategy()
@parameters.output("FILE", "HTML file to write; - is stdout.", required=True)
@parameters.overlays("the file")
def report(strategy: str, output: Path, overlays: tuple[str, ...]) -> None:
    """Write an HTML page with a diagram of the cluster, its cost and quotas, and every derived setting.

    The page works offline. The same strategy produces the same page until facts or prices change. No page is
    written for a strategy with errors, unless the only error is a cost above its budget.

    \b
    Example:
      eks-hardware report mixed-hardware --output report.html
    """
    from eks_hardware import __version__

    _check_output(output)
    checked_one = checked(strategy, overlays)

    from eks_hardware.html_report import report_of, report_page

    page = report_page(report_of(checked_one.strategy, checked_one.findings, version=__version__)).encode()
    if str(output) == _STDOUT:
        click.echo(page, nl=False)
    else:
        _write(output, page)
        say(f"{output}: {checked_one.strategy.name}, {len(page) / 1000:,.0f} kB; open it in a browser")
    if checked_one.over_budget:
        raise Exit(FAILED)


def _write(output: Path, page: bytes) -> None:
    try:
        atomic_files.write(output, page)
    except OSError as error:
        _refuse(f"{output}: {reason(error)}")


def _check_output(output: Path) -> None:
    """Exit with code 2 if the output would overwrite anything but an HTML page."""
    if output.suffix.lower() in (".yaml", ".yml"):
        _refuse(f"{output} must not have a strategy's suffix (.yaml, .yml); use .html")
    if str(output) == _STDOUT:
        return
    if _is_stdout(output):
        _refuse(f"{output} is stdout, where messages would mix with the page; use --output {_STDOUT}")
    try:
        if output.exists() and not output.is_file():
            _refuse(f"{output} is not a regular file; use --output {_STDOUT} for stdout")
        if output.is_file() and output.stat().st_size:
            with output.open("rb") as file:
                if file.read(len(_DOCTYPE)).lower() != _DOCTYPE:
                    _refuse(f"{output} exists and is not an HTML page; name another file")
    except OSError as error:
        _refuse(f"{output}: {reason(error)}")


def _is_stdout(output: Path) -> bool:
    """Return whether a path is stdout, such as /dev/stdout, even if stdout is redirected to a file."""
    try:
        return os.path.samestat(output.stat(), os.fstat(1))
    except OSError:
        return False


def _refuse(problem: str) -> NoReturn:
    fail(f"--output {problem}")
