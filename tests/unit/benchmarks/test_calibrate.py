"""Estimates next to measurements: hand-computed rows, the halves, the report, and floors that may only rise."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

from benchmarks import calibrate
from benchmarks.calibrate import PAGE, WIDTH, WITHIN, by_chip, by_kind, report, reserved, shares
from benchmarks.estimates import HALVES, half, outcomes
from benchmarks.goals import WHY, explains, far_off, far_off_reasons, farthest, goals
from benchmarks.report import BEGIN, END
from eks_hardware import facts
from eks_hardware.advisor.measured.estimates import model_shape, outcome
from eks_hardware.advisor.measured.outcomes import MEMORY, Outcome
from eks_hardware.catalogue.performance import delay, utilization
from eks_hardware.facts.schemas.measurements import MeasurementRow
from helpers.cases import in_one_test
from helpers.paths import ROOT
from helpers.speeds import delay_of, share_of

CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
FLOORS: dict[str, list[float]] = json.loads(calibrate.FLOORS.read_text(encoding="utf-8"))["reserved"]


@cache
def found() -> tuple[Outcome, ...]:
    return outcomes()


# --- the ratchet


def test_there_is_a_floor_for_every_kind() -> None:
    assert set(by_kind(reserved(found()))) == set(FLOORS)


@in_one_test("kind", FLOORS)
def test_reserved_rows_do_not_get_worse(kind: str) -> None:
    now = by_kind(reserved(found()))[kind].within
    worse = {
        f"within {factor:g}x": f"{share:.3f}, floor {floor:g}"
        for factor, share, floor in zip(WITHIN, now, FLOORS[kind], strict=True)
        if share < floor
    }
    assert worse == {}


def test_floors_only_rise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    floors, page = tmp_path / "accuracy.json", tmp_path / "accuracy.md"
    floors.write_text(json.dumps({"reserved": {"decode": [0.0, 1.0, 0.0]}}), encoding="utf-8")
    page.write_text(f"# Title\n\n{BEGIN}\n{END}\n\nMore.\n", encoding="utf-8")
    monkeypatch.setattr(calibrate, "FLOORS", floors)
    monkeypatch.setattr(calibrate, "PAGE", page)
    calibrate.accept(found())
    written = json.loads(floors.read_text(encoding="utf-8"))["reserved"]
    assert written == {**FLOORS, "decode": [FLOORS["decode"][0], 1.0, FLOORS["decode"][2]]}
    assert page.read_text(encoding="utf-8") == f"# Title\n\n{BEGIN}\n\n{report(found())}\n\n{END}\n\nMore.\n"


# --- what the guides say


def test_memory_errs_by_as_much_as_the_guide_says() -> None:
    guide = (ROOT / "docs" / "guides" / "check-model.md").read_text(encoding="utf-8")
    said = re.search(
        r"published runs need (\S+) to (\S+) times the estimate, and three quarters of them at most (\S+) times", guide
    )
    assert said is not None
    needed = [1 / each.ratio for each in found() if each.ratio and each.row["kind"] in MEMORY]
    assert float(said[1]) == pytest.approx(min(needed), abs=0.01)
    assert float(said[2]) == pytest.approx(max(needed), abs=0.01)
    assert float(said[3]) == pytest.approx(sorted(needed)[3 * len(needed) // 4], abs=0.01)


@in_one_test(
    ("sentence", "pattern", "least", "most"),
    [
        ("Small mixtures of experts reach 0.4 to 0.6 times the estimate", "trt10-b200-qwen3-30b-*", 0.4, 0.6),
        (
            "Inference 1.0 (2023) reaches 0.3 to 0.6 times the estimate",
            "sagemaker-p4d-8-llama-2-*[37]b-fp16-*",
            0.25,
            0.6,
        ),
        ("takes 2.7 times as long as estimated", "inf2-mistral-7b-b1-4096-4096-ttft", 0.36, 0.38),
        ("Llama on the same devices does not", "inf2-llama-*-b1-*-ttft", 0.9, 1.6),
        ("with one sequence per pass on B200 reaches less than half", "bridge-*[!g]b200-qwen3-30b-*fp8", 0.0, 0.5),
        ("With eight sequences on B300, it reaches more", "bridge-*b300-qwen3-30b-mxfp8", 1.0, 1.5),
        ("TensorFlow 20.06 on A100 is half as fast", "dle-tf-a100-bert-large-*-fp16", 0.45, 0.65),
    ],
)
def test_estimates_are_off_on_the_side_that_the_guide_says(
    sentence: str, pattern: str, least: float, most: float
) -> None:
    """Measured speed / estimate of the rows behind a sentence of the guide."""
    assert sentence in " ".join(PAGE.read_text(encoding="utf-8").split())
    ratios = {
        each.row["id"]: 1 / each.speed_ratio
        for each in found()
        if each.speed_ratio and fnmatchcase(each.row["id"], pattern)
    }
    assert ratios
    assert {name: ratio for name, ratio in ratios.items() if not least <= ratio <= most} == {}


def test_the_changelog_has_the_share_of_the_goals() -> None:
    rows = {(each.what, each.goal.split()[0]): each.result for each in goals(reserved(found()))}
    share = rows["serving, GPUs", "86%"].split()[0]
    assert f"{share} of the reserved runs of servers on GPUs are within 1.5" in " ".join(CHANGELOG.split())


def test_goals_that_are_met_stay_met() -> None:
    missed = {each.what for each in goals(reserved(found())) if each.met == "no"}
    assert missed <= {
        "memory, largest error",
        "training, B200",
        "training, GB200",
        "training, Trainium",
    }


def test_every_goal_that_is_not_met_says_why_with_its_rows() -> None:
    missed = [each for each in goals(reserved(found())) if each.met == "no"]
    assert {each.what for each in missed} == set(WHY), "a reason for each, and none for goals that are met"
    text = " ".join(report(found()).split())
    for each in missed:
        assert WHY[each.what] in text
        assert all(f"{one.row['id']} {one.speed_ratio:.2f}" in text for one in farthest(each.found))


def test_every_reserved_row_that_is_far_off_has_one_reason_in_the_report() -> None:
    far, reasons = far_off(reserved(found())), far_off_reasons()["rows"]
    explained = {each.row["id"]: sum(explains(reason, each) for reason in reasons) for each in far}
    assert {row: count for row, count in explained.items() if count != 1} == {}
    assert [reason["rows"] for reason in reasons if not any(explains(reason, each) for each in far)] == []
    text = " ".join(report(found()).split())
    assert all(f"{each.row['id']} {each.speed_ratio:.2f}" in text for each in far)
    assert all(reason["why"] in text and reason.get("source", "") in text for reason in reasons)


def test_what_counts_as_far_off() -> None:
    row = case(kind="decode", unit="ms per token", input_tokens=10, output_tokens=2)
    memory = case(kind="memory-training", unit="GB", input_tokens=10)
    near = [Outcome(row=row, chip="A100", estimate=1.5), Outcome(row=memory, chip="A100", estimate=1.2)]
    far = [Outcome(row=row, chip="A100", estimate=0.6), Outcome(row=memory, chip="A100", estimate=0.7)]
    assert far_off([*near, *far, Outcome(row=row, chip="A100", estimate=None)]) == far


def test_every_chip_whose_median_is_off_has_a_reason() -> None:
    off = {chip for chip, each in by_chip(reserved(found())).items() if not 0.9 <= float(each.cells[1]) <= 1.1}
    assert off == {each["chip"] for each in far_off_reasons()["chips"]}


# --- hand-computed rows

TABLE = 128_256 * 4096  # of the input: a token takes one row of it
MATRICES = 8_030_261_248 - TABLE
READING = share_of("decode") * 3350e9
READ = MATRICES * 2 / READING + 32 * delay_of("layer")  # seconds to read all weights, layer by layer
KV = 32 * 2 * 8 * 128 * 2  # bytes of a token in the cache
DECODE = {"kind": "decode", "unit": "ms per token", "input_tokens": 10, "output_tokens": 2}


def case(**said: Any) -> MeasurementRow:
    """Return a row, by default of Llama 3.1 8B in BF16 on one H100."""
    usual = {"id": "case", "model": "Llama 3.1 8B", "instance_type": "p5.48xlarge", "devices": 1, "precision": "bf16"}
    return cast("MeasurementRow", {**usual, "sequences": 1, "figure": 1.0, **said})


def estimated(**said: Any) -> float:
    value = outcome(case(**said)).estimate
    assert value is not None
    return value


def test_a_token_takes_one_read_of_the_weights_and_the_cache() -> None:
    expected = READ + delay_of("sequence") + KV * (1000 + 500 / 2) / READING
    assert estimated(**{**DECODE, "input_tokens": 1000, "output_tokens": 500}) == pytest.approx(
        expected * 1000, rel=1e-3
    )


def test_throughput_counts_prompts_of_the_measured_length() -> None:
    row = {"kind": "serving-throughput", "unit": "output tokens/s", "sequences": 8}
    # Four prompts of 2048 tokens are read in one pass. Only the last token of each passes the output.
    inner = 2 * (MATRICES - TABLE) + 2 * 32 * 4096 * 2048
    prompt = inner * 2048 / (share_of("prefill", "gpu", "H100") * 989e12) + 32 * delay_of("layer") / 4
    step = READ + 8 * delay_of("sequence") + 8 * KV * (2048 + 64) / READING
    expected = 128 / (prompt + 128 * step / 8)
    assert estimated(**row, input_tokens=2048, output_tokens=128) == pytest.approx(expected, rel=1e-2)


def test_an_fp8_cache_is_read_in_half_the_time() -> None:
    row = {**DECODE, "input_tokens": 100_000, "output_tokens": 2}
    assert estimated(**row) - estimated(**row, kv_cache="fp8") == pytest.approx(
        KV / 2 * 100_001 / READING * 1000, rel=1e-3
    )


def test_devices_share_the_reads_of_a_tensor_parallel_model() -> None:
    """Layers take the same time on four devices as on one, and their results are exchanged."""
    row = delay("exchange", "gpu", "H100")
    assert row is not None
    exchanged = row["microseconds"] / 1e6 + 2 * 1.5 * 4096 * 2 / (row.get("link_share", 0) * 450e9)
    expected = MATRICES * 2 / READING / 4 + 32 * (delay_of("layer") + exchanged) + delay_of("sequence")
    assert estimated(**DECODE, devices=4, tensor=4) == pytest.approx(expected * 1000, rel=1e-3)


def test_training_is_six_flops_per_parameter_and_token() -> None:
    row = {"kind": "training-speed", "input_tokens": 1, "devices": 8, "sharding": "zero-2"}
    known = utilization("training", "gpu", "H100")
    assert known is not None
    expected = 8 * known["share"] * 4096 / (4096 + known.get("half_width", 0)) * 989e12 / (6 * MATRICES)
    assert estimated(**row, unit="tokens/s") == pytest.approx(expected, rel=1e-3)
    assert estimated(**row, unit="tokens/s per device") == pytest.approx(expected / 8, rel=1e-3)
    recomputed = estimated(**row, unit="tokens/s", checkpointing=True)
    assert recomputed == pytest.approx(expected * 6 / 8, rel=1e-3)


def test_an_encoder_is_estimated_per_batch_and_per_second() -> None:
    hardware = {"model": "BERT base", "instance_type": "g4dn.xlarge", "precision": "fp16"}
    batch = {**hardware, "kind": "encoder-throughput", "sequences": 32, "input_tokens": 128}
    tables = (30522 + 512) * 768
    work = (2 * (109_482_240 - tables) + 4 * 12 * 768 * 128) * 32 * 128
    expected = work / (share_of("encoder", "gpu", "T4") * 65e12) + 12 * delay_of("encoder layer", "gpu", "T4")
    assert estimated(**batch, unit="ms per batch") == pytest.approx(expected * 1000, rel=1e-3)
    assert estimated(**batch, unit="sequences/s") == pytest.approx(32 / expected, rel=1e-3)


def test_memory_is_that_of_one_device_in_the_unit_of_the_row() -> None:
    row = {"kind": "memory-training", "input_tokens": 1024, "devices": 8, "sharding": "zero-3", "checkpointing": True}
    gib, gb = estimated(**row, unit="GiB"), estimated(**row, unit="GB")
    assert gb == pytest.approx(gib * 2**30 / 1e9)
    states = 16 * 8.03e9 / 8 / 2**30
    assert states < gib < states + 10


def test_it_is_wrong_about_what_fits_if_the_source_disagrees() -> None:
    row = {"kind": "fits", "unit": "fits", "input_tokens": 10, "output_tokens": 10}
    assert outcome(case(**row, figure=True)).within(1.25)
    assert not outcome(case(**row, figure=False)).within(2)
    assert outcome(case(**row, figure=False, model="Llama 3.1 405B")).within(1.25)


def test_a_wrong_estimate_is_noticed() -> None:
    now = estimated(**DECODE)
    good, bad = (outcome(case(**DECODE, figure=now * factor)) for factor in (1.1, 1.6))
    assert (good.within(1.25), bad.within(1.5), bad.within(2)) == (True, False, True)
    assert shares([good, bad]).within == (0.5, 0.5, 1.0)


def test_as_many_sequences_run_as_fit() -> None:
    row = {"kind": "serving-throughput", "unit": "output tokens/s", "input_tokens": 10, "output_tokens": 100}
    few = estimated(**row, sequences=None, requests=16)
    assert few == estimated(**row, sequences=16), "all of them, if they fit"
    many = estimated(**row, sequences=None, requests=10**6)
    assert few < many == estimated(**row, sequences=None, requests=10**5)


# --- rows without an estimate


def test_a_row_that_the_advisor_cannot_express_says_why() -> None:
    row = {"kind": "training-speed", "unit": "tokens/s", "input_tokens": 8}
    assert outcome(case(**row, not_expressed="training in FP8")).reason == "training in FP8"
    cpu = outcome(case(kind="encoder-throughput", unit="ms per batch", instance_type="c6i.2xlarge", devices=0))
    assert (cpu.estimate, cpu.chip, cpu.reason) == (None, "CPU", "the speed of CPUs is unknown")


# --- halves


@in_one_test(
    ("identity", "expected"),
    [
        ("tinyllama-fits", "calibration"),
        ("trn1-train-vit-base", "calibration"),
        ("nim18-h100-70b-c5-tps", "reserved"),
        ("nim18-h100-70b-c50-tps", "reserved"),
    ],
)
def test_the_half_is_the_same_on_every_machine(identity: str, expected: str) -> None:
    assert half(identity) == expected


def test_about_half_of_the_rows_are_reserved() -> None:
    assert 0.4 < len(reserved(found())) / len(found()) < 0.6


# --- the report


def test_it_fits_100_columns() -> None:
    assert [line for line in report(found()).splitlines() if len(line) > WIDTH] == []


def test_it_lists_both_halves_and_every_row_without_an_estimate() -> None:
    text = report(found())
    assert all(f"**{name.capitalize()}**" in text for name in HALVES)
    assert [each.row["id"] for each in found() if each.estimate is None and each.row["id"] not in text] == []
    assert "Chips without a row that has an estimate: L4," in text


def test_single_rows(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["calibrate", "--rows", "tinyllama-*"])
    assert calibrate.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines[2:]] == ["tinyllama-speed", "tinyllama-fits"]


def test_the_page_quotes_the_report(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        calibrate.accept(found())
    quoted = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    assert quoted.strip() == report(found())


# --- models


def test_models_have_about_the_parameters_of_their_names() -> None:
    sizes = {"Llama 2 13B": 13.0, "Qwen3 235B-A22B": 235, "GPT-OSS 120B": 117, "MPT-7B": 6.66, "GPT 175B": 175}
    for name, billions in sizes.items():
        assert model_shape(name).parameters / 1e9 == pytest.approx(billions, rel=0.01), name
    assert set(sizes) <= set(facts.measured_models()["models"])
