"""The types of the data files of ``config/``, one module a subject.

Type checkers and tests read them, the running program does not: :mod:`eks_hardware.facts` imports them for types only.
``tests/unit/facts/test_facts.py`` validates every file, strictly and without extra keys.
"""
