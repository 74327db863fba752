"""The advisor's estimate for a measured row."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from eks_hardware import facts
from eks_hardware.advisor.fitting.devices import available, cores_of
from eks_hardware.advisor.fitting.fit import memory_of
from eks_hardware.advisor.measured.outcomes import MEMORY, Outcome, trains
from eks_hardware.advisor.model import Fit, Parallelism, Request, Shape
from eks_hardware.advisor.shapes.hf_config import from_hf_config
from eks_hardware.advisor.shapes.public import shape_of_name
from eks_hardware.advisor.shapes.shape import shape_of
from eks_hardware.advisor.speed.estimate import Speed, speed
from eks_hardware.advisor.speed.throughput import Estimate, served_tokens_per_second
from eks_hardware.catalogue import Hardware, InstanceType, load
from eks_hardware.models import WorkloadSpec
from eks_hardware.models.workload import ModelShape
from eks_hardware.units import GIB

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.measurements import MeasurementRow

_GB = 1e9
_MS = 1000
# The advisor assumes that half of the context is prompt, and that on average half of the answer is generated.
_PROMPT, _AVERAGE = 0.5, 0.75


def outcome(row: MeasurementRow, shape: Shape | None = None) -> Outcome:
    """Return the estimate for a row, or why there is none. ``shape`` defaults to the shape of the row's model."""
    kind = load().get(row["instance_type"])
    chip = kind.accelerator.name if kind.accelerator else "CPU"
    reason = row.get("not_expressed")
    if reason is None and kind.hardware is Hardware.CPU:
        reason = "the speed of CPUs is unknown"
    shape = shape or model_shape(row["model"])
    if reason is None and row.get("expert", 1) > 1 and not shape.routed_parameters:
        reason = "the experts of the model are unknown"
    if reason is not None:
        return Outcome(row=row, chip=chip, estimate=None, reason=reason)
    estimate = _Setup(row, kind, shape).estimate()
    return Outcome(row=row, chip=chip, estimate=estimate, reason="a figure is unknown" if estimate is None else None)


@cache
def model_shape(name: str) -> Shape:
    """Return the shape of a published measurement's model, or of a public model.

    Raises:
        ShapeError: MODEL_NAME, with similar names.
    """
    model = facts.measured_models()["models"].get(name)
    if model is None:
        return shape_of_name(name)
    if "public" in model:
        return shape_of_name(model["public"])
    if "config" in model:
        return from_hf_config(model["config"])
    return shape_of(ModelShape.model_validate(model.get("shape")))


class _Setup:
    """The setup of a row, in the advisor's terms."""

    def __init__(self, row: MeasurementRow, kind: InstanceType, shape: Shape) -> None:
        tensor, pipeline = row.get("tensor", 1), row.get("pipeline", 1)
        assert kind.accelerator is not None
        self.row, self.kind, self.shape = row, kind, shape
        self.trains = trains(row)
        expert = row.get("expert", 1)
        self.layout = Parallelism(
            data=row["devices"] // (tensor * pipeline) if self.trains else expert,
            tensor=tensor,
            pipeline=pipeline,
            sharding=row.get("sharding", "none"),
            expert=expert,
        )
        self.nodes = -(-row["devices"] // kind.accelerator.count)

    def estimate(self) -> float | None:
        """Return the estimate in the unit of the row."""
        row, kind = self.row, self.row["kind"]
        if kind == "fits":
            return self._need(row["sequences"] or 1) / self._room()
        if kind in MEMORY:
            return self._need(row["sequences"] or 1) / (GIB if row["unit"] == "GiB" else _GB)
        if kind == "training-speed":
            return self._training()
        return self._encoder() if kind == "encoder-throughput" else self._serving()

    # --- requests

    def _request(self, **said: object) -> Request:
        said = {**said, "precision": self.row["precision"], "model": {"parameters": str(self.shape.parameters)}}
        return Request(workload=WorkloadSpec.model_validate(said), shape=self.shape, regions=("us-east-1",))

    def _training_request(self) -> Request:
        row, method = self.row, self.row.get("method")
        return self._request(
            task="training" if method is None else "fine-tuning",
            method=method,
            sequence_length=row["input_tokens"],
            batch_size=row["sequences"],
            optimizer=row.get("optimizer"),
            activation_checkpointing=row.get("checkpointing", False),
            mixed_precision=row.get("mixed_precision"),
            offload=row.get("offload"),
            gradient_accumulation=row.get("gradient_accumulation"),
            chunked_loss=row.get("chunked_loss"),
            lora_rank=row.get("lora_rank"),
        )

    def _serving_request(self, context: float, sequences: int) -> Request:
        return self._request(
            task="inference",
            context_length=max(1, round(context)),
            concurrent_sequences=sequences,
            kv_cache_precision=self.row.get("kv_cache"),
        )

    # --- memory

    def _room(self) -> float:
        """Return the bytes that a device has for the model."""
        room = available(self.kind, training=self.trains)
        assert room is not None
        return room * GIB

    def _need(self, sequences: int) -> float:
        """Return the bytes that a device needs, with the overheads that the row's figure includes."""
        context = self.row["input_tokens"] + self.row.get("output_tokens", 0)
        request = self._training_request() if self.trains else self._serving_request(context, sequences)
        need = memory_of(request, self.kind, cores=cores_of(self.kind)).need(self.layout)
        if self.row["kind"] != "memory-training":
            return float(sum(need))
        counted = self.row.get("counted", "allocated")
        of_process = facts.memory()["devices"]["context_gib"] * GIB if counted == "process" else 0.0
        return float(sum(need)) - (need.overhead if counted == "allocated" else 0.0) + of_process

    def _most_sequences(self, most: int) -> int:
        """Return how many sequences run at once, by the advisor's own estimate of memory; at least one."""
        few, many, room = 1, most + 1, self._room()
        while many - few > 1:
            middle = (few + many) // 2
            few, many = (middle, many) if self._need(middle) <= room else (few, middle)
        return few

    # --- speed

    def _speed(self, request: Request) -> Speed:
        fit = Fit(
            kind=self.kind,
            nodes=self.nodes,
            devices=self.layout.devices,
            parallelism=self.layout,
            memory=(),
            memory_gib=0.0,
            available_gib=0.0,
            replicas_per_node=1,
            notes=(),
            batch_size=self.row["sequences"],
        )
        return speed(request, fit)

    def _training(self) -> float | None:
        row = self.row
        tokens_per_second = self._speed(self._training_request()).tokens_per_second
        per = {"tokens/s": 1, "tokens/s per device": row["devices"], "sequences/s": row["input_tokens"]}
        return None if tokens_per_second is None else tokens_per_second / per[row["unit"]]

    def _encoder(self) -> float | None:
        row = self.row
        found = self._speed(self._serving_request(row["input_tokens"], row["sequences"] or 1))
        if row["unit"] == "ms per batch":
            return found.first_token_ms
        return None if found.per_replica is None else found.per_replica / row["input_tokens"]

    def _serving(self) -> float | None:
        """Return the speed for the measured lengths of prompt and answer.

        A workload has one context length for both, so the advisor is asked twice. For one length, it assumes the
        measured prompt; for the other, the measured average KV cache. On Neuron, the cache always counts in full.
        """
        row = self.row
        prompt, answer = row["input_tokens"], row.get("output_tokens", 1)
        sequences = row["sequences"] or self._most_sequences(row.get("requests", 1))
        reading = self._speed(self._serving_request(prompt / _PROMPT, sequences))
        kept = prompt + answer if self.kind.hardware.is_neuron else (prompt + answer / 2) / _AVERAGE
        step = self._speed(self._serving_request(kept, sequences)).per_token_ms
        if reading.prompt_ms is None or step is None:
            return None
        if row["unit"] == "ms to the first token":
            return reading.first_token_ms
        if row["unit"] == "ms per token":
            return step
        groups = min(self.layout.pipeline, sequences)
        served = served_tokens_per_second(
            output_tokens=answer,
            prefill=Estimate(value=reading.prompt_ms / _MS, assumptions=()),
            decode=Estimate(value=sequences / groups / step * _MS, assumptions=()),
        ).value
        assert served is not None
        if row["unit"] == "ms per answer":
            return sequences * answer / (served * groups) * _MS
        return served * groups / (row["devices"] if row["unit"] == "output tokens/s per device" else 1)
