"""Conversion of Kubernetes quantities, sizes and durations to numbers and back.

Source: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

MIB = 2**20
"""Bytes per MiB."""
GIB = 2**30
"""Bytes per GiB."""
MIB_PER_GIB = GIB // MIB
GIB_PER_TIB = 2**40 // GIB

COUNTS = {"K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
"""Factors of the suffixes in numbers of parameters and of training tokens."""
TOKENS = {"k": 1024, "m": 1024**2}
"""Factors of the suffixes in context lengths, in tokens: 16k is 16,384."""

_SECONDS = {"h": 3600, "m": 60, "s": 1}
_DURATION = re.compile(r"([0-9]+)([hms])")
GO_DURATION = re.compile(r"[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+)")
_GO_PART = re.compile(r"([0-9.]+)(ns|us|µs|ms|s|m|h)")
_GO_SECONDS = {**_SECONDS, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3}
_SUFFIXES = {
    "": Fraction(1),
    "m": Fraction(1, 1000),
    "k": Fraction(1000),
    **{letter: Fraction(1000 ** (index + 2)) for index, letter in enumerate("MGTPE")},
    **{f"{letter}i": Fraction(1024 ** (index + 1)) for index, letter in enumerate("KMGTPE")},
}
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)([A-Za-z]*)")


def amount(quantity: str | int) -> Fraction:
    """Convert a quantity to an exact number.

    Raises:
        ValueError: if the text is not a quantity.

    >>> amount("1.5Gi") == 1610612736, amount("500m") == Fraction(1, 2), amount(16)
    (True, True, Fraction(16, 1))
    """
    match = _QUANTITY.fullmatch(str(quantity))
    if match is None or match[2] not in _SUFFIXES:
        raise ValueError(f"{quantity!r} is not a quantity")
    return Fraction(match[1]) * _SUFFIXES[match[2]]


def amount_or_none(value: object) -> Fraction | None:
    """Convert a quantity in free-form settings to an exact number; return None for anything else.

    >>> amount_or_none("500m") == Fraction(1, 2), amount_or_none("half"), amount_or_none(True)
    (True, None, None)
    """
    try:
        return amount(value) if isinstance(value, str | int) and not isinstance(value, bool) else None
    except ValueError:
        return None


def mebibytes(mib: int) -> str:
    """Convert an amount of memory in MiB to a Kubernetes quantity.

    >>> mebibytes(512), mebibytes(900 * 1024)
    ('512Mi', '900Gi')
    """
    return f"{mib}Mi" if mib % MIB_PER_GIB else f"{mib // MIB_PER_GIB}Gi"


def seconds(duration: str) -> int:
    """Convert a duration in hours, minutes and seconds to seconds.

    >>> seconds("1h30m"), seconds("45s")
    (5400, 45)
    """
    return sum(int(number) * _SECONDS[unit] for number, unit in _DURATION.findall(duration))


def go_seconds(value: object) -> float | None:
    """Convert a Go duration in free-form settings to seconds; return None for anything else.

    Source: https://pkg.go.dev/time#ParseDuration

    >>> go_seconds("1h30m"), go_seconds("-1.5ms"), go_seconds("soon")
    (5400.0, -0.0015, None)
    """
    if not isinstance(value, str) or not GO_DURATION.fullmatch(value):
        return None
    length = math.fsum(float(number) * _GO_SECONDS[unit] for number, unit in _GO_PART.findall(value))
    return -length if value.startswith("-") else length


def whole_minutes(duration: str) -> str:
    """Round a duration up to whole minutes; a duration without seconds is returned unchanged.

    >>> whole_minutes("1h30m10s"), whole_minutes("90m")
    ('1h31m', '90m')
    """
    given = {unit: int(number) for number, unit in _DURATION.findall(duration)}
    if not given.get("s"):
        return duration
    return f"{given.get('h', 0)}h{given.get('m', 0) + math.ceil(given['s'] / 60)}m"
