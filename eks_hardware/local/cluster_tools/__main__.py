"""``make cluster-tools``: build the programs of a local cluster that are missing."""

from __future__ import annotations

import argparse
import os
import sys

from eks_hardware.local import processes
from eks_hardware.local.cluster_tools import NEEDED, TOOLS, ToolsMissing
from eks_hardware.local.cluster_tools.build import provide


def main() -> int:
    """Return 0 if all tools are there, or if the tests that need them can be left out."""
    parser = argparse.ArgumentParser(prog="make cluster-tools", description=__doc__)
    parser.add_argument("tools", nargs="*", metavar="TOOL", help=f"all, or some of {', '.join(TOOLS)}")
    parser.add_argument("--for", dest="tests", metavar="TESTS", help="leave out these tests, unless CI is set")
    given = parser.parse_args()
    names = list(TOOLS) if given.tools == ["all"] else given.tools or NEEDED
    if unknown := sorted(set(names) - set(TOOLS)):
        parser.error(f"TOOLS must be all, or some of {', '.join(TOOLS)}; got {' '.join(unknown)}")
    try:
        with processes.signals_unwind():
            provide(*names, say=lambda line: print(line, flush=True))
    except ToolsMissing as error:
        if given.tests and not os.environ.get("CI"):
            print(f"leaving out {given.tests}: {error}", file=sys.stderr)
            return 0
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
