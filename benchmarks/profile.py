"""Profile of one synthesis: ``python -m benchmarks.profile STRATEGY.yaml OUTDIR`` prints JSON.

The output contains the phases of ``main.py``, timed inside the process, and the number of requests that Python sends to
jsii's Node process in each phase. Run it in a separate process, because imports take most of the time.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass
class Phase:
    """A phase of a run.

    Attributes:
        name: the phase's name.
        seconds: the duration, including waiting for Node.
        requests: the number of requests from Python to Node.
        waited: the seconds of waiting for responses.
    """

    name: str
    seconds: float
    requests: int
    waited: float


class Watch:
    """A timer for the phases of this process, which also counts requests to Node."""

    def __init__(self) -> None:
        self.phases: list[Phase] = []
        self._requests, self._waited = 0, 0.0
        self._start = time.perf_counter()

    def watch_requests(self) -> None:
        """Count requests from now until the end of the process."""
        from jsii._kernel.providers.process import _NodeProcess

        send = _NodeProcess.send

        def watched(node: Any, *arguments: Any, **named: Any) -> Any:
            start = time.perf_counter()
            try:
                return send(node, *arguments, **named)
            finally:
                self._requests += 1
                self._waited += time.perf_counter() - start

        setattr(_NodeProcess, "send", watched)  # noqa: B010  a method of the library's own class

    def done(self, name: str) -> None:
        """End a phase and start the next."""
        now = time.perf_counter()
        self.phases.append(Phase(name, now - self._start, self._requests, self._waited))
        self._requests, self._waited = 0, 0.0
        self._start = time.perf_counter()


def run(strategy: Path, outdir: Path) -> dict[str, Any]:
    """Synthesize a strategy in this process, and return its profile."""
    watch = Watch()
    from eks_hardware.stacks import app as ours

    watch.done("import models, rules and catalogue code")
    resolved = ours.strategies({"EKS_HARDWARE_STRATEGIES": str(strategy)})
    watch.done("load, check and resolve the strategy")
    import jsii  # noqa: F401

    watch.watch_requests()
    import constructs  # noqa: F401

    watch.done("start Node and jsii, load constructs")
    import cdktf  # noqa: F401

    watch.done("load cdktf")
    import eks_hardware._cdk

    watch.done("load the AWS and Helm providers")
    from eks_hardware.stacks import strategy_stacks

    watch.done("import our constructs")
    app = eks_hardware._cdk.App(outdir=str(outdir))
    for each, _ in resolved:
        strategy_stacks(app, each)
    watch.done("define the resources")
    app.synth()
    watch.done("synthesize and write")
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in outdir.glob("stacks/*/cdk.tf.json")]
    count = sum(
        len(named) for each in documents for part in ("resource", "data") for named in each.get(part, {}).values()
    )
    return {"resources": count, "phases": [asdict(phase) for phase in watch.phases]}


if __name__ == "__main__":
    found = run(Path(sys.argv[1]), Path(sys.argv[2]))
    print(json.dumps(found), flush=True)
    # Skip the shutdown of Python and Node, which the wall time of a run would include.
    os._exit(0)
