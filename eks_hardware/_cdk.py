"""Every import of the framework and of the AWS and Helm providers, in one place.

``EKS_HARDWARE_FRAMEWORK=cdktn`` answers these imports with CDK Terrain (``_framework.py``). Moving for good changes the
names in this file and removes that one, nothing else; ``tests/unit/test_layout.py`` holds that.
"""

# ruff: noqa: E402  # Two frameworks in one process fail late and without a reason, so that is looked at before.
import eks_hardware._framework

eks_hardware._framework.check()

from cdktf import (
    Annotations,
    App,
    AssetType,
    DataTerraformRemoteState,
    DataTerraformRemoteStateLocal,
    DataTerraformRemoteStateS3,
    Fn,
    ITerraformDependable,
    LocalBackend,
    NamedRemoteWorkspace,
    RemoteBackend,
    S3Backend,
    TerraformAsset,
    TerraformOutput,
    TerraformResource,
    TerraformResourceLifecycle,
    TerraformStack,
    Token,
)
from cdktf_cdktf_provider_aws.cloudwatch_event_rule import CloudwatchEventRule
from cdktf_cdktf_provider_aws.cloudwatch_event_target import CloudwatchEventTarget
from cdktf_cdktf_provider_aws.cloudwatch_log_group import CloudwatchLogGroup
from cdktf_cdktf_provider_aws.data_aws_autoscaling_group import DataAwsAutoscalingGroup
from cdktf_cdktf_provider_aws.data_aws_autoscaling_groups import (
    DataAwsAutoscalingGroups,
    DataAwsAutoscalingGroupsFilter,
)
from cdktf_cdktf_provider_aws.data_aws_availability_zone import DataAwsAvailabilityZone
from cdktf_cdktf_provider_aws.data_aws_caller_identity import DataAwsCallerIdentity
from cdktf_cdktf_provider_aws.data_aws_eks_cluster import DataAwsEksCluster
from cdktf_cdktf_provider_aws.default_security_group import DefaultSecurityGroup
from cdktf_cdktf_provider_aws.ec2_tag import Ec2Tag
from cdktf_cdktf_provider_aws.efs_file_system import EfsFileSystem
from cdktf_cdktf_provider_aws.efs_mount_target import EfsMountTarget
from cdktf_cdktf_provider_aws.eip import Eip
from cdktf_cdktf_provider_aws.eks_access_entry import EksAccessEntry
from cdktf_cdktf_provider_aws.eks_access_policy_association import (
    EksAccessPolicyAssociation,
    EksAccessPolicyAssociationAccessScope,
)
from cdktf_cdktf_provider_aws.eks_addon import EksAddon
from cdktf_cdktf_provider_aws.eks_cluster import (
    EksCluster,
    EksClusterAccessConfig,
    EksClusterControlPlaneScalingConfig,
    EksClusterEncryptionConfig,
    EksClusterEncryptionConfigProvider,
    EksClusterKubernetesNetworkConfig,
    EksClusterUpgradePolicy,
    EksClusterVpcConfig,
    EksClusterZonalShiftConfig,
)
from cdktf_cdktf_provider_aws.eks_node_group import (
    EksNodeGroup,
    EksNodeGroupLaunchTemplate,
    EksNodeGroupNodeRepairConfig,
    EksNodeGroupScalingConfig,
    EksNodeGroupTaint,
    EksNodeGroupUpdateConfig,
)
from cdktf_cdktf_provider_aws.eks_pod_identity_association import EksPodIdentityAssociation
from cdktf_cdktf_provider_aws.flow_log import FlowLog
from cdktf_cdktf_provider_aws.fsx_lustre_file_system import FsxLustreFileSystem
from cdktf_cdktf_provider_aws.iam_instance_profile import IamInstanceProfile
from cdktf_cdktf_provider_aws.iam_policy import IamPolicy
from cdktf_cdktf_provider_aws.iam_role import IamRole
from cdktf_cdktf_provider_aws.iam_role_policy import IamRolePolicy
from cdktf_cdktf_provider_aws.iam_role_policy_attachment import IamRolePolicyAttachment
from cdktf_cdktf_provider_aws.internet_gateway import InternetGateway
from cdktf_cdktf_provider_aws.kms_alias import KmsAlias
from cdktf_cdktf_provider_aws.kms_grant import KmsGrant
from cdktf_cdktf_provider_aws.kms_key import KmsKey
from cdktf_cdktf_provider_aws.launch_template import (
    LaunchTemplate,
    LaunchTemplateBlockDeviceMappings,
    LaunchTemplateBlockDeviceMappingsEbs,
    LaunchTemplateCapacityReservationSpecification,
    LaunchTemplateCapacityReservationSpecificationCapacityReservationTarget,
    LaunchTemplateInstanceMarketOptions,
    LaunchTemplateMetadataOptions,
    LaunchTemplateMonitoring,
    LaunchTemplateNetworkInterfaces,
    LaunchTemplatePlacement,
    LaunchTemplateTagSpecifications,
)
from cdktf_cdktf_provider_aws.nat_gateway import NatGateway
from cdktf_cdktf_provider_aws.placement_group import PlacementGroup
from cdktf_cdktf_provider_aws.provider import AwsProvider, AwsProviderAssumeRole, AwsProviderDefaultTags
from cdktf_cdktf_provider_aws.route import Route
from cdktf_cdktf_provider_aws.route_table import RouteTable
from cdktf_cdktf_provider_aws.route_table_association import RouteTableAssociation
from cdktf_cdktf_provider_aws.security_group import SecurityGroup
from cdktf_cdktf_provider_aws.sqs_queue import SqsQueue
from cdktf_cdktf_provider_aws.sqs_queue_policy import SqsQueuePolicy
from cdktf_cdktf_provider_aws.subnet import Subnet
from cdktf_cdktf_provider_aws.vpc import Vpc
from cdktf_cdktf_provider_aws.vpc_endpoint import VpcEndpoint
from cdktf_cdktf_provider_aws.vpc_ipv4_cidr_block_association import VpcIpv4CidrBlockAssociation
from cdktf_cdktf_provider_aws.vpc_security_group_egress_rule import VpcSecurityGroupEgressRule
from cdktf_cdktf_provider_aws.vpc_security_group_ingress_rule import VpcSecurityGroupIngressRule
from cdktf_cdktf_provider_helm.provider import HelmProvider, HelmProviderKubernetes, HelmProviderKubernetesExec
from cdktf_cdktf_provider_helm.release import Release

from constructs import Construct

__all__ = [
    "Annotations",
    "App",
    "AssetType",
    "AwsProvider",
    "AwsProviderAssumeRole",
    "AwsProviderDefaultTags",
    "CloudwatchEventRule",
    "CloudwatchEventTarget",
    "CloudwatchLogGroup",
    "Construct",
    "DataAwsAutoscalingGroup",
    "DataAwsAutoscalingGroups",
    "DataAwsAutoscalingGroupsFilter",
    "DataAwsAvailabilityZone",
    "DataAwsCallerIdentity",
    "DataAwsEksCluster",
    "DataTerraformRemoteState",
    "DataTerraformRemoteStateLocal",
    "DataTerraformRemoteStateS3",
    "DefaultSecurityGroup",
    "Ec2Tag",
    "EfsFileSystem",
    "EfsMountTarget",
    "Eip",
    "EksAccessEntry",
    "EksAccessPolicyAssociation",
    "EksAccessPolicyAssociationAccessScope",
    "EksAddon",
    "EksCluster",
    "EksClusterAccessConfig",
    "EksClusterControlPlaneScalingConfig",
    "EksClusterEncryptionConfig",
    "EksClusterEncryptionConfigProvider",
    "EksClusterKubernetesNetworkConfig",
    "EksClusterUpgradePolicy",
    "EksClusterVpcConfig",
    "EksClusterZonalShiftConfig",
    "EksNodeGroup",
    "EksNodeGroupLaunchTemplate",
    "EksNodeGroupNodeRepairConfig",
    "EksNodeGroupScalingConfig",
    "EksNodeGroupTaint",
    "EksNodeGroupUpdateConfig",
    "EksPodIdentityAssociation",
    "FlowLog",
    "Fn",
    "FsxLustreFileSystem",
    "HelmProvider",
    "HelmProviderKubernetes",
    "HelmProviderKubernetesExec",
    "ITerraformDependable",
    "IamInstanceProfile",
    "IamPolicy",
    "IamRole",
    "IamRolePolicy",
    "IamRolePolicyAttachment",
    "InternetGateway",
    "KmsAlias",
    "KmsGrant",
    "KmsKey",
    "LaunchTemplate",
    "LaunchTemplateBlockDeviceMappings",
    "LaunchTemplateBlockDeviceMappingsEbs",
    "LaunchTemplateCapacityReservationSpecification",
    "LaunchTemplateCapacityReservationSpecificationCapacityReservationTarget",
    "LaunchTemplateInstanceMarketOptions",
    "LaunchTemplateMetadataOptions",
    "LaunchTemplateMonitoring",
    "LaunchTemplateNetworkInterfaces",
    "LaunchTemplatePlacement",
    "LaunchTemplateTagSpecifications",
    "LocalBackend",
    "NamedRemoteWorkspace",
    "NatGateway",
    "PlacementGroup",
    "Release",
    "RemoteBackend",
    "Route",
    "RouteTable",
    "RouteTableAssociation",
    "S3Backend",
    "SecurityGroup",
    "SqsQueue",
    "SqsQueuePolicy",
    "Subnet",
    "TerraformAsset",
    "TerraformOutput",
    "TerraformResource",
    "TerraformResourceLifecycle",
    "TerraformStack",
    "Token",
    "Vpc",
    "VpcEndpoint",
    "VpcIpv4CidrBlockAssociation",
    "VpcSecurityGroupEgressRule",
    "VpcSecurityGroupIngressRule",
]
