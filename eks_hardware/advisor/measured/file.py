"""A file of a user's measurements: its format, and the comparison with the estimates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

from pydantic import Field, model_validator

from eks_hardware import data, field_paths
from eks_hardware.advisor.measured.estimates import model_shape, outcome
from eks_hardware.advisor.measured.factors import Compared, Measured
from eks_hardware.advisor.model import Shape, ShapeError
from eks_hardware.advisor.shapes.shape import shape_of
from eks_hardware.catalogue import load
from eks_hardware.facts.schemas.measurements import Kind, Unit
from eks_hardware.findings import Finding, StrategyError
from eks_hardware.loader import Document, load_document
from eks_hardware.models.base import StrategyModel, Text, invalid
from eks_hardware.models.json_schema import render
from eks_hardware.models.text_patterns import pattern
from eks_hardware.models.workload import Checkpointing, ModelShape, Offload, Optimizer, Sharding
from eks_hardware.printable import joined, quoted
from eks_hardware.spellings import WeightFormat

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.measurements import MeasurementRow

UNITS: Mapping[Kind, tuple[str, ...]] = {
    "memory-training": ("GB", "GiB"),
    "memory-inference": ("GB", "GiB"),
    "fits": ("fits",),
    "serving-throughput": ("output tokens/s", "output tokens/s per device"),
    "serving-latency": ("ms to the first token", "ms per answer"),
    "decode": ("ms per token",),
    "encoder-throughput": ("sequences/s", "ms per batch"),
    "training-speed": ("tokens/s", "tokens/s per device", "sequences/s"),
}
"""The units of each kind of row."""
_OF_TRAINING = (
    "sharding",
    "method",
    "optimizer",
    "checkpointing",
    "mixed_precision",
    "offload",
    "gradient_accumulation",
    "chunked_loss",
    "lora_rank",
    "counted",
)
_WITH_OUTPUT = ("memory-inference", "serving-throughput", "serving-latency", "decode")
_WITHOUT_OUTPUT = ("memory-training", "training-speed", "encoder-throughput")

SCHEMA_PATH = data.FOLDER / "measurements.schema.json"
"""The JSON Schema of these files; ``python -m eks_hardware.advisor.measured.file`` writes it."""

Degree = Annotated[int, Field(ge=1, le=100_000)]
Tokens = Annotated[int, Field(ge=1, le=100_000_000)]
Day = Annotated[
    str, pattern(r"^([0-9]{4}-[0-9]{2}(-[0-9]{2})?|[0-9]{4}|undated)$", 'a date such as "2026-11-25", in quotes')
]


class Row(StrategyModel):
    """One measured figure, with the setup that produced it."""

    id: Annotated[Text, Field(min_length=1, max_length=200)] = Field(description="Name of the row, unique in the file.")
    kind: Kind = Field(description="The kind of measurement.")
    model: Annotated[Text, Field(min_length=1, max_length=200)] = Field(
        description="A public model such as llama-3.1-8b, or a name in `models`."
    )
    instance_type: Text = Field(description="EC2 type; for other hardware, one with the same accelerator.")
    devices: Annotated[int, Field(ge=0, le=100_000)] = Field(description="Accelerators in use; 0 on a CPU.")
    tensor: Degree = Field(default=1, description="Devices that share every layer.")
    pipeline: Degree = Field(default=1, description="Stages of layers.")
    expert: Degree = Field(
        default=1, description="Devices that share the experts of a mixture, each with its own sequences."
    )
    sharding: Sharding | None = Field(
        default=None, description="Training: level of sharding over data-parallel devices."
    )
    precision: WeightFormat = Field(description="Format of the weights.")
    kv_cache: Literal["fp8"] | None = Field(default=None, description="Format of the KV cache; default: 16 bits.")
    method: Literal["full", "lora", "qlora"] | None = Field(default=None, description="Fine-tuning: the method.")
    optimizer: Optimizer | None = Field(default=None, description="Training: the optimizer.")
    checkpointing: Checkpointing | None = Field(
        default=None, description="Training: whether activations are recomputed."
    )
    mixed_precision: bool | None = Field(
        default=None, description="Training: false if gradients and optimizer states are in 16 bits too."
    )
    offload: tuple[Offload, ...] | None = Field(default=None, description="Training: state offloaded to host memory.")
    gradient_accumulation: Degree | None = Field(
        default=None, description="Training: batches per device in an optimizer step."
    )
    lora_rank: Degree | None = Field(default=None, description="Fine-tuning with adapters: rank of the adapters.")
    counted: Literal["allocated", "reserved", "process"] | None = Field(
        default=None,
        description="Training memory: what the figure includes: allocated memory (the default), also the gaps that the "
        "allocator reserves, or all memory of the process, as nvidia-smi shows it.",
    )
    chunked_loss: bool | None = Field(default=None, description="Training: whether the loss is computed in chunks.")
    sequences: Degree | None = Field(
        description="Sequences per device in a training pass, or concurrent ones per replica; null: as many as fit."
    )
    requests: Degree | None = Field(default=None, description="If `sequences` is null: number of concurrent requests.")
    input_tokens: Tokens = Field(description="Tokens of a prompt, or of a sequence in training and for encoders.")
    output_tokens: Tokens | None = Field(default=None, description="Tokens of an answer; serving only.")
    figure: Annotated[float, Field(gt=0)] | bool = Field(description="The figure; for `fits`, whether it ran.")
    unit: Unit = Field(description="Unit of the figure; each kind has its own.")
    not_expressed: Text | None = Field(default=None, description="Why the row must not be compared.")
    note: Text | None = Field(default=None, description="Anything else.")

    @model_validator(mode="after")
    def _is_consistent(self) -> Row:
        units = UNITS[self.kind]
        if self.unit not in units:
            allowed = joined([quoted(unit) for unit in units], "or")
            raise _wrong("unit", f"must be {allowed} for {self.kind}, got {quoted(self.unit)}; correct it")
        if isinstance(self.figure, bool) != (self.kind == "fits"):
            needed = "true or false" if self.kind == "fits" else "a number above 0"
            raise _wrong("figure", f"must be {needed} for {self.kind}, got {self.figure}; correct it")
        if self.output_tokens is None and self.kind in _WITH_OUTPUT:
            raise _wrong("kind", f"{self.kind} must have 'output_tokens', got none; add it")
        if self.output_tokens is not None and self.kind in _WITHOUT_OUTPUT:
            raise _wrong("output_tokens", f"must not be set for {self.kind}; remove it")
        for name in _OF_TRAINING:
            if self.output_tokens is not None and getattr(self, name) is not None:
                raise _wrong(name, "must not be set for serving; remove it, or remove 'output_tokens'")
        if (self.sequences is None) != (self.requests is not None):
            raise _wrong("sequences", "must be a number, or null together with 'requests'; correct one of them")
        if self.devices % (self.tensor * self.pipeline):
            by = f"tensor x pipeline, which is {self.tensor * self.pipeline}"
            raise _wrong("devices", f"must be a multiple of {by}, got {self.devices}; correct one of them")
        if self.expert > 1 and self.output_tokens is not None and self.devices != self.expert:
            raise _wrong("expert", f"must equal 'devices' for serving, which is {self.devices}, got {self.expert}")
        if self.devices % self.expert:
            raise _wrong("expert", f"must divide 'devices', which is {self.devices}, got {self.expert}; correct one")
        return self


def _wrong(field: str, message: str) -> Exception:
    return invalid("field_value", message, field)


class MeasurementsFile(StrategyModel):
    """A user's measurements: the format of ``config/performance/measurements``, plus models of the user."""

    about: Text | None = Field(default=None, alias="_about", description="Anything about the file.")
    source: Text | None = Field(default=None, description="Where the figures are from.")
    published: Day | None = Field(default=None, description="Date when the figures were published or measured.")
    as_of: Day = Field(description="Date of the measurement, or the date when its source was read.")
    software: Text = Field(description="Software and its versions.")
    note: Text | None = Field(default=None, description="Hardware, and anything else.")
    models: dict[Text, ModelShape] = Field(
        default_factory=dict, description="Models that are not public, with the fields of a workload's `model`."
    )
    rows: tuple[Row, ...] = Field(min_length=1, max_length=10_000, description="The measured figures.")


def read_measurements(source: Path | str, *, file: str = "<string>") -> Measured:
    """Return the measurements in a file, or in text that findings call ``file``, compared with the estimates.

    Raises:
        StrategyError: with every finding, each with its line and column.
    """
    document = load_document(source, MeasurementsFile, file=file)
    folder = source.parent if isinstance(source, Path) else None
    shapes: dict[str, Shape] = {}
    findings = [*_unknown_types(document), *_same_ids(document), *_unknown_models(document, shapes, folder)]
    if findings:
        raise StrategyError(findings)
    said = (row.model_dump(exclude_unset=True) for row in document.value.rows)
    rows = [cast("MeasurementRow", row) for row in said]
    compared = (Compared(outcome=outcome(row, shapes[row["model"]]), shape=shapes[row["model"]]) for row in rows)
    return Measured(file=document.file, rows=tuple(compared))


def _unknown_types(document: Document[MeasurementsFile]) -> Iterator[Finding]:
    for index, row in enumerate(document.value.rows):
        field, known = "devices", row.instance_type in load()
        has_devices = known and load().get(row.instance_type).accelerator is not None
        if not known:
            field, message = "instance_type", f"must be an EC2 type in the catalogue, got {quoted(row.instance_type)}"
            message += "; see `eks-hardware instances`"
        elif has_devices and not row.devices:
            message = f"must be at least 1 on {row.instance_type}, got 0; correct it"
        elif row.devices and not has_devices:
            message = f"must be 0 on {row.instance_type}, which has no accelerator, got {row.devices}; correct it"
        else:
            continue
        path = field_paths.below(field_paths.item("rows", index), field)
        yield Finding("FIELD_VALUE", path, message, position=document.source.locate(path))


def _same_ids(document: Document[MeasurementsFile]) -> Iterator[Finding]:
    seen: set[str] = set()
    for index, row in enumerate(document.value.rows):
        if row.id in seen:
            path = field_paths.below(field_paths.item("rows", index), "id")
            message = f"must be unique, got {quoted(row.id)} twice; rename one of them"
            yield Finding("NAME_DUPLICATE", path, message, position=document.source.locate(path))
        seen.add(row.id)


def _unknown_models(
    document: Document[MeasurementsFile], shapes: dict[str, Shape], folder: Path | None
) -> Iterator[Finding]:
    """Add the shapes of the models to ``shapes``, and yield a finding for each model without one."""
    for name, model in document.value.models.items():
        try:
            shapes[name] = shape_of(model, folder=folder)
        except ShapeError as error:
            path = field_paths.below(field_paths.below("models", name), error.field)
            yield Finding(error.code, path, error.message, position=document.source.locate(path))
    for index, row in enumerate(document.value.rows):
        if row.model in document.value.models:
            continue
        try:
            shapes[row.model] = model_shape(row.model)
        except ShapeError as error:
            path = field_paths.below(field_paths.item("rows", index), "model")
            message = f"{error.message}, or add it to 'models'"
            yield Finding(error.code, path, message, position=document.source.locate(path))


if __name__ == "__main__":
    SCHEMA_PATH.write_text(render(MeasurementsFile, "measurements"), encoding="utf-8")
