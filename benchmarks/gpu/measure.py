"""Measure a case's memory and time on a device. Needs PyTorch 2.5 or newer."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks.gpu.plan import Case
from benchmarks.gpu.rows import Device, Measured
from benchmarks.gpu.transformer import Model, new_cache, new_model, torch
from eks_hardware.advisor.model import Shape

_WARM_UP = 2
_GIB = 1024**3
_CPU_GIB = 0.0
_FEW = 16  # tokens: so few that the GPU mostly waits for kernel launches
_WAITS = 0.8  # if a few tokens take more than this share of the full step, the GPU waits for the processor


def can_measure() -> str | None:
    """Return the reason why this machine cannot measure, or None if it can."""
    if not torch.cuda.is_available():
        return "PyTorch finds no CUDA device; run this on a machine with an NVIDIA GPU"
    if not torch.cuda.is_bf16_supported(including_emulation=False):
        return "the GPU must compute in bf16 (Ampere or newer)"
    return None


def device_of(name: str) -> Device:
    """Return the device ``cuda`` or ``cpu``."""
    software = f"PyTorch {torch.__version__}"
    if name == "cpu":
        return Device(name="CPU", memory_gib=_CPU_GIB, software=software)
    properties = torch.cuda.get_device_properties(0)
    return Device(
        name=properties.name,
        memory_gib=properties.total_memory / _GIB,
        software=f"{software}, CUDA {torch.version.cuda}, compute capability {properties.major}.{properties.minor}",
    )


def measure(case: Case, shape: Shape, device: str, *, steps: int) -> Measured:
    """Return the median time of a step, and the peak of the allocated memory."""
    _clear(device)
    try:
        return (
            _training(case, shape, device, steps) if case.work == "training" else _serving(case, shape, device, steps)
        )
    except torch.OutOfMemoryError:
        return Measured(out_of_memory=True)
    finally:
        _clear(device)


def _training(case: Case, shape: Shape, device: str, steps: int) -> Measured:
    model = new_model(shape, device, case.method)
    tokens = torch.randint(0, shape.vocabulary or 1, (case.sequences, case.tokens), device=device)
    optimizer = torch.optim.AdamW(model.trained, lr=1e-5, fused=device == "cuda")

    def step(tokens: Any) -> None:
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = model.loss(tokens, recompute=case.checkpointing)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    starting = _seconds(lambda: step(tokens[:1, :_FEW]), device, steps)
    return _timed(lambda: step(tokens), device, steps, starting=starting)


def _serving(case: Case, shape: Shape, device: str, steps: int) -> Measured:
    with torch.inference_mode():
        model = new_model(shape, device, None)
        cache = new_cache(shape, device, sequences=case.sequences, tokens=case.tokens + 1, fp8=case.kv_cache == "fp8")
        prompt = torch.randint(0, shape.vocabulary or 1, (1, case.tokens), device=device)
        if case.work == "prompt":
            starting = _seconds(lambda: model.next_tokens(prompt[:, :_FEW], cache, 0), device, steps)
            return _timed(lambda: model.next_tokens(prompt, cache, 0), device, steps, starting=starting)
        _read(model, prompt, cache, case.sequences)
        last = torch.zeros((case.sequences, 1), device=device, dtype=torch.long)
        step = _graph(lambda: model.next_tokens(last, cache, case.tokens), device)
        return _timed(step, device, steps)


def _read(model: Model, prompt: Any, cache: Any, sequences: int) -> None:
    """Fill the cache, one sequence after the other."""
    for index in range(sequences):
        one = type(cache)(
            keys=[each[index : index + 1] for each in cache.keys],
            values=[each[index : index + 1] for each in cache.values],
        )
        model.next_tokens(prompt, one, 0)


def _graph(step: Callable[[], object], device: str) -> Callable[[], object]:
    """Return the step as one CUDA graph, as servers run it; on a CPU the step itself."""
    if device != "cuda":
        return step
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(_WARM_UP):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    replay: Callable[[], object] = graph.replay
    return replay


def _timed(step: Callable[[], object], device: str, steps: int, *, starting: float = 0.0) -> Measured:
    """Return time and peak memory. ``starting`` is the time, in seconds, for launching all kernels."""
    seconds = _seconds(step, device, steps)
    peak = torch.cuda.max_memory_allocated() if device == "cuda" else None
    return Measured(seconds=seconds, peak_bytes=peak, waits_for_cpu=starting > _WAITS * seconds)


def _seconds(step: Callable[[], object], device: str, steps: int) -> float:
    """Return the median time in seconds, after steps that compile kernels and allocate the optimizer's states."""
    times = []
    for _ in range(_WARM_UP + steps):
        _wait(device)
        start = time.perf_counter()
        step()
        _wait(device)
        times.append(time.perf_counter() - start)
    return median(times[_WARM_UP:])


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def _clear(device: str) -> None:
    gc.collect()  # 4-bit matrices are in cycles of references
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
