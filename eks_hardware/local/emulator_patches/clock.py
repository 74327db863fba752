"""The emulator's time: that of this machine, moved by a request of a test."""

from __future__ import annotations

import datetime

_AHEAD = [datetime.timedelta()]


def now() -> datetime.datetime:
    """Return the time at which the emulator does what AWS does at a date."""
    return datetime.datetime.now(datetime.timezone.utc) + _AHEAD[0]


def set_ahead(seconds: float) -> None:
    """Move the time from that of this machine; 0 is the same."""
    _AHEAD[0] = datetime.timedelta(seconds=seconds)


def text(moment: datetime.datetime) -> str:
    """Return a moment as AWS writes it, without fractions of a second."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def moment(text: str) -> datetime.datetime:
    """Return the moment of a text of AWS, with or without fractions of a second."""
    time = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return time if time.tzinfo else time.replace(tzinfo=datetime.timezone.utc)
