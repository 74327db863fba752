"""``--model SIZE|FILE``: how large a model is, or its config.json."""

from __future__ import annotations

from pathlib import Path


def model_of(said: str) -> dict[str, str]:
    """``8B`` or a path, as the field ``model`` of a workload."""
    if said.endswith(".json") or Path(said).exists():
        return {"hf_config": str(Path(said).absolute())}
    return {"parameters": said}
