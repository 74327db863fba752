"""The lazily loaded provider package gives the same as the package as it comes."""

from __future__ import annotations

from helpers.paths import ROOT
from helpers.running import Run


def test_lazy_and_eager_give_the_same_bytes(lazy_run: Run, eager_run: Run) -> None:
    assert (eager_run.code, eager_run.err) == (0, "")
    assert lazy_run.stacks()
    assert lazy_run.stacks() == eager_run.stacks()


def test_only_what_is_used_is_loaded(lazy_run: Run) -> None:
    """Of 2,210 sub-modules; a submodule that pulls in others would show here."""
    loaded = [name for name in lazy_run.modules if name.startswith("cdktf_cdktf_provider_aws.")]
    assert "cdktf_cdktf_provider_aws.eks_cluster" in loaded
    assert len(loaded) < 150


def test_a_resource_is_found_from_the_root() -> None:
    """The way examples on the internet write it."""
    import cdktf_cdktf_provider_aws as aws

    assert aws.s3_bucket.S3Bucket.TF_RESOURCE_TYPE == "aws_s3_bucket"


def test_constructs_is_the_library_and_ours_have_one_name(lazy_run: Run) -> None:
    """From the repository's root too, where a folder is called constructs (docs/adr/0001)."""
    folders = {folder.name for folder in (ROOT / "constructs").iterdir() if folder.is_dir()}
    below = {name.split(".")[1] for name in lazy_run.modules if name.startswith("constructs.")}
    assert "_jsii" in below
    assert not below & folders
    assert "eks_hardware.constructs.network" in lazy_run.modules
    assert not {"config", "stacks"} & {name.split(".")[0] for name in lazy_run.modules}
