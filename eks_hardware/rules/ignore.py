"""Rules about the warnings that a strategy ignores."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware import field_paths
from eks_hardware.findings import Severity
from eks_hardware.models import Strategy
from eks_hardware.rules.registry import RULES, Breach, Context, error, warning
from eks_hardware.suggestions import did_you_mean

OF_ACCOUNTS = "doctor"
"""The area of the codes that only `eks-hardware doctor` reports."""


def reason(strategy: Strategy, code: str, path: str) -> str:
    """Return the strategy's reason for ignoring a warning; empty if it does not ignore it."""
    return next((entry.reason for entry in strategy.ignore if entry.code == code and _covers(entry.path, path)), "")


def _covers(field: str, path: str) -> bool:
    return path == field or (path.startswith(field) and path[len(field)] in ".[")


@error("IGNORE_UNKNOWN")
def _unknown(context: Context) -> Iterator[Breach]:
    for path, entry in field_paths.items("ignore", context.strategy.ignore):
        if entry.code not in RULES:
            # Imported only for a wrong entry, because reading the texts is slow.
            from eks_hardware.rules.explanations import explanations

            if known := explanations().get(entry.code):
                if known.area != OF_ACCOUNTS or known.severity is Severity.ERROR:
                    yield (
                        f"{path}.code",
                        f"only warnings about a strategy or its account can be ignored, but {entry.code} is not one; "
                        "remove the entry",
                    )
                continue
            warnings = [
                code
                for code, each in explanations().items()
                if each.severity is Severity.WARNING and (code in RULES or each.area == OF_ACCOUNTS)
            ]
            hint = did_you_mean(entry.code, warnings, "`eks-hardware rules` lists them")
            yield f"{path}.code", f"{entry.code} is not a known warning; {hint}"


@error("IGNORE_ERROR")
def _error(context: Context) -> Iterator[Breach]:
    for path, entry in field_paths.items("ignore", context.strategy.ignore):
        known_rule = RULES.get(entry.code)
        if known_rule and known_rule.severity is Severity.ERROR:
            yield (
                f"{path}.code",
                f"only warnings can be ignored, but {entry.code} is an error; fix its cause and remove the entry",
            )


@warning("IGNORE_UNUSED", last=True)
def _unused(context: Context) -> Iterator[Breach]:
    for path, entry in field_paths.items("ignore", context.strategy.ignore):
        warned = [place for code, place in context.warned if code == entry.code]
        known_rule = RULES.get(entry.code)
        if (
            not known_rule
            or known_rule.severity is Severity.ERROR
            or any(_covers(entry.path, place) for place in warned)
        ):
            continue
        hint = f"it is reported at {', '.join(warned)}" if warned else "remove the entry"
        yield f"{path}.path", f"{entry.code} is not reported at {entry.path}; {hint}"
