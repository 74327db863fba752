"""Hook of the documentation site that prepares its search index: codes and fields are found, also by their parts.

``EFA_UNSUPPORTED`` and ``public_cidrs`` are whole words of the index, so that they match exactly. A reader may type
only ``unsupported`` or ``cidrs``: the hook adds these parts as tags, which the search also reads.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig

_FIELDS = "reference/strategy.html"
# The weight of pages, by the start of their address. The Python pages repeat every field of a strategy as a heading.
_BOOSTS = {_FIELDS: 4, "reference/api/": 0.1, "reference/traps.html": 0.3, "adr/": 0.3}
_NAME = re.compile(r"[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+")
_TAG = re.compile(r"<[^>]*>")


def on_post_build(config: MkDocsConfig) -> None:
    """Weigh the pages, and tag each section with the parts of its names. The plugin ``offline`` runs later."""
    file = Path(config.site_dir) / "search" / "search_index.json"
    index = json.loads(file.read_text(encoding="utf-8"))
    for entry in index["docs"]:
        boost = next((value for start, value in _BOOSTS.items() if entry["location"].startswith(start)), None)
        if boost is not None:
            entry["boost"] = boost
        if tags := _parts(entry):
            entry["tags"] = tags
    file.write_text(json.dumps(index, separators=(",", ":")), encoding="utf-8")


def _parts(entry: Any) -> list[str]:
    """Return the parts of the names in a title, and of all names in the reference of fields, without the first ones.

    The search completes words, so it finds a name by its first part anyway.
    """
    text = f"{entry['title']} {entry['text']}" if entry["location"].startswith(_FIELDS) else entry["title"]
    names = _NAME.findall(_TAG.sub(" ", text))
    return sorted({part for name in names for part in name.lower().split("_")[1:]})
