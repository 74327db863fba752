"""Create a folder, and remove it when every process with the other end of standard input has ended.

Started by path, as ``folder_keeper.py FOLDER``: it imports nothing from this package. The processes that use the
folder inherit the pipe's other end. The kernel closes it when they end, for whatever reason, so no process still writes
to the folder when it is removed.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path


def main(folder: str) -> None:
    """Create the folder, print a line, and remove the folder at end of file."""
    # A signal to all of these processes must not end the keeper first.
    for signum in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, signal.SIG_IGN)
    try:
        Path(folder).mkdir(mode=0o700)
    except OSError as error:
        sys.exit(str(error))
    try:
        os.write(1, b"\n")
        while os.read(0, 1):
            pass
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
