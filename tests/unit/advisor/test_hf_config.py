"""Reading a config.json: published parameter counts, correct caches, and a coded error for every invalid file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eks_hardware import facts
from eks_hardware.advisor.model import ShapeError
from eks_hardware.advisor.shapes.hf_config import from_hf_config, read_hf_config
from helpers.advisor import config_file, public_shape
from helpers.cases import in_one_test

# Numbers of elements from the checkpoints' own metadata (safetensors).
PUBLISHED = {
    "bert-base": 109_482_240,
    "deepseek-v3": 671_026_419_200,  # without the module that predicts a second token
    "distilbert-base": 66_362_880,
    "falcon-40b": 41_303_293_952,
    "falcon-7b": 6_921_720_704,
    "gemma-2-9b": 9_241_705_984,
    "gemma-3-27b": 27_432_406_640,
    "gpt-oss-20b": 20_914_757_184,
    "gpt2": 124_439_808,
    "llama-2-7b": 6_738_415_616,
    "llama-3.1-405b": 405_853_388_800,
    "llama-3.1-70b": 70_553_706_496,
    "llama-3.1-8b": 8_030_261_248,
    "llama-3.2-1b": 1_235_814_400,
    "llama-3.2-3b": 3_212_749_824,
    "mistral-7b": 7_241_732_096,
    "mixtral-8x7b": 46_702_792_704,
    "opt-6.7b": 6_658_473_984,
    "phi-2": 2_779_683_840,
    "phi-3-mini": 3_821_079_552,
    "pythia-6.9b": 6_857_302_016,
    "qwen2.5-0.5b": 494_032_768,
    "qwen2.5-14b": 14_770_033_664,
    "qwen2.5-32b": 32_763_876_352,
    "qwen2.5-7b": 7_615_616_512,
    "qwen3-30b-a3b": 30_532_122_624,
    "qwen3-8b": 8_190_735_360,
    "roberta-base": 124_645_632,
    "smollm2-135m": 134_515_008,
    "t5-base": 222_903_552,
    "t5-v1.1-base": 247_577_856,
    "vit-base": 86_389_248,
}


@in_one_test("name", PUBLISHED)
def test_parameters_are_those_published(name: str) -> None:
    assert public_shape(name).parameters == PUBLISHED[name]
    assert not public_shape(name).estimated


@in_one_test(
    ("name", "billions"), [("mixtral-8x7b", 12.9), ("deepseek-v3", 37), ("qwen3-30b-a3b", 3.3), ("llama-3.1-8b", 8.03)]
)
def test_a_token_of_a_mixture_uses_some_of_them(name: str, billions: float) -> None:
    assert public_shape(name).active_parameters / 1e9 == pytest.approx(billions, rel=0.03)


@in_one_test(
    ("name", "width", "full", "windowed", "window"),
    [
        ("llama-3.1-8b", 2 * 8 * 128, 32, 0, None),
        ("llama-2-7b", 2 * 32 * 128, 32, 0, None),
        ("falcon-7b", 2 * 1 * 64, 32, 0, None),  # multi-query
        ("deepseek-v3", 512 + 64, 61, 0, None),  # latent: the compressed part, and the part with positions
        ("gemma-2-9b", 2 * 8 * 256, 21, 21, 4096),
        ("gemma-3-27b", 2 * 16 * 128, 10, 52, 1024),
        ("gpt-oss-20b", 2 * 8 * 64, 12, 12, 128),
        ("mistral-7b", 2 * 8 * 128, 0, 32, 4096),
        ("qwen2.5-7b", 2 * 4 * 128, 28, 0, None),  # its window is disabled
        ("bert-base", 2 * 12 * 64, 0, 0, None),
        ("t5-base", 2 * 12 * 64, 12, 0, None),  # only the decoder's layers
    ],
)
def test_caches(name: str, width: int, full: int, windowed: int, window: int | None) -> None:
    shape = public_shape(name)
    found = (shape.kv_width, shape.layers_with_cache, shape.layers_with_window, shape.window)
    assert found == (width, full, windowed, window)


def test_a_window_bounds_the_cache_of_its_layers() -> None:
    shape = public_shape("gemma-2-9b")
    per_layer = 2 * 8 * 256
    assert shape.kv_values(1000) == 42 * 1000 * per_layer
    assert shape.kv_values(8192) == (21 * 8192 + 21 * 4096) * per_layer


@in_one_test(("name", "writes"), [("llama-3.1-8b", True), ("t5-base", True), ("bert-base", False), ("vit-base", False)])
def test_whether_it_writes_tokens(name: str, writes: bool) -> None:
    assert public_shape(name).generates is writes


def test_the_vision_part_is_counted() -> None:
    """The text part's fields can be nested or not. Qwen2-VL's name for the width is embed_dim."""
    text = facts.public_models()["models"]["qwen2.5-7b"]["config"]
    vision = {"depth": 32, "hidden_size": 1280, "intermediate_size": 5120}
    of_text = from_hf_config(text).parameters
    of_vision = 32 * (4 * 1280**2 + 2 * 1280 * 5120)
    older = {"depth": 32, "embed_dim": 1280, "hidden_size": 3584}
    for config in ({**text, "vision_config": vision}, {"text_config": text, "vision_config": vision}):
        assert from_hf_config(config).parameters == of_text + of_vision
    assert from_hf_config({**text, "vision_config": older}).parameters == of_text + of_vision
    unknown = from_hf_config({**text, "vision_config": {"hidden_size": 1280}})
    assert (unknown.parameters, unknown.estimated) == (
        of_text,
        ("the vision encoder is not counted: its dimensions are missing",),
    )


@in_one_test(
    ("quantization", "found"),
    [
        ({"quant_method": "gptq", "bits": 4}, "int4"),
        ({"quant_method": "gptq", "bits": 8}, "int8"),
        ({"quant_method": "awq", "w_bit": 4}, "int4"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "int4"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8"),
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "fbgemm_fp8"}, "fp8"),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"a": {"weights": {"num_bits": 8, "type": "float"}}},
            },
            "fp8",
        ),
        (
            {"quant_method": "compressed-tensors", "config_groups": {"a": {"weights": {"num_bits": 8, "type": "int"}}}},
            "int8",
        ),
        (
            {"quant_method": "compressed-tensors", "config_groups": {"a": {"weights": {"num_bits": 4, "type": "int"}}}},
            "int4",
        ),
        (None, None),
    ],
)
def test_quantized_checkpoints(quantization: Any, found: str | None) -> None:
    assert from_hf_config(changed_config(quantization_config=quantization)).quantized_to == found


def test_an_unknown_quantization_is_reported() -> None:
    shape = from_hf_config(changed_config(quantization_config={"quant_method": "aqlm"}))
    assert shape.quantized_to is None
    assert "aqlm" in shape.estimated[0]


def test_quantized_files_have_the_same_shape_otherwise() -> None:
    plain = public_shape("llama-3.1-8b")
    for name, quantized_to in (("awq", "int4"), ("gptq", "int4"), ("fp8", "fp8")):
        assert public_shape(f"llama-3.1-8b-{name}") == replace(plain, quantized_to=quantized_to)


def test_an_unknown_type_with_all_dimensions_is_estimated_and_says_so() -> None:
    shape = from_hf_config(changed_config(model_type="brand_new"))
    assert shape.parameters == PUBLISHED["llama-3.1-8b"]
    assert "brand_new" in shape.estimated[0]


# --- invalid files


def changed_config(**said: Any) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(config_file("llama-3.1-8b").read_text())
    return {**content, **said}


def config_without(*names: str) -> dict[str, Any]:
    return {name: value for name, value in changed_config().items() if name not in names}


@in_one_test(
    ("content", "code", "word"),
    [
        ([], "HF_CONFIG_JSON", "object"),
        ("llama", "HF_CONFIG_JSON", "object"),
        (None, "HF_CONFIG_JSON", "object"),
        ({}, "MODEL_TYPE_UNKNOWN", "llama"),
        ({"model_type": "lama"}, "MODEL_TYPE_UNKNOWN", "did you mean llama"),
        ({"model_type": "resnet"}, "MODEL_TYPE_UNKNOWN", "resnet"),
        (changed_config(model_type=7), "HF_CONFIG_FIELD", "model_type"),
        (changed_config(hidden_size=10**12), "HF_CONFIG_FIELD", "hidden_size"),
        (changed_config(num_hidden_layers=-1), "HF_CONFIG_FIELD", "num_hidden_layers"),
        (changed_config(num_hidden_layers=0), "HF_CONFIG_FIELD", "num_hidden_layers"),
        (changed_config(num_hidden_layers=32.5), "HF_CONFIG_FIELD", "num_hidden_layers"),
        (changed_config(num_hidden_layers="32"), "HF_CONFIG_FIELD", "num_hidden_layers"),
        (changed_config(num_hidden_layers=True), "HF_CONFIG_FIELD", "num_hidden_layers"),
        (changed_config(vocab_size=float("nan")), "HF_CONFIG_FIELD", "vocab_size"),
        (changed_config(num_key_value_heads=7), "HF_CONFIG_FIELD", "multiple of 7"),
        (changed_config(tie_word_embeddings="yes"), "HF_CONFIG_FIELD", "tie_word_embeddings"),
        (
            changed_config(hidden_size=10**6, num_hidden_layers=10_000, intermediate_size=10**8),
            "HF_CONFIG_FIELD",
            "parameters",
        ),
        (changed_config(quantization_config="awq"), "HF_CONFIG_FIELD", "quantization_config"),
        (config_without("vocab_size"), "HF_CONFIG_FIELD", "vocab_size"),
        (config_without("hidden_size"), "HF_CONFIG_FIELD", "hidden_size"),
        (changed_config(kv_lora_rank="x"), "HF_CONFIG_FIELD", "kv_lora_rank"),
        ({"text_config": {"model_type": "llama"}}, "HF_CONFIG_FIELD", "hidden size"),
    ],
)
def test_wrong_content(content: object, code: str, word: str) -> None:
    with pytest.raises(ShapeError, match=word) as caught:
        from_hf_config(content)
    assert caught.value.code == code


@in_one_test(
    ("text", "code"),
    [
        ("", "HF_CONFIG_JSON"),
        ("{", "HF_CONFIG_JSON"),
        ("[" * 100_000, "HF_CONFIG_JSON"),
        ('{"model_type": "llama", "hidden_size": ' + "9" * 10_000 + "}", "HF_CONFIG_JSON"),
        ("\x00", "HF_CONFIG_JSON"),
        ('{"a": "' + "x" * (6 * 2**20) + '"}', "HF_CONFIG_UNREADABLE"),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, code: str) -> None:
    file = tmp_path / "config.json"
    file.write_text(text, encoding="utf-8")
    assert code_of(file) == code


def test_what_is_no_file(tmp_path: Path) -> None:
    assert code_of(tmp_path) == "HF_CONFIG_UNREADABLE"
    assert code_of(tmp_path / "none.json") == "HF_CONFIG_MISSING"
    assert code_of(Path("/dev/zero")) == "HF_CONFIG_UNREADABLE"
    binary = tmp_path / "model.safetensors"
    binary.write_bytes(b"\xff\xfe\x00\x01")
    assert code_of(binary) == "HF_CONFIG_JSON"


def code_of(file: Path) -> str:
    with pytest.raises(ShapeError) as caught:
        read_hf_config(file)
    return caught.value.code
