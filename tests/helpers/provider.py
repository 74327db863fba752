"""The real AWS provider as one process for many Terraform commands.

A command starts the provider several times and reads its whole schema each time, which takes longer than most plans.
Terraform can use a running provider instead:
https://developer.hashicorp.com/terraform/plugin/debugging#starting-a-provider-in-debug-mode
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from eks_hardware.local import processes

VARIABLE = "TF_REATTACH_PROVIDERS"

_TIMEOUT_SECONDS = 60.0
_POLL_SECONDS = 0.1
_WITHOUT_LOG = dict.fromkeys(
    ("TF_LOG_PROVIDER", "TF_LOG_PROVIDER_AWS", "TF_LOG_SDK", "TF_LOG_SDK_PROTO", "TF_LOG_SDK_FRAMEWORK"), "off"
)


@contextmanager
def running_provider(program: Path, folder: Path, environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Run a provider for the duration of the block.

    Args:
        program: the provider.
        folder: an empty folder for its log.
        environment: its environment; the provider reads the address of AWS from it, not from Terraform's.

    Yields:
        The variable with which Terraform uses this provider, also without ``terraform init``.
    """
    log = folder / "provider.log"
    with log.open("wb") as output:
        process = processes.start_guarded(
            [str(program), "-debug"], folder, cwd=folder, env={**environment, **_WITHOUT_LOG}, stdout=output
        )
    try:
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        while not (found := re.search(f"{VARIABLE}='(.*)'", log.read_text(encoding="utf-8", errors="replace"))):
            assert process.poll() is None, processes.log_tail(log, 20)
            assert time.monotonic() < deadline, f"the provider did not start within {_TIMEOUT_SECONDS:.0f} s"
            time.sleep(_POLL_SECONDS)
        yield {VARIABLE: found[1]}
    finally:
        # Ends the guard, which ends the provider and removes the folder.
        process.communicate()
