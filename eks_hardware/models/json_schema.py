"""JSON Schemas of YAML files, for editors; ``python -m eks_hardware.models.json_schema`` writes the strategy schema."""

from __future__ import annotations

import json

from pydantic import BaseModel

from eks_hardware import data
from eks_hardware.models import Strategy

PATH = data.FOLDER / "strategy.schema.json"


def render(model: type[BaseModel] = Strategy, kind: str = "strategy") -> str:
    """Return the JSON Schema of a kind of file as text, identical in every run."""
    schema = model.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = f"eks-hardware {kind}"
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    PATH.write_text(render(), encoding="utf-8")
