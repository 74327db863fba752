"""Positions of the fields of a strategy: file, line and column."""

from __future__ import annotations

from dataclasses import dataclass

from eks_hardware import field_paths
from eks_hardware.findings import Position
from eks_hardware.loader.yaml_nodes import Mapping, Node, Sequence, child_of


@dataclass(slots=True, eq=False)
class SourceMap:
    """The position of every field of a document, overlays included.

    Attributes:
        root: the document.

    Examples:
        >>> source = load_strategy("config/strategies/gpu-training.yaml").source
        >>> position = source.locate("node_groups[system]")
        >>> position.file, position.line > 0
        ('config/strategies/gpu-training.yaml', True)
    """

    root: Node

    def locate(self, path: str) -> Position | None:
        """Return the position of a field's value, or of its nearest parent if the field is not in the file.

        Sections and multi-line lists have the position of their key.

        Args:
            path: path as in a finding, such as ``node_groups[gpu].instance_types[0]``; empty for the document.
        """
        node = self.root
        position = node.position
        for label in field_paths.split(path):
            child = child_of(node, label)
            if child is None:
                break
            position = child.position
            if isinstance(node, Mapping) and isinstance(child, (Mapping, Sequence)):
                key = node.entries[label].key_position
                position = key if key.file == position.file and key.line != position.line else position
            node = child
        return position
