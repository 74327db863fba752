"""``python -m benchmarks.gpu``: measure memory and speed on one NVIDIA GPU.

    python -m benchmarks.gpu --out rows.yaml [--quick] [--model NAME ...] [--instance-type TYPE] [--steps N]

Needs PyTorch 2.5 or newer in the environment. ``--device cpu`` runs tiny models, to test the script: its rows are
never compared with estimates.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.gpu.plan import FULL, QUICK, Case, cases
from benchmarks.gpu.rows import Device, Measured, Row, UnknownDeviceError, instance_type, rows, text
from eks_hardware.advisor.model import Shape, ShapeError
from eks_hardware.advisor.shapes.public import known_as, shape_of_name
from eks_hardware.catalogue import load
from eks_hardware.printable import reason

_TEST_TYPE = "g6.xlarge"
_TEST_SHARE = 128  # the factor by which a test reduces the number of tokens
_ONLY_A_TEST = "a test of the script on a CPU, with a tiny model"


def arguments(said: Sequence[str]) -> argparse.Namespace:
    """Return the checked arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu", description="Measure memory and speed on one NVIDIA GPU."
    )
    parser.add_argument("--out", metavar="FILE", type=Path, required=True, help="file of the rows, in YAML")
    parser.add_argument("--quick", action="store_true", help="a few sizes of one small model, for a few minutes")
    parser.add_argument(
        "--model", metavar="NAME", dest="models", action="append", default=[], help="public model; can be repeated"
    )
    parser.add_argument("--instance-type", metavar="TYPE", help="EC2 type; default: the smallest with this GPU")
    parser.add_argument("--steps", type=int, default=5, help="timed steps of each case; default: 5")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu only tests the script")
    options = parser.parse_args(said)
    if options.steps < 1:
        parser.error(f"--steps must be at least 1, got {options.steps}")
    if options.instance_type and options.instance_type not in load():
        parser.error(f"--instance-type must be an EC2 type in the catalogue, got {options.instance_type}")
    if not options.out.parent.is_dir():
        parser.error(f"--out must be in an existing folder, got {options.out}")
    for model in options.models:
        try:
            shape = shape_of_name(model)
        except ShapeError as error:
            parser.error(f"--model {error.message}")
        if shape.generates is False or shape.experts or shape.latent_width:
            parser.error(f"--model must be a dense decoder, got {model}; use llama-3.1-8b, for example")
    options.models = [known_as(each) for each in options.models]
    return options


def main(said: Sequence[str] | None = None) -> int:
    options = arguments(sys.argv[1:] if said is None else said)
    if importlib.util.find_spec("torch") is None:
        print("error: PyTorch is missing; install torch 2.5 or newer in this environment", file=sys.stderr)
        return 2
    from benchmarks.gpu.measure import can_measure, device_of, measure

    if options.device == "cuda" and (fault := can_measure()):
        print(f"error: {fault}", file=sys.stderr)
        return 2
    device, is_test = device_of(options.device), options.device == "cpu"
    try:
        kind = options.instance_type or (_TEST_TYPE if is_test else instance_type(device))
    except UnknownDeviceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    chip = load().get(kind).accelerator
    found: list[Row] = []
    for case in cases(QUICK if options.quick else FULL, options.models):
        shape = shape_of_name(case.model)
        if is_test:
            case, shape = small(case, shape)
        result = measure(case, shape, options.device, steps=options.steps)
        print(f"{case.name:60} {said_of(result)}", flush=True)
        name = chip.name if chip else kind
        found += rows(case, result, kind=kind, chip=name, only_a_test=_ONLY_A_TEST if is_test else "")
        if fault := written(options.out, device, found):  # after each case, because a run can be cut short
            print(f"error: {fault}", file=sys.stderr)
            return 2
    print(f"{options.out}: {len(found)} rows; compare them with `eks-hardware recommend --measurements {options.out}`")
    return 0


def written(file: Path, device: Device, found: Sequence[Row]) -> str | None:
    """Write the file; return the error message if that fails."""
    day = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    try:
        file.write_text(text(device, found, day=day), encoding="utf-8")
    except OSError as error:
        return f"{file}: {reason(error)}"
    return None


def small(case: Case, shape: Shape) -> tuple[Case, Shape]:
    """Return a smaller case and shape, which a CPU runs in less than a second."""
    tiny = replace(
        shape,
        parameters=1,
        layers=2,
        hidden_size=64,
        attention_heads=4,
        kv_heads=2,
        head_dim=16,
        intermediate_size=128,
        vocabulary=256,
    )
    return replace(case, tokens=case.tokens // _TEST_SHARE), tiny


def said_of(result: Measured) -> str:
    """Describe a result."""
    if result.out_of_memory:
        return "out of memory"
    peak = "" if result.peak_bytes is None else f", {result.peak_bytes / 1024**3:.2f} GiB"
    waits = ", waits for the processor" if result.waits_for_cpu else ""
    return f"{(result.seconds or 0) * 1000:.2f} ms{peak}{waits}"


if __name__ == "__main__":
    sys.exit(main())
