"""``python -m eks_hardware``: the CDKTF app for a project that contains only strategy files."""

import os
import sys

# `python -m` searches the working folder first, where a `constructs/__init__.py` would hide the library `constructs`,
# and a `signal.py` Python's own module.
try:
    if sys.path and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109
        sys.path.append(sys.path.pop(0))
except FileNotFoundError:
    raise SystemExit("error: the working folder no longer exists") from None

from eks_hardware._node import start_node
from eks_hardware._startup import short_lived
from eks_hardware.interrupts import end_on_signals

end_on_signals()
short_lived()
start_node()

from eks_hardware.stacks.app import main  # noqa: E402

try:
    code = main()
except KeyboardInterrupt:
    code = 130  # a shell's exit code for Ctrl-C
raise SystemExit(code)
