"""The types of the data files of ``config/``, one module per subject.

Only type checkers and tests import them: :mod:`eks_hardware.facts` uses them in annotations.
``tests/unit/facts/test_facts.py`` validates every file, strictly and without extra keys.
"""
