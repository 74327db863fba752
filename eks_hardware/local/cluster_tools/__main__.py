"""``make cluster-tools``: build the missing programs of a local cluster."""

from __future__ import annotations

import argparse
import os
import sys

from eks_hardware.local import processes
from eks_hardware.local.cluster_tools import (
    NEEDED,
    ON_REQUEST,
    TOOLS,
    ToolsMissing,
    find,
    go_version,
    is_complete,
)
from eks_hardware.local.cluster_tools.build import provide


def main() -> int:
    """Build missing tools; return 0 if all tools exist, or if the tests that need them can be left out."""
    parser = argparse.ArgumentParser(prog="make cluster-tools", description=__doc__)
    parser.add_argument("tools", nargs="*", metavar="TOOL", help=f"all, or some of {', '.join(TOOLS)}")
    parser.add_argument("--for", dest="tests", metavar="TESTS", help="leave out these tests, unless CI is set")
    given = parser.parse_args()
    in_ci = bool(os.environ.get("CI"))
    needed = (*NEEDED, *ON_REQUEST) if in_ci and given.tests else NEEDED
    names = list(TOOLS) if given.tools == ["all"] else given.tools or needed
    if unknown := sorted(set(names) - set(TOOLS)):
        parser.error(f"TOOLS must be all, or some of {', '.join(TOOLS)}; got {' '.join(unknown)}")
    try:
        with processes.signals_unwind():
            provide(*names, say=lambda line: print(line, flush=True))
            if given.tests and not in_ci:
                _name_tests_without_tools()
    except ToolsMissing as error:
        if given.tests and not in_ci:
            print(f"leaving out {given.tests}: {error}", file=sys.stderr)
            return 0
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _name_tests_without_tools() -> None:
    """Print each missing tool that is built only on request, because the tests that need it are left out."""
    for name in ON_REQUEST:
        tool = TOOLS[name]
        if not is_complete(tool, find(tool, go_version(tool, os.environ), os.environ)):
            print(f"leaving out the tests that need {tool}: build it with make cluster-tools TOOLS={name}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
