"""What commands print, as text for a terminal and as content for JSON."""

from __future__ import annotations

from typing import Any

import click


def print_json(content: Any) -> None:
    """Print content as JSON on stdout."""
    import json

    click.echo(json.dumps(content, indent=2, ensure_ascii=False))
