"""User data in MIME, parsed."""

from __future__ import annotations

import email
import json
from typing import Any


def parsed_mime(text: str) -> dict[str, Any]:
    """Return its node config."""
    message = email.message_from_string(text)
    assert message.get_content_type() == "multipart/mixed"
    assert message.defects == []
    _, part = message.walk()
    assert part.get_content_type() == "application/node.eks.aws"
    document: dict[str, Any] = json.loads(str(part.get_payload()))
    return document
