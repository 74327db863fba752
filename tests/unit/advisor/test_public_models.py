"""Public models by name: derived counts equal published ones, and every spelling of a name leads to its model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from eks_hardware import facts
from eks_hardware.advisor.model import ShapeError
from eks_hardware.advisor.shapes.hf_config import from_hf_config
from eks_hardware.advisor.shapes.public import _spellings, known_as, not_estimated, shape_of_name
from eks_hardware.advisor.shapes.shape import shape_of
from eks_hardware.models.workload import ModelShape
from helpers.advisor import CONFIGS, public_shape
from helpers.cases import in_one_test

MODELS = facts.public_models()["models"]
_CLOSE = 0.03


@in_one_test("name", MODELS)
def test_derived_parameters_are_the_published_ones(name: str) -> None:
    row = MODELS[name]
    derived = from_hf_config(row["config"])
    if row["parameters"] is None or abs(derived.parameters / row["parameters"] - 1) > _CLOSE:
        assert row.get("note"), f"{derived.parameters} derived, {row['parameters']} published, and no note says why"
    assert not [each for each in derived.estimated if "vision encoder" not in each]


def test_most_counts_are_exact() -> None:
    counts = [(from_hf_config(row["config"]).parameters, row["parameters"]) for row in MODELS.values()]
    assert sum(derived == published for derived, published in counts) > len(counts) / 2


@in_one_test(
    ("name", "billions"),
    [
        ("mixtral-8x7b", 12.9),
        ("deepseek-v3", 37),
        ("qwen3-30b-a3b", 3.3),
        ("llama-4-scout", 17),
        ("llama-4-maverick", 17),
        ("kimi-k2", 32),
        ("phi-3.5-moe", 6.6),
    ],
)
def test_a_token_of_a_mixture_uses_some_parameters(name: str, billions: float) -> None:
    assert shape_of_name(name).active_parameters / 1e9 == pytest.approx(billions, rel=0.03)


@in_one_test("name", sorted(each.stem for each in CONFIGS.glob("*.json") if each.stem in MODELS))
def test_shapes_are_those_of_the_model_s_own_config(name: str) -> None:
    own = public_shape(name)
    assert replace(shape_of_name(name), source=own.source, max_context_length=own.max_context_length) == own


@in_one_test(
    ("name", "full", "windowed", "window"),
    [
        ("llama-4-scout", 12, 36, 8192),
        ("gpt-oss-120b", 18, 18, 128),
        ("gemma-3-12b", 8, 40, 1024),
        ("gemma-3-1b", 4, 22, 512),
        ("command-r", 40, 0, None),
        ("whisper-large-v3-turbo", 4, 0, None),
        ("clip-vit-large-patch14", 0, 0, None),
    ],
)
def test_caches(name: str, full: int, windowed: int, window: int | None) -> None:
    shape = shape_of_name(name)
    assert (shape.layers_with_cache, shape.layers_with_window, shape.window) == (full, windowed, window)


@in_one_test(
    ("name", "parameters"),
    [
        # elements of the checkpoints, with the vision part and its projector
        ("qwen3-vl-2b", 2_127_532_032),
        ("qwen3-vl-235b-a22b", 235_670_022_896),
        ("gemma-3-27b", 27_432_406_640),
        ("llama-4-scout", 108_641_793_536),
        ("mistral-small-3.1-24b", 24_011_361_280),
    ],
)
def test_models_that_read_images_include_their_vision_part(name: str, parameters: int) -> None:
    assert shape_of_name(name).parameters == parameters


def test_models_for_embeddings_generate_nothing() -> None:
    shape = shape_of_name("intfloat/e5-mistral-7b-instruct")
    assert (shape.architecture, shape.generates, shape.layers_with_cache) == ("mistral", False, 0)
    assert shape_of_name("mistral-7b").generates is True


@in_one_test(("name", "bits"), [("deepseek-v3", "fp8"), ("gpt-oss-20b", "mxfp4"), ("llama-3.1-8b", None)])
def test_quantization(name: str, bits: str | None) -> None:
    assert shape_of_name(name).quantized_to == bits


def test_no_two_models_share_a_name() -> None:
    names = [(words, name) for name, row in MODELS.items() for words in set(_spellings(name, row))]
    owners: dict[Any, set[str]] = {}
    for words, name in names:
        owners.setdefault(words, set()).add(name)
    assert {words: found for words, found in owners.items() if len(found) > 1} == {}


@in_one_test(
    ("written", "name"),
    [
        ("llama-3.1-70b", "llama-3.1-70b"),
        ("LLAMA-3.1-70B", "llama-3.1-70b"),
        ("llama3.1-70b", "llama-3.1-70b"),
        ("llama3.1:70b", "llama-3.1-70b"),
        ("Llama 3_1 70b", "llama-3.1-70b"),
        ("meta-llama/Llama-3.1-70B-Instruct", "llama-3.1-70b"),
        ("meta-llama/Meta-Llama-3.1-70B", "llama-3.1-70b"),
        ("Qwen/Qwen3-32B", "qwen3-32b"),
        ("Qwen3-8B-Base", "qwen3-8b"),
        ("Qwen2.5-7B-Instruct", "qwen2.5-7b"),
        ("qwen2-57b", "qwen2-57b-a14b"),
        ("gemma-3-27b-it", "gemma-3-27b"),
        ("google/gemma-2-9b", "gemma-2-9b"),
        ("llama-2-13b-chat-hf", "llama-2-13b"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"),
        ("deepseek-v3", "deepseek-v3"),
        ("google-bert/bert-base-uncased", "bert-base"),
        ("roberta-base", "roberta-base"),
        ("qwen2.5-57b", None),
        ("llama-3", None),
        ("bert", None),
        ("roberta", None),
        ("70b", None),
        ("", None),
        ("-", None),
        ("x" * 10_000, None),
    ],
)
def test_spellings(written: str, name: str | None) -> None:
    assert known_as(written) == name


@in_one_test("name", MODELS)
def test_every_name_of_a_model_leads_to_it(name: str) -> None:
    row = MODELS[name]
    assert {known_as(each) for each in (name, row["repository"], *row.get("also", ()), name.upper())} == {name}


@in_one_test(
    ("written", "says"),
    [
        ("lama-3-70b", "did you mean llama-3-70b, llama-3.3-70b or llama-3.1-70b?"),
        ("gpt-oss", "did you mean gpt-oss-20b or gpt-oss-120b?"),
        ("llama-3", "did you mean llama-3.1-8b, "),
        ("zephyrous", "use a name such as llama-3.1-8b"),
    ],
)
def test_an_unknown_name(written: str, says: str) -> None:
    with pytest.raises(ShapeError) as caught:
        shape_of(ModelShape(name=written))
    assert (caught.value.code, caught.value.field) == ("MODEL_NAME", "name")
    assert caught.value.message.startswith(f'must be a public model, got "{written}"; {says}')


@in_one_test(
    ("written", "what"),
    [
        ("resnet-50", "a convolutional network"),
        ("microsoft/resnet-50", "a convolutional network"),
        ("xgboost", "a model of decision trees"),
        ("stable-diffusion-xl", "a diffusion model"),
        ("black-forest-labs/FLUX.1-dev", "a diffusion model"),
        ("facebook/wav2vec2-large", "a model of speech or sound"),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", "a model with state space or linear attention layers"),
    ],
)
def test_a_model_that_is_not_estimated_says_so(written: str, what: str) -> None:
    with pytest.raises(ShapeError) as caught:
        shape_of(ModelShape(name=written))
    assert caught.value.message == (
        f'must be a public model, got "{written}", which is {what}, for which there are no estimates; '
        "choose hardware with `eks-hardware instances`"
    )


def test_no_estimated_model_counts_as_not_estimated() -> None:
    assert [name for name in MODELS if not_estimated(name)] == []


@in_one_test(
    ("written", "name"),
    [
        ("nvidia/Llama-3.1-Nemotron-70B-Instruct-HF", "llama-3.1-70b"),
        ("mistralai/Devstral-Small-2505", "mistral-small-24b"),
        ("gpt-2", "gpt2"),
        ("bigscience/bloom", "bloom-176b"),
        ("llava-hf/llava-1.5-7b-hf", "llava-1.5-7b"),
    ],
)
def test_further_names(written: str, name: str) -> None:
    assert known_as(written) == name


def test_fields_next_to_a_name_take_precedence() -> None:
    shape = shape_of(ModelShape(name="llama-3.1-8b", parameters="8.5B", layers=33))
    assert (shape.parameters, shape.layers, shape.kv_heads) == (8_500_000_000, 33, 8)
    assert shape.source == "meta-llama/Llama-3.1-8B and the workload"
