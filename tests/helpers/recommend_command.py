"""``eks-hardware recommend``, run in this process."""

from __future__ import annotations

from pathlib import Path

from helpers import cli


def run(*arguments: str | Path, stdin: str | None = None, **environ: str) -> cli.Run:
    """Run it; return the output without trailing blanks."""
    found = cli.run("recommend", *arguments, stdin=stdin, **environ)
    return found._replace(out="\n".join(line.rstrip() for line in found.out.splitlines()))


def asked(text: str, *more: str | Path) -> cli.Run:
    """Run it with options, or with a file of this text on stdin."""
    return run(*text.split(), *more) if text.startswith("--") else run("--from", "-", *more, stdin=text)
