"""The shape of a described model: stated values take precedence, missing ones are estimated and reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eks_hardware import facts
from eks_hardware.advisor.model import ShapeError
from eks_hardware.advisor.shapes.shape import counted, kind_of, shape_of
from eks_hardware.models.workload import ModelShape
from helpers.advisor import CONFIGS, public_shape
from helpers.cases import in_one_test

PUBLIC = {row["name"]: row for row in facts.model_types()["public"]["rows"]}


@in_one_test("name", PUBLIC)
def test_rows_of_public_models_are_those_of_their_configurations(name: str) -> None:
    row, shape = PUBLIC[name], public_shape(name.lower())
    for field in (
        "parameters",
        "layers",
        "hidden_size",
        "attention_heads",
        "kv_heads",
        "head_dim",
        "vocabulary",
        "intermediate_size",
    ):
        assert row[field] == getattr(shape, field), field


@in_one_test(
    ("parameters", "like"),
    [
        ("8B", "Llama-3.1-8B"),
        ("7B", "Llama-3.1-8B"),
        ("70B", "Llama-3.1-70B"),
        ("1000B", "Llama-3.1-405B"),
        ("1M", "SmolLM2-135M"),
    ],
)
def test_a_size_takes_the_form_of_the_nearest_model(parameters: str, like: str) -> None:
    shape = shape_of(ModelShape(parameters=parameters))
    assert (shape.layers, shape.hidden_size, shape.kv_heads) == tuple(
        PUBLIC[like][name] for name in ("layers", "hidden_size", "kv_heads")
    )
    assert like in shape.estimated[0]
    assert shape.generates is None
    assert 0 <= (shape.embedding_parameters or 0) <= shape.parameters // 3


def test_given_values_are_kept_and_nothing_is_estimated() -> None:
    said: dict[str, Any] = {"layers": 32, "hidden_size": 4096, "attention_heads": 32, "kv_heads": 8, "head_dim": 128}
    shape = shape_of(ModelShape(parameters="7B", architecture="llama", **said))
    assert {name: getattr(shape, name) for name in said} == said
    assert not shape.estimated
    assert shape.generates is True


@in_one_test(
    ("architecture", "writes"), [("bert", False), ("vit", False), ("t5", True), ("llama", True), ("novel", None)]
)
def test_the_architecture_says_whether_it_writes(architecture: str, writes: bool | None) -> None:
    shape = shape_of(ModelShape(parameters="100M", architecture=architecture))
    assert shape.generates is writes
    assert (shape.layers_with_cache == 0) is (writes is False)
    assert any(architecture in each for each in shape.estimated) is (kind_of(architecture) is None)


def test_given_heads_share_evenly_with_derived_ones() -> None:
    few, many = (
        shape_of(ModelShape.model_validate({"parameters": "8B", **said}))
        for said in ({"kv_heads": 64}, {"attention_heads": 20})
    )
    assert (few.attention_heads, few.kv_heads) == (64, 64)
    assert (many.attention_heads, many.kv_heads) == (20, 20)


def test_an_option_overrides_the_configuration() -> None:
    shape = shape_of(ModelShape(hf_config="llama-3.1-8b.json", parameters="8.5B", layers=16), folder=CONFIGS)
    assert (shape.parameters, shape.active_parameters, shape.layers, shape.layers_with_cache) == (
        8_500_000_000,
        8_500_000_000,
        16,
        16,
    )
    assert shape.source == "config.json and the workload"


def test_an_architecture_overrides_that_of_a_public_model() -> None:
    shape = shape_of(ModelShape(name="llama-3.1-8b", architecture="bert"))
    assert (shape.generates, shape.kv_values(1000)) == (False, 0)
    same = shape_of(ModelShape(name="llama-3.1-8b", architecture="llama"))
    assert same.kv_values(1000) == shape_of(ModelShape(name="llama-3.1-8b")).kv_values(1000) > 0
    assert shape_of(ModelShape(name="bert-large", architecture="llama")).kv_values(1000) > 0


def test_a_mixture_keeps_its_share_of_active_parameters() -> None:
    plain = public_shape("mixtral-8x7b")
    shape = shape_of(ModelShape(hf_config="mixtral-8x7b.json", parameters="93B"), folder=CONFIGS)
    assert shape.active_parameters / shape.parameters == pytest.approx(plain.active_parameters / plain.parameters)


@pytest.mark.parametrize(
    ("said", "field"), [({"active_parameters": "9B"}, "active_parameters"), ({"kv_heads": 5}, "kv_heads")]
)
def test_what_contradicts_the_configuration_is_refused(said: dict[str, object], field: str) -> None:
    with pytest.raises(ShapeError) as caught:
        shape_of(ModelShape.model_validate({"hf_config": "llama-3.1-8b.json", **said}), folder=CONFIGS)
    assert (caught.value.code, caught.value.field) == ("HF_CONFIG_FIELD", field)


@in_one_test(
    ("said", "field"),
    [
        # 32 layers of (2 x 7 x 128 x (1 + 8) + 3 x 7 x 24), negligible compared with 8e9.
        ({"hidden_size": 7}, "hidden_size"),
        # 7 layers of 218e6 and 1.05e9 in tables: 2.6e9.
        ({"layers": 7}, "layers"),
        ({"layers": 1000, "hidden_size": 4096}, "layers"),
        ({"layers": 32, "hidden_size": 4096, "parameters": "80B"}, "layers"),
        ({"hf_config": "llama-3.1-8b.json", "parameters": None, "layers": 7}, "layers"),
        ({"hf_config": "mixtral-8x7b.json", "parameters": None, "hidden_size": 7}, "hidden_size"),
    ],
)
def test_dimensions_that_do_not_make_the_parameters_are_refused(said: dict[str, object], field: str) -> None:
    with pytest.raises(ShapeError, match="layers of width") as caught:
        shape_of(ModelShape.model_validate({"parameters": "8B", **said}), folder=CONFIGS)
    assert (caught.value.code, caught.value.field) == ("MODEL_SIZE", field)


@in_one_test("name", sorted(each.stem for each in CONFIGS.glob("*.json")))
@in_one_test("fields", [("layers", "hidden_size"), ("layers",), ("hidden_size",)])
def test_the_dimensions_of_public_models_are_not_refused(name: str, fields: tuple[str, ...]) -> None:
    public = public_shape(name)
    said: dict[str, object] = {each: getattr(public, each) for each in fields}
    if public.active_parameters < public.parameters:
        said["active_parameters"] = str(public.active_parameters)
    shape = shape_of(ModelShape.model_validate({"parameters": str(public.parameters), **said}))
    assert shape.parameters == public.parameters


def test_parameters_are_counted_from_the_dimensions() -> None:
    """Llama 3.1 8B, without its norms: 65 vectors of 4096."""
    shape = public_shape("llama-3.1-8b")
    assert counted(shape) == shape.parameters - 65 * 4096


def test_a_missing_configuration(tmp_path: Path) -> None:
    with pytest.raises(ShapeError) as caught:
        shape_of(ModelShape(hf_config="none.json"), folder=tmp_path)
    assert caught.value.code == "HF_CONFIG_MISSING"
