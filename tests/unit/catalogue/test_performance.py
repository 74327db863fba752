"""Peak compute, memory bandwidth and the share of them that runs reach."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from eks_hardware import facts
from eks_hardware.catalogue import Accelerator, Catalogue, load
from eks_hardware.catalogue.performance import delay, performance, utilization
from helpers.cases import in_one_test

TABLE = facts.performance()
SIXTEEN_BITS = ("fp16", "bf16")
EIGHT_BITS = ("fp8", "int8")


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load()


def chip(catalogue: Catalogue, instance_type: str) -> Accelerator:
    found = catalogue.get(instance_type).accelerator
    assert found is not None
    return found


@in_one_test(
    ("instance_type", "bf16", "fp8", "gb_per_second", "link", "link_gb_per_second"),
    [
        ("p4d.24xlarge", 312, None, 1555, "NVLink", 600),
        ("p4de.24xlarge", 312, None, 2039, "NVLink", 600),
        ("p5.48xlarge", 989, 1978, 3350, "NVLink", 900),
        ("p5.4xlarge", 989, 1978, 3350, "NVLink", 900),
        ("p5en.48xlarge", 989, 1978, 4800, "NVLink", 900),
        ("p6-b200.48xlarge", 2250, 4500, 7700, "NVLink", 1800),
        ("p6-b300.48xlarge", 2250, 4500, 7750, "NVLink", 1800),
        ("p6e-gb200.36xlarge", 2500, 5000, 8000, "NVLink", 1800),
        ("g5.xlarge", 70, None, 600, "PCIe", 64),
        ("g6.xlarge", 121, 242, 300, "PCIe", 64),
        ("g6e.xlarge", 362.05, 733, 864, "PCIe", 64),
        ("g7.2xlarge", None, None, 800, "PCIe", None),
        ("g7e.2xlarge", 467.8, 935.6, 1597, "PCIe", 128),
        ("g4dn.xlarge", None, None, 320, "PCIe", 32),
        ("g5g.xlarge", None, None, None, None, None),
        ("p3dn.24xlarge", None, None, 900, "NVLink", 300),
        ("inf1.xlarge", 64, None, 50, "NeuronLink-v1", 32),
        ("inf2.48xlarge", 190, 190, 820, "NeuronLink-v2", 192),
        ("trn1.32xlarge", 190, 190, 820, "NeuronLink-v2", 384),
        ("trn2.48xlarge", 667, 1299, 2900, "NeuronLink-v3", 1024),
    ],
)
def test_figures(
    catalogue: Catalogue,
    instance_type: str,
    bf16: float | None,
    fp8: float | None,
    gb_per_second: float | None,
    link: str | None,
    link_gb_per_second: float | None,
) -> None:
    known = performance(chip(catalogue, instance_type))
    assert (known.tflops.get("bf16"), known.tflops.get("fp8")) == (bf16, fp8)
    assert known.bandwidth_gb_per_second == gb_per_second
    assert (known.link, known.link_gb_per_second) == (link, link_gb_per_second)


def test_every_accelerator_that_can_be_had_has_a_row(catalogue: Catalogue) -> None:
    to_be_had = {
        item.accelerator.name
        for item in catalogue.select()
        if item.accelerator and not item.withdrawn and item.accelerator.kind in ("gpu", "neuron")
    }
    assert {row["accelerator"] for row in TABLE["accelerators"]} == to_be_had


def test_every_type_of_theirs_finds_it(catalogue: Catalogue) -> None:
    names = {row["accelerator"] for row in TABLE["accelerators"]}
    lost = [
        item.name
        for item in catalogue.select()
        if item.accelerator
        and item.accelerator.name in names
        and item.accelerator.fraction is None
        and not performance(item.accelerator).tflops
    ]
    assert lost == []


def test_formats_agree_with_the_features_of_the_accelerator(catalogue: Catalogue) -> None:
    for item in catalogue.select():
        accelerator = item.accelerator
        if accelerator is not None and (known := performance(accelerator)).tflops:
            assert ("bf16" in known.tflops) is accelerator.bf16, item.name
            assert ("fp8" in known.tflops) is accelerator.fp8, item.name


def test_no_figure_is_one_with_sparsity() -> None:
    """That would count it twice: 8 bits are at most twice as fast as 16, 4 bits at most 6 times (B300).

    TF32 is not faster than 16 bits.
    """
    for row in TABLE["accelerators"]:
        peaks = {name: value for name, value in row["tflops"].items() if value is not None}
        sixteen = [peaks[name] for name in SIXTEEN_BITS if name in peaks]
        assert len(set(sixteen)) <= 1, row["accelerator"]
        for name in EIGHT_BITS:
            if sixteen and name in peaks:
                assert peaks[name] <= 2.05 * sixteen[0], row["accelerator"]
        if sixteen and "nvfp4" in peaks:
            assert peaks["nvfp4"] <= 6 * sixteen[0], row["accelerator"]
        if sixteen and "tf32" in peaks:
            assert peaks["tf32"] <= sixteen[0], row["accelerator"]


def test_every_figure_has_a_dated_source() -> None:
    used: set[str] = set()
    for row in TABLE["accelerators"]:
        figures = [*row["tflops"].values(), row["bandwidth_gb_per_second"], row["link_gb_per_second"]]
        assert bool(row["sources"]) is any(figure is not None for figure in figures), row["accelerator"]
        used.update(row["sources"])
    assert used == set(TABLE["sources"])
    assert all("https://" in row["url"] for row in TABLE["sources"].values())
    fitted = r"fitted to \d+ calibration rows? of config/performance/measurements, \d{4}-\d\d-\d\d"
    for source in (row["source"] for row in (*TABLE["utilization"], *TABLE["delays"])):
        assert "https://" in source or "our choice" in source or re.fullmatch(fitted, source), source


def test_what_is_not_known_is_none(catalogue: Catalogue) -> None:
    h100 = chip(catalogue, "p5.48xlarge")
    a100 = chip(catalogue, "p4d.24xlarge")
    for accelerator in (
        chip(catalogue, "dl2q.24xlarge"),
        chip(catalogue, "p2.xlarge"),
        replace(h100, name="H999"),
        replace(a100, memory_gib_each=None),
        replace(a100, memory_gib_each=60.0),
    ):
        known = performance(accelerator)
        assert (known.peak_tflops("bf16"), known.bandwidth_gb_per_second) == (None, None)


def test_a_fraction_of_a_gpu_has_no_known_speed(catalogue: Catalogue) -> None:
    known = performance(chip(catalogue, "g6f.xlarge"))
    assert known.peak_tflops("fp16") is None
    assert known.bandwidth_gb_per_second is None


@in_one_test(
    ("instance_type", "weights", "computed_in", "tflops"),
    [
        ("p5.48xlarge", "bf16", "bf16", 989),
        ("p5.48xlarge", "fp16", "fp16", 989),
        ("p5.48xlarge", "fp8", "fp8", 1978),
        ("p5.48xlarge", "int8", "bf16", 989),
        ("p5.48xlarge", "int4", "bf16", 989),
        ("p5.48xlarge", "fp32", "fp32", 66.9),
        ("p5.48xlarge", "nvfp4", "bf16", 989),
        ("p6-b200.48xlarge", "nvfp4", "nvfp4", 9000),
        ("p6-b200.48xlarge", "mxfp4", "bf16", 2250),
        ("g7e.2xlarge", "nvfp4", "nvfp4", 2000),
        ("p4d.24xlarge", "fp8", "bf16", 312),
        ("g4dn.xlarge", "bf16", "fp16", 65),
        ("g4dn.xlarge", "int4", "fp16", 65),
        ("g5g.xlarge", "fp16", "fp16", None),
        ("inf1.xlarge", "fp32", "bf16", 64),
        ("trn2.48xlarge", "fp8", "fp8", 1299),
        ("dl2q.24xlarge", "fp16", None, None),
    ],
)
def test_peak_by_the_format_of_the_weights(
    catalogue: Catalogue, instance_type: str, weights: str, computed_in: str | None, tflops: float | None
) -> None:
    known = performance(chip(catalogue, instance_type))
    assert known.compute_format(weights) == computed_in
    assert known.peak_tflops(weights) == tflops


@in_one_test(
    ("instance_type", "weights", "tflops"),
    [
        ("p4d.24xlarge", "int8", 624),
        ("p4d.24xlarge", "fp16", 312),
        ("p4d.24xlarge", "int4", 312),
        ("g4dn.xlarge", "int8", 130),
        ("g5.xlarge", "int8", 70),  # no figure for int8
        ("p6-b300.48xlarge", "int8", 2250),  # slower in int8 than in 16 bits
    ],
)
def test_encoders_compute_in_int8_where_that_is_faster(
    catalogue: Catalogue, instance_type: str, weights: str, tflops: float
) -> None:
    assert performance(chip(catalogue, instance_type)).peak_of_encoder(weights) == tflops


def test_shares_lie_within_what_was_measured() -> None:
    for row in TABLE["utilization"]:
        assert 0 < row["share"] < 1, row
        assert ("rows" in row) is (row["how"] == "fitted"), row
        assert ("measured_on" in row) is (row["how"] in ("published", "derived")), row
        if "low" in row and "high" in row:
            assert row["low"] <= row["share"] <= row["high"]
    assert utilization("training", "gaudi") is None
    assert utilization("cooking", "gpu") is None
    assert delay("cooking", "gpu") is None


def test_a_row_for_a_chip_comes_before_that_for_its_kind() -> None:
    a100, other = utilization("training", "gpu", "A100"), utilization("training", "gpu", "L40S")
    assert a100 is not None
    assert "A100" in a100.get("accelerators", ())
    assert other == utilization("training", "gpu")
    assert delay("layer", "neuron", "Trainium2") != delay("layer", "neuron", "Trainium") == delay("layer", "neuron")


def test_rows_name_known_chips_once() -> None:
    known = {row["accelerator"] for row in TABLE["accelerators"]}
    for rows in (TABLE["utilization"], TABLE["delays"]):
        named = [(row["step"], row["kind"], each) for row in rows for each in row.get("accelerators", [None])]
        assert len(set(named)) == len(named)
        assert {each for _, _, each in named} - {None} <= known


def test_every_step_has_a_share_for_gpus_and_neuron() -> None:
    for step in ("training", "training attention", "training experts", "prefill", "encoder", "decode"):
        assert utilization(step, "gpu"), step
        assert utilization(step, "neuron"), step
