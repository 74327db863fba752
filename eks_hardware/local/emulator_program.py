"""The emulator's process: ministack, and a thread that stops it when the parent process ends.

Started as ``python -m eks_hardware.local.emulator_program [patched]``. End of file on standard input means that the
parent process has ended: the emulator removes its files and exits. One byte on standard input detaches the emulator
from its parent.
"""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import sys
import threading
import time


def _watch() -> None:
    if not os.read(0, 1):
        shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)
        os.killpg(os.getpid(), signal.SIGTERM)
        time.sleep(5)
        os.killpg(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Run ministack until it is stopped."""
    threading.Thread(target=_watch, daemon=True).start()
    if sys.argv[1:] == ["patched"]:
        del sys.argv[1:]
        importlib.import_module("eks_hardware.local.emulator_patches").install()
    importlib.import_module("ministack.app").main()


if __name__ == "__main__":
    main()
