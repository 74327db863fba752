"""Published measurements: each row fits its type, names known models and instance types, and can be true."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from pydantic import TypeAdapter

from eks_hardware import data, facts
from eks_hardware.advisor.measured.file import Row
from eks_hardware.advisor.shapes.hf_config import from_hf_config
from eks_hardware.catalogue import load
from eks_hardware.catalogue.performance import performance
from eks_hardware.facts.schemas.measurements import MeasuredModels, MeasurementRow, Measurements
from helpers.cases import in_one_test

FOLDER = data.FOLDER / "performance" / "measurements"
FILES = sorted(file for file in FOLDER.glob("*.json") if file.name != "models.json")
ROWS = {row["id"]: row for file in facts.measurements().values() for row in file["rows"]}


@in_one_test("file", FILES, ids=lambda file: file.stem)
def test_a_file_fits_its_type(file: Path) -> None:
    TypeAdapter(Measurements).validate_json(file.read_bytes(), strict=True, extra="forbid")


def test_models_fit_their_type() -> None:
    models = (FOLDER / "models.json").read_bytes()
    TypeAdapter(MeasuredModels).validate_json(models, strict=True, extra="forbid")


def test_every_file_is_loaded() -> None:
    assert list(facts.measurements()) == [file.stem for file in FILES]


def test_ids_are_unique() -> None:
    ids = Counter(row["id"] for file in facts.measurements().values() for row in file["rows"])
    assert [name for name, times in ids.items() if times > 1] == []


def test_rows_use_every_model_and_no_other() -> None:
    assert {row["model"] for row in ROWS.values()} == set(facts.measured_models()["models"])


def test_a_model_is_described_in_one_way() -> None:
    models = facts.measured_models()["models"]
    assert [name for name, each in models.items() if len({"public", "config", "shape"} & each.keys()) != 1] == []


@in_one_test("name", ROWS)
def test_the_hardware_of_a_row_exists(name: str) -> None:
    row, catalogue = ROWS[name], load()
    assert row["instance_type"] in catalogue
    chip = catalogue.get(row["instance_type"]).accelerator
    if chip is None:
        assert row["devices"] == 0
        return
    assert row["devices"] % (row.get("tensor", 1) * row.get("pipeline", 1)) == 0
    assert row["devices"] <= chip.count or row["devices"] % chip.count == 0, "a part of a node"


@in_one_test("name", ROWS)
def test_the_fields_of_a_row_go_together(name: str) -> None:
    row = ROWS[name]
    # A row of a CPU has no devices, and users can measure only accelerators.
    Row.model_validate({**row, "devices": row["devices"] or 1})
    assert (row["sequences"] is None) == ("requests" in row), "as many as fit, of a known number of requests"


def least_seconds_per_token(row: MeasurementRow) -> float | None:
    """Return the time that the peak of the devices needs for the matrices of the layers; None if it is unknown."""
    chip = load().get(row["instance_type"]).accelerator
    model = facts.measured_models()["models"][row["model"]]
    if chip is None or "config" not in model:
        return None
    shape, known = from_hf_config(model["config"]), performance(chip)
    matrices = shape.active_parameters - (shape.embedding_parameters or 0)
    computed = "int8" if row["precision"] == "int8" else known.compute_format(row["precision"])
    peak = known.tflops.get(computed or "")
    passes = (2 if row.get("method") in ("lora", "qlora") else 3) if row["kind"] == "training-speed" else 1
    return None if peak is None else 2 * passes * matrices / (peak * 1e12 * row["devices"])


@in_one_test("name", [name for name, row in ROWS.items() if row["unit"].endswith(("s", "device", "batch"))])
def test_no_measured_speed_is_higher_than_the_peak(name: str) -> None:
    """Such a row would be a misread unit, or a run with shorter sequences than stated."""
    row = ROWS[name]
    least = least_seconds_per_token(row)
    if least is None or row["kind"] == "fits":
        return
    per_second = {
        "ms per batch": (row["sequences"] or 1) * row["input_tokens"] * 1000 / row["figure"],
        "sequences/s": row["figure"] * row["input_tokens"],
        "tokens/s per device": row["figure"] * row["devices"],
        "output tokens/s per device": row["figure"] * row["devices"],
    }.get(row["unit"], row["figure"])
    read = 1.0
    if row["kind"] == "serving-throughput":  # the prompt of each answer is read too
        read = 1 + row["input_tokens"] / row.get("output_tokens", 1)
    assert per_second * read * least <= 1
