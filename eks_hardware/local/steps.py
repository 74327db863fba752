"""Show the steps of a long run: live in a terminal, line by line in other output."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

# The interval between progress lines if the output is a file.
_PLAIN_EVERY_SECONDS = 5.0
_TITLE_WIDTH = 14


class Steps:
    """Prints steps to a console."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @contextlib.contextmanager
    def step(self, title: str) -> Iterator[Step]:
        """Show a step while the block runs, and a line with its result at the end."""
        began = time.monotonic()
        step: Step
        try:
            if self._console.is_terminal and not self._console.is_dumb_terminal:
                with Progress(
                    SpinnerColumn(),
                    TextColumn("[bold]{task.description}", table_column=Column(width=_TITLE_WIDTH)),
                    TextColumn(
                        "{task.fields[detail]}",
                        markup=False,
                        table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"),
                    ),
                    BarColumn(bar_width=10),
                    TextColumn("{task.fields[count]}"),
                    TimeElapsedColumn(),
                    console=self._console,
                    expand=True,
                    transient=True,
                ) as progress:
                    step = _LiveStep(progress, title)
                    yield step
            else:
                step = _PlainStep(self._console, title)
                yield step
        except BaseException:
            self._finish("[bold red]✗[/]", title, "", began)
            raise
        self._finish("[bold green]✓[/]", title, step.result, began)

    def _finish(self, mark: str, title: str, result: str, began: float) -> None:
        line = Text.from_markup(f" {mark} ")
        line.append(f"{title:<{_TITLE_WIDTH}} ", style="bold")
        seconds = f"{time.monotonic() - began:6.1f} s"
        room = max(self._console.width - line.cell_len - len(seconds) - 1, 10)
        text = Text(result)
        text.truncate(room, overflow="ellipsis", pad=True)
        self._console.print(line + text + Text(f" {seconds}", style="dim"), soft_wrap=True, highlight=False)


class _LiveStep:
    """A step in a terminal. ``update`` sets the current action and progress."""

    def __init__(self, progress: Progress, title: str) -> None:
        self.result = ""
        self._progress = progress
        # Without a total, the progress bar pulses.
        self._task: TaskID = progress.add_task(title, total=None, detail="", count="")

    def update(self, detail: str, done: int = 0, total: int | None = None) -> None:
        count = f"{done}/{total}" if total else ""
        self._progress.update(self._task, completed=done, total=total, detail=detail, count=count)


class _PlainStep:
    """A step whose output is not a terminal: it prints a progress line every few seconds."""

    def __init__(self, console: Console, title: str) -> None:
        self.result = ""
        self._console = console
        self._title = title
        self._said = ""
        self._next = time.monotonic() + _PLAIN_EVERY_SECONDS

    def update(self, detail: str, done: int = 0, total: int | None = None) -> None:
        count = f" {done}/{total}" if total else ""
        line = f"   {self._title}{count}: {detail}"
        if time.monotonic() >= self._next and line != self._said:
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)
            self._said = line
            self._next = time.monotonic() + _PLAIN_EVERY_SECONDS


Step = _LiveStep | _PlainStep
"""A running step. Its ``result`` is shown at its end."""
