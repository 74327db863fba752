"""Properties of ``tests/unit/advisor/test_hf_config.py`` with random input."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from eks_hardware.advisor.model import Shape, ShapeError
from eks_hardware.advisor.shapes.hf_config import from_hf_config
from helpers.advisor import CONFIGS, config_file


def shape_or_code(content: object) -> Shape | str:
    try:
        return from_hf_config(content)
    except ShapeError as error:
        return error.code


_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=200, deadline=None)
@given(name=st.sampled_from([file.stem for file in sorted(CONFIGS.glob("*.json"))]), data=st.data())
def test_junk_in_any_field_is_a_coded_error_or_a_shape(name: str, data: st.DataObject) -> None:
    content = json.loads(config_file(name).read_text())
    content[data.draw(st.sampled_from(sorted(content)))] = data.draw(_JUNK)
    found = shape_or_code(content)
    if isinstance(found, str):
        assert found in ("HF_CONFIG_FIELD", "MODEL_TYPE_UNKNOWN")
    else:
        assert 1 <= found.active_parameters <= found.parameters <= 10**15
        assert min(found.layers, found.hidden_size, found.attention_heads, found.kv_heads, found.head_dim) >= 1
