"""What a strategy says about the warnings of the other rules: which are accepted, and why."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware import field_paths
from eks_hardware.findings import Severity
from eks_hardware.models import Strategy
from eks_hardware.rules.registry import RULES, Breach, Context, error, warning
from eks_hardware.suggestions import did_you_mean


def reason(strategy: Strategy, code: str, path: str) -> str:
    """The reason that the strategy gives for ignoring a warning; empty if it does not ignore it."""
    return next((each.reason for each in strategy.ignore if each.code == code and _covers(each.path, path)), "")


def _covers(field: str, path: str) -> bool:
    return path == field or (path.startswith(field) and path[len(field)] in ".[")


@error("IGNORE_UNKNOWN")
def _unknown(context: Context) -> Iterator[Breach]:
    warnings = [code for code, each in RULES.items() if each.severity is Severity.WARNING]
    for path, entry in field_paths.items("ignore", context.strategy.ignore):
        if entry.code not in RULES:
            # Imported only for a wrong entry: reading the texts takes a while.
            from eks_hardware.rules.explanations import explanations

            if entry.code in explanations():
                yield (
                    f"{path}.code",
                    f"{entry.code} is no warning about a strategy: what the doctor finds, and what cannot be read, "
                    "cannot be ignored; remove the entry",
                )
                continue
            hint = did_you_mean(entry.code, warnings, "`eks-hardware rules` lists them")
            yield f"{path}.code", f"there is no warning {entry.code}; {hint}"


@error("IGNORE_ERROR")
def _error(context: Context) -> Iterator[Breach]:
    for path, entry in field_paths.items("ignore", context.strategy.ignore):
        found = RULES.get(entry.code)
        if found and found.severity is Severity.ERROR:
            yield (
                f"{path}.code",
                f"{entry.code} is an error, and what it refuses cannot work; only warnings can be ignored, so mend "
                "what it is about",
            )


@warning("IGNORE_UNUSED", last=True)
def _unused(context: Context) -> Iterator[Breach]:
    for path, entry in field_paths.items("ignore", context.strategy.ignore):
        warned = [place for code, place in context.warned if code == entry.code]
        found = RULES.get(entry.code)
        if not found or found.severity is Severity.ERROR or any(_covers(entry.path, place) for place in warned):
            continue
        hint = f"it is found at {', '.join(warned)}" if warned else "remove the entry"
        yield f"{path}.path", f"there is no {entry.code} at {entry.path}; {hint}"
