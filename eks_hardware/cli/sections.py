"""Help for commands with many options: the common ones first, the others under headings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click


class SectionedCommand(click.Command):
    """A command whose help lists its less common options in sections.

    Args:
        sections: the headings, each with the names of its parameters. All other options are listed first.
    """

    def __init__(self, *args: Any, sections: Mapping[str, tuple[str, ...]], **fields: Any) -> None:
        super().__init__(*args, **fields)
        self._sections = sections

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, and then each section."""
        headings = {name: heading for heading, names in self._sections.items() for name in names}
        rows: dict[str, list[tuple[str, str]]] = {heading: [] for heading in ("Options", *self._sections)}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):  # arguments have a section of their own
                rows[headings.get(parameter.name or "", "Options")].append(record)
        for heading, records in rows.items():
            with formatter.section(heading):
                formatter.write_dl(records)
