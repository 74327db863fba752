"""Parse the output of cdktf and Terraform: progress and errors."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[@-_])")
_CDKTF_LEVEL = re.compile(r"^\[[0-9T:.\-]+\] \[[A-Z]+\] default - ?")
_ADDRESS = r"(?P<address>(?:module\.[\w-]+\.)*(?:data\.)?[a-z]\w*\.[\w-]+(?:\[[^\]]*\])?)"
_BEGUN = re.compile(rf"{_ADDRESS}: (?:Creating|Destroying|Modifying|Reading|Still \w+)\.\.\.")
_ENDED = re.compile(rf"{_ADDRESS}: (?P<what>Creation|Destruction|Modifications|Read) complete after ")
_PLAN = re.compile(r"\bPlan: (?P<add>\d+) to add, (?P<change>\d+) to change, (?P<destroy>\d+) to destroy")
_RAISED = re.compile(r"(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Missing)(?:: |$)")
_IGNORED = "Exception ignored in"
_APP_STDERR = "Command output on stderr:"
_SPINNER = re.compile(r"[\u2800-\u28ff]  ?\S")
_BOX = "╷│╵|"
_LAST_LINES = 12
_MOST_LINES = 30


def plain(line: str) -> str:
    """Return a line without colours and line endings. Only the last state of a redrawn line is kept."""
    return _ANSI.sub("", line).rstrip("\r\n").rpartition("\r")[2].rstrip()


@dataclass
class Progress:
    """Progress of a deploy or destroy. ``total`` is None until the plan is known; ``active`` is oldest first."""

    phase: str = "synthesizing the stack"
    total: int | None = None
    done: int = 0
    active: dict[str, None] = field(default_factory=dict)

    def feed(self, line: str) -> bool:
        """Process one line (already ``plain``); return whether anything changed."""
        if "Initializing the backend" in line:
            self.phase = "initializing the backend"
        elif "Initializing provider plugins" in line:
            self.phase = "installing the AWS provider"
        elif "successfully initialized" in line:
            self.phase = "planning"
        elif match := _PLAN.search(line):
            self.total = sum(int(match[name]) for name in ("add", "change", "destroy"))
            self.done = 0
            self.active.clear()
            self.phase = "waiting for AWS"
        elif match := _BEGUN.search(line):
            self.active[match["address"]] = None
        elif match := _ENDED.search(line):
            self.active.pop(match["address"], None)
            # The plan's count does not include data sources.
            self.done += match["what"] != "Read"
        else:
            return False
        return True

    @property
    def current(self) -> str:
        """The work in progress: the oldest active resource, and the number of other active resources."""
        if not self.active:
            return "finishing" if self.total and self.done >= self.total else self.phase
        more = len(self.active) - 1
        return next(iter(self.active)) + (f" and {more} more" if more else "")


def errors(lines: list[str]) -> list[str]:
    """Return the lines of the output (``plain``) that explain why a run failed.

    If synthesis failed, these are the app's errors without the traceback; otherwise Terraform's error boxes, or if
    there are none, the last lines.
    """
    texts = [_CDKTF_LEVEL.sub("", line) for line in lines]
    lines_said = [text for text in texts if text.strip()][-_LAST_LINES:]
    # cdktf repeats some lines.
    return list(dict.fromkeys(_app_errors(texts) or _boxes(texts) or lines_said))[:_MOST_LINES]


def _app_errors(texts: list[str]) -> list[str]:
    """Return the app's lines on stderr. Only the exception of a traceback is kept."""
    if _APP_STDERR not in texts:
        return []
    start = texts.index(_APP_STDERR) + 1
    written = [text for text in texts[start:] if text.strip() and not _SPINNER.match(text)]
    written = list(_without_ignored(written)) or written
    raised = [index for index, text in enumerate(written) if _RAISED.match(text.strip())]
    if raised and any(text.strip().startswith("Traceback ") for text in written):
        written = written[raised[-1] :]
    return textwrap.dedent("\n".join(written)).splitlines()


def _without_ignored(texts: list[str]) -> Iterator[str]:
    """Yield the lines without the tracebacks of exceptions that Python ignored, which did not cause the failure."""
    ignored = False
    for text in texts:
        ignored = ignored or text.strip().startswith(_IGNORED)
        if not ignored:
            yield text
        elif _RAISED.match(text.strip()):
            ignored = False


def _boxes(texts: list[str]) -> list[str]:
    """Return the contents of Terraform's error boxes, with or without the frame that a terminal adds."""
    boxes: list[str] = []
    inside = False
    for text in texts:
        stripped = text.strip()
        # "stack-name  ╷": the first line of a chunk starts with the stack's name.
        framed = re.search(rf"(?:^|\s\s)[{_BOX}](?: |$)", text)
        content = text[framed.end() :].rstrip() if framed else stripped
        if content.lstrip().startswith("Error: "):
            inside = True
        elif stripped.startswith("╵") or (inside and framed is None):
            inside = False
        if inside and content.strip():
            boxes.append(content)
    return boxes
