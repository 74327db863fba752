"""Measure memory and speed on one NVIDIA GPU, with PyTorch alone: ``python -m benchmarks.gpu --out rows.yaml``.

The models have random weights in the shapes of public models. The rows have the format of
``config/performance/measurements``, and `eks-hardware recommend --measurements rows.yaml` compares them with its
estimates. Modules:

- ``plan``: the cases to measure.
- ``rows``: the rows of a result, and the file.
- ``transformer``: the model. Needs PyTorch.
- ``measure``: a case's memory and time. Needs PyTorch.
"""
