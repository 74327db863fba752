"""The CDKTF app of this repository, which `cdktf` runs (cdktf.json)."""

import runpy

runpy.run_module("eks_hardware", run_name="__main__")
