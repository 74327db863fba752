"""The emulator's clock: this machine's time plus an offset, which tests set with a control request."""

from __future__ import annotations

import datetime

_AHEAD = [datetime.timedelta()]


def now() -> datetime.datetime:
    """Return the emulator's current time, which determines the dated actions that are due."""
    return datetime.datetime.now(datetime.timezone.utc) + _AHEAD[0]


def set_ahead(seconds: float) -> None:
    """Set the offset from this machine's time, in seconds."""
    _AHEAD[0] = datetime.timedelta(seconds=seconds)


def text(moment: datetime.datetime) -> str:
    """Format a time as AWS does, without fractions of a second."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def moment(text: str) -> datetime.datetime:
    """Parse a time in AWS's format, with or without fractions of a second."""
    time = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return time if time.tzinfo else time.replace(tzinfo=datetime.timezone.utc)
