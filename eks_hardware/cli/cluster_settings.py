"""Options of ``init`` and ``recommend`` about the cluster: access to its API, administrators, Terraform state."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import click

from eks_hardware.cli.errors import fail_with, tell
from eks_hardware.cli.parameters import Function
from eks_hardware.cli.questions import WrongAnswerError, ask, read_option
from eks_hardware.printable import quoted

if TYPE_CHECKING:
    from eks_hardware.advisor.strategies.strategy_text import Settings
    from eks_hardware.findings import Finding

EXAMPLE = "93.184.216.34/32"
CHECKIP = "https://checkip.amazonaws.com"
_TIMEOUT_S = 3
_OPTIONS = {"cluster.endpoint": "--api-access", "cluster.admins": "--admin-role", "backend": "--state"}
NONE = "none"
"""The answer that omits a setting."""
_PRIVATE, _LOCAL = "private", "local"


class UnknownAddressError(click.UsageError):
    """The address of this machine is unknown, and the command cannot ask for networks."""


def api_access_option() -> Callable[[Function], Function]:
    """Return the option ``--api-access``."""
    return click.option(
        "--api-access",
        metavar="CIDRS|private",
        help="Networks with access to the Kubernetes API, separated by commas, or private; default: your address, "
        "which checkip.amazonaws.com returns.",
    )


def with_api_access(text: str | None, region: str, *, asks: bool, confirms: bool = False) -> tuple[Settings, str]:
    """Return settings with the networks of ``--api-access`` or this machine's address, and a sentence if detected.

    Without the option, ``asks`` asks for networks if the address is unknown; with ``confirms``, also if it is known.
    """
    from eks_hardware.advisor.strategies.strategy_text import Settings

    if text is not None:
        networks = read_option("--api-access", text, _networks)
        return _of_options(Settings(public_cidrs=networks), region), ""
    address = caller_address()
    network = address and f"{address}/32"
    if network and not (asks and confirms):
        return Settings(public_cidrs=(network,)), f"API access: {network}, your address ({CHECKIP})"
    if not asks:
        raise UnknownAddressError(
            f"--api-access is missing, and {CHECKIP} did not return your address; add --api-access with your networks "
            f"(such as {EXAMPLE}), or --api-access {_PRIVATE}"
        )
    tell(f"Your address is {address}, from {CHECKIP}." if network else f"{CHECKIP} did not return your address.")
    question = f"Networks with access to the Kubernetes API, or {_PRIVATE}"
    return ask(question, network, lambda answer: accepted(Settings(public_cidrs=_networks(answer)), region)), ""


def refuse_wrong(api_access: str | None, admins: Sequence[str], state: str | None, region: str) -> None:
    """End the command if an option is invalid, before the user has to answer questions."""
    from eks_hardware.advisor.strategies.strategy_text import Settings

    settings = Settings(public_cidrs=())
    if api_access is not None:
        settings, _ = with_api_access(api_access, region, asks=False)
    with_state(with_admins(settings, admins, region, asks=False), state, region, asks=False)


def with_admins(settings: Settings, roles: Sequence[str], region: str, *, asks: bool) -> Settings:
    """Return the settings with the roles of ``--admin-role``, or those that the user names."""
    if roles or not asks:
        return _of_options(replace(settings, admins=tuple(roles)), region)
    question = "IAM roles of administrators, in addition to the deploying role (ARNs)"
    return ask(question, NONE, lambda answer: accepted(replace(settings, admins=_roles(answer)), region))


def with_state(settings: Settings, text: str | None, region: str, *, asks: bool) -> Settings:
    """Return the settings with the state location of ``--state``, or the one that the user names."""
    if text is not None or not asks:
        return _of_options(replace(settings, state_bucket=_bucket(text or _LOCAL)), region)
    question = f"Terraform state ({_LOCAL}, or the name of an S3 bucket)"
    return ask(question, _LOCAL, lambda answer: accepted(replace(settings, state_bucket=_bucket(answer)), region))


def _of_options(settings: Settings, region: str) -> Settings:
    """Return the settings, or end the command with the errors in its options."""
    if faults := _faults(settings, region):
        fail_with(faults)
    return settings


def accepted(settings: Settings, region: str) -> Settings:
    """Return the settings, or reject the answer with the first error in them."""
    if faults := _faults(settings, region):
        raise WrongAnswerError(faults[0].message)
    return settings


def caller_address() -> str | None:
    """Return this machine's public IPv4 address, as AWS sees it; None if that is unknown."""
    from http.client import HTTPException
    from ipaddress import IPv4Address
    from urllib.request import urlopen

    try:
        with urlopen(CHECKIP, timeout=_TIMEOUT_S) as answer:
            return str(IPv4Address(answer.read(64).decode("ascii").strip()))
    except (OSError, HTTPException, ValueError):
        return None


def _networks(text: str) -> tuple[str, ...]:
    if text.strip() == _PRIVATE:
        return ()
    words = [part for part in re.split(r"[,\s]+", text) if part]
    wrong = [word for word in words or [text] if not _is_network(word)]
    if wrong:
        raise WrongAnswerError(
            f"must be one or more CIDR ranges such as {EXAMPLE}, or {_PRIVATE}, got {quoted(wrong[0])}"
        )
    return tuple(word if "/" in word else f"{word}/32" for word in words)


def _is_network(text: str) -> bool:
    """Return whether a text is an IPv4 address, with or without a prefix length. Validation makes further checks."""
    from ipaddress import IPv4Interface

    try:
        IPv4Interface(text)
    except ValueError:
        return False
    return True


def _roles(text: str) -> tuple[str, ...]:
    """Return the ARNs in an answer. Role names can contain commas."""
    return () if text == NONE else tuple(re.split(r"[,\s]+(?=arn:)", text))


def _bucket(text: str) -> str | None:
    return None if text == _LOCAL else text.removeprefix("s3://").rstrip("/")


# Options are checked before the first question, and again with the answers.
@cache
def _faults(settings: Settings, region: str) -> tuple[Finding, ...]:
    """Return the errors in the settings, reported for the options that set them."""
    from eks_hardware.advisor.strategies.strategy_text import strategy_text
    from eks_hardware.findings import StrategyError, errors_in
    from eks_hardware.loader import parse_strategy
    from eks_hardware.rules import check

    try:
        findings = check(parse_strategy(strategy_text("cluster", region, (), settings)).strategy)
    except StrategyError as error:
        findings = list(error.findings)
    errors = errors_in(findings)
    return tuple(
        replace(finding, path=_OPTIONS.get(_field(finding.path), finding.path), position=None) for finding in errors
    )


def _field(path: str) -> str:
    return next((field for field in _OPTIONS if path.startswith(field)), path)
