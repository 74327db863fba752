"""Every resolved value of a strategy, with the rule or table row behind it.

for section in sections(resolve(strategy)):
    for row in section.rows:
        print(section.path, row.field, row.lines, row.reason.text, row.reason.source)
"""

from eks_hardware.explain.sections import KINDS, Row, Section, sections
from eks_hardware.explain.values import lines, plain

__all__ = ["KINDS", "Row", "Section", "lines", "plain", "sections"]
