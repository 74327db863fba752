"""The JSON Schema of strategy files, for editors; ``python -m eks_hardware.models.json_schema`` writes it."""

from __future__ import annotations

import json

from eks_hardware import data
from eks_hardware.models import Strategy

PATH = data.FOLDER / "strategy.schema.json"


def render() -> str:
    """Return the schema as text, identical for every run."""
    schema = Strategy.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "eks-hardware strategy"
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    PATH.write_text(render(), encoding="utf-8")
