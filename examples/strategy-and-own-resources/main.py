"""A whole cluster from a strategy file, with the team's own bucket and a role for the pods that read it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import eks_hardware  # noqa: F401  import it before the provider, which then loads lazily

# isort: split
from cdktf import TerraformOutput
from cdktf_cdktf_provider_aws.eks_pod_identity_association import EksPodIdentityAssociation
from cdktf_cdktf_provider_aws.iam_role_policy import IamRolePolicy
from cdktf_cdktf_provider_aws.s3_bucket import S3Bucket
from cdktf_cdktf_provider_aws.s3_bucket_ownership_controls import (
    S3BucketOwnershipControls,
    S3BucketOwnershipControlsRule,
)
from cdktf_cdktf_provider_aws.s3_bucket_policy import S3BucketPolicy
from cdktf_cdktf_provider_aws.s3_bucket_public_access_block import S3BucketPublicAccessBlock
from cdktf_cdktf_provider_aws.s3_bucket_server_side_encryption_configuration import (
    S3BucketServerSideEncryptionConfigurationA,
    S3BucketServerSideEncryptionConfigurationRuleA,
    S3BucketServerSideEncryptionConfigurationRuleApplyServerSideEncryptionByDefaultA,
)
from cdktf_cdktf_provider_aws.s3_bucket_versioning import S3BucketVersioningA, S3BucketVersioningVersioningConfiguration

from constructs import Construct
from eks_hardware.constructs.iam import Role, account_id
from eks_hardware.constructs.platform import Platform
from eks_hardware.iam_policies.document import assumed_by_pods
from eks_hardware.stacks import Extension, StrategyStack, main

STRATEGIES = Path(__file__).parent / "strategies"
NAMESPACE, SERVICE_ACCOUNT = "research", "dataset-reader"


class Datasets(Construct):
    """Private, versioned and encrypted bucket that accepts only TLS."""

    def __init__(self, scope: Construct, id_: str, *, name: str) -> None:
        super().__init__(scope, id_)
        self._bucket = S3Bucket(self, "bucket", bucket=name)
        S3BucketOwnershipControls(
            self,
            "ownership",
            bucket=self._bucket.id,
            rule=S3BucketOwnershipControlsRule(object_ownership="BucketOwnerEnforced"),
        )
        blocked = S3BucketPublicAccessBlock(
            self,
            "public-access",
            bucket=self._bucket.id,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
        )
        by_default = S3BucketServerSideEncryptionConfigurationRuleApplyServerSideEncryptionByDefaultA
        S3BucketServerSideEncryptionConfigurationA(
            self,
            "encryption",
            bucket=self._bucket.id,
            rule=[
                S3BucketServerSideEncryptionConfigurationRuleA(
                    apply_server_side_encryption_by_default=by_default(sse_algorithm="aws:kms"), bucket_key_enabled=True
                )
            ],
        )
        S3BucketVersioningA(
            self,
            "versioning",
            bucket=self._bucket.id,
            versioning_configuration=S3BucketVersioningVersioningConfiguration(status="Enabled"),
        )
        S3BucketPolicy(
            self,
            "policy",
            bucket=self._bucket.id,
            policy=json.dumps(
                {
                    "Version": "2012-10-17",
                    "Statement": [
                        {
                            "Sid": "OnlyTls",
                            "Effect": "Deny",
                            "Principal": "*",
                            "Action": "s3:*",
                            "Resource": [self.bucket_arn, f"{self.bucket_arn}/*"],
                            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                        }
                    ],
                }
            ),
            # S3 refuses concurrent changes of a bucket.
            depends_on=[blocked],
        )

    @property
    def bucket_name(self) -> str:
        return self._bucket.bucket

    @property
    def bucket_arn(self) -> str:
        return self._bucket.arn


class Ours(Extension):
    """The team's resources in the stack of each of its strategies."""

    def resources(self, stack: StrategyStack, platform: Platform) -> None:
        name = stack.resolved.name
        datasets = Datasets(stack, "datasets", name=f"{name}-datasets-{account_id(stack)}")
        role = Role(stack, "dataset-reader", name=f"{name}-dataset-reader", assume_role_policy=assumed_by_pods())
        reading = IamRolePolicy(
            stack,
            "dataset-reading",
            name="read-datasets",
            role=role.role_name,
            policy=json.dumps(
                {
                    "Version": "2012-10-17",
                    "Statement": [
                        {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": datasets.bucket_arn},
                        {"Effect": "Allow", "Action": "s3:GetObject", "Resource": f"{datasets.bucket_arn}/*"},
                    ],
                }
            ),
        )
        EksPodIdentityAssociation(
            stack,
            "dataset-identity",
            # A token: the association is created after the cluster, and destroyed before it.
            cluster_name=platform.cluster.cluster_name,
            namespace=NAMESPACE,
            service_account=SERVICE_ACCOUNT,
            role_arn=role.role_arn,
            depends_on=[reading],
        )
        TerraformOutput(stack, "datasets_bucket", value=datasets.bucket_name)


if __name__ == "__main__":
    raise SystemExit(main({"EKS_HARDWARE_STRATEGIES": str(STRATEGIES), **os.environ}, extension=Ours()))
