"""``eks-hardware doctor``: check against an AWS account whether a strategy can be deployed. All calls are read-only."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from eks_hardware.cli import parameters
from eks_hardware.cli.checked_strategy import validated
from eks_hardware.cli.errors import FAILED, exit_codes, fail, fail_with
from eks_hardware.cli.failures import summary
from eks_hardware.cli.output import print_json

if TYPE_CHECKING:
    from eks_hardware.doctor import Diagnosis, Report
    from eks_hardware.loader import LoadedStrategy

_WIDTH = 80
_JSON_VERSION = 1


@click.command(epilog=exit_codes("errors in the strategy or the account"))
@parameters.strategy()
@parameters.overlays("the file")
@click.option("--profile", metavar="NAME", help="AWS profile; default: the strategy's, then AWS_PROFILE.")
@parameters.output_format()
def doctor(strategy: str, overlays: tuple[str, ...], profile: str | None, format_: str) -> None:
    """Check a strategy against your AWS account: quotas, offerings, reservations, VPC, keys, roles, permissions.

    Also checks Kubernetes and add-on versions. All calls are read-only. AWS is not queried for a strategy with
    errors.

    \b
    Examples:
      eks-hardware doctor my-cluster.yaml
      eks-hardware doctor my-cluster.yaml --overlay production --profile prod
    """
    from eks_hardware.doctor import AwsError, examine

    loaded = _load(strategy, overlays)
    try:
        report = examine(loaded, profile=profile)
    except AwsError as error:
        fail(str(error))
    if format_ == "json":
        print_json(_as_json(report, loaded))
    else:
        click.echo("\n".join(_lines(report, loaded)))
    if report.errors:
        raise Exit(FAILED)


def _load(name: str, overlays: tuple[str, ...]) -> LoadedStrategy:
    """Return the strategy if it passes the rules. Otherwise end the command with its findings."""
    validation = validated(name, overlays)
    if validation.errors:
        fail_with(validation.errors)
    if len(validation.strategies) != 1:
        fail(f"{name} contains {len(validation.strategies)} strategies; name one of them")
    return validation.strategies[0][0]


def _lines(report: Report, loaded: LoadedStrategy) -> Iterator[str]:
    from eks_hardware.printable import counted

    account = f"account {report.caller.account}" if report.caller else "no account"
    yield f"{loaded.strategy.name}: {account}, {report.region}"
    if report.caller:
        yield from _fill(f"as {report.caller.arn}", "")
    yield ""
    width = max(len(outcome.name) for outcome in report.outcomes)
    for outcome in report.outcomes:
        errors = sum(each.severity.value == "error" for each in outcome.findings)
        ignored = sum(bool(each.ignored) for each in outcome.findings)
        warnings = len(outcome.findings) - errors - ignored
        counts = [counted(number, noun) for number, noun in ((errors, "error"), (warnings, "warning")) if number]
        counts += [f"{ignored} ignored"] if ignored else []
        said = ", ".join(counts) or ("ok" if outcome.probes else "not applicable")
        yield f"  {outcome.name:<{width}}  {said}"
    for finding in report.findings:
        if not finding.ignored:
            yield ""
            yield from _finding(finding)
    yield ""
    accepted = f", {len(report.ignored)} ignored" if report.ignored else ""
    yield (
        f"{counted(len(report.errors), 'error')}, {counted(len(report.warnings), 'warning')}{accepted} "
        f"in {report.seconds:.1f} s; nothing was changed"
    )


def _finding(finding: Diagnosis) -> Iterator[str]:
    from eks_hardware.doctor.aws_cli import wrapped

    place = f"{finding.position}: " if finding.position else ""
    yield f"{place}{finding.severity.value} {finding.code}"
    yield from _fill(f"{finding.path}: {finding.message}" if finding.path else finding.message, "  ")
    if finding.command:
        yield from wrapped(finding.command, _WIDTH, "    ")


def _fill(text: str, indent: str) -> list[str]:
    from eks_hardware.printable import shown

    # Parts of the text come from AWS: control characters are escaped. ARNs are not broken, to be copied whole.
    text = shown(text, limit=len(text) + 1)
    return textwrap.wrap(
        text, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _as_json(report: Report, loaded: LoadedStrategy) -> dict[str, object]:
    from eks_hardware.validation.json import finding_as_json

    return {
        "version": _JSON_VERSION,
        "strategy": loaded.strategy.name,
        "file": loaded.file,
        "account": report.caller.account if report.caller else None,
        "caller": report.caller.arn if report.caller else None,
        "region": report.region,
        **({"error": summary(report.errors)} if report.errors else {}),
        "errors": len(report.errors),
        "warnings": len(report.warnings),
        "ignored": len(report.ignored),
        "seconds": round(report.seconds, 3),
        "checks": [
            {"name": outcome.name, "probes": outcome.probes, "findings": len(outcome.findings)}
            for outcome in report.outcomes
        ],
        "findings": [
            {
                **finding_as_json(finding),
                "ignored": finding.ignored or None,
                "check": finding.check,
                "command": finding.command or None,
            }
            for finding in report.findings
        ],
    }
