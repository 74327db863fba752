"""IAM policy documents."""

from __future__ import annotations

from typing import Any


def as_list(value: Any) -> list[Any]:
    """Return an element of a policy as a list; IAM also accepts a single value."""
    return value if isinstance(value, list) else [value]
