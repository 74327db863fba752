"""All imports of the framework and of the AWS and Helm providers.

With ``EKS_HARDWARE_FRAMEWORK=cdktn``, CDK Terrain provides these modules (``_framework.py``). A complete move to CDK
Terrain changes only the names in this file and deletes ``_framework.py``; ``tests/unit/test_layout.py`` checks this.
"""

# ``X as X`` exports a name (PEP 484), so no ``__all__`` is needed. The framework is checked before the imports, because
# mixing two frameworks in one process fails late and without a clear error.
# ruff: noqa: E402, E501, I001
import eks_hardware._framework

eks_hardware._framework.check()

from cdktf import (
    Annotations as Annotations,
    App as App,
    AssetType as AssetType,
    DataTerraformRemoteState as DataTerraformRemoteState,
    DataTerraformRemoteStateLocal as DataTerraformRemoteStateLocal,
    DataTerraformRemoteStateS3 as DataTerraformRemoteStateS3,
    Fn as Fn,
    ITerraformDependable as ITerraformDependable,
    LocalBackend as LocalBackend,
    NamedRemoteWorkspace as NamedRemoteWorkspace,
    RemoteBackend as RemoteBackend,
    S3Backend as S3Backend,
    TerraformAsset as TerraformAsset,
    TerraformOutput as TerraformOutput,
    TerraformResource as TerraformResource,
    TerraformResourceLifecycle as TerraformResourceLifecycle,
    TerraformStack as TerraformStack,
    Token as Token,
)
from cdktf_cdktf_provider_aws.cloudwatch_event_rule import CloudwatchEventRule as CloudwatchEventRule
from cdktf_cdktf_provider_aws.cloudwatch_event_target import CloudwatchEventTarget as CloudwatchEventTarget
from cdktf_cdktf_provider_aws.cloudwatch_log_group import CloudwatchLogGroup as CloudwatchLogGroup
from cdktf_cdktf_provider_aws.data_aws_autoscaling_group import DataAwsAutoscalingGroup as DataAwsAutoscalingGroup
from cdktf_cdktf_provider_aws.data_aws_autoscaling_groups import (
    DataAwsAutoscalingGroups as DataAwsAutoscalingGroups,
    DataAwsAutoscalingGroupsFilter as DataAwsAutoscalingGroupsFilter,
)
from cdktf_cdktf_provider_aws.data_aws_availability_zone import DataAwsAvailabilityZone as DataAwsAvailabilityZone
from cdktf_cdktf_provider_aws.data_aws_caller_identity import DataAwsCallerIdentity as DataAwsCallerIdentity
from cdktf_cdktf_provider_aws.data_aws_eks_cluster import DataAwsEksCluster as DataAwsEksCluster
from cdktf_cdktf_provider_aws.default_security_group import DefaultSecurityGroup as DefaultSecurityGroup
from cdktf_cdktf_provider_aws.ec2_tag import Ec2Tag as Ec2Tag
from cdktf_cdktf_provider_aws.efs_file_system import EfsFileSystem as EfsFileSystem
from cdktf_cdktf_provider_aws.efs_mount_target import EfsMountTarget as EfsMountTarget
from cdktf_cdktf_provider_aws.eip import Eip as Eip
from cdktf_cdktf_provider_aws.eks_access_entry import EksAccessEntry as EksAccessEntry
from cdktf_cdktf_provider_aws.eks_access_policy_association import (
    EksAccessPolicyAssociation as EksAccessPolicyAssociation,
    EksAccessPolicyAssociationAccessScope as EksAccessPolicyAssociationAccessScope,
)
from cdktf_cdktf_provider_aws.eks_addon import EksAddon as EksAddon
from cdktf_cdktf_provider_aws.eks_cluster import (
    EksCluster as EksCluster,
    EksClusterAccessConfig as EksClusterAccessConfig,
    EksClusterControlPlaneScalingConfig as EksClusterControlPlaneScalingConfig,
    EksClusterEncryptionConfig as EksClusterEncryptionConfig,
    EksClusterEncryptionConfigProvider as EksClusterEncryptionConfigProvider,
    EksClusterKubernetesNetworkConfig as EksClusterKubernetesNetworkConfig,
    EksClusterUpgradePolicy as EksClusterUpgradePolicy,
    EksClusterVpcConfig as EksClusterVpcConfig,
    EksClusterZonalShiftConfig as EksClusterZonalShiftConfig,
)
from cdktf_cdktf_provider_aws.eks_node_group import (
    EksNodeGroup as EksNodeGroup,
    EksNodeGroupLaunchTemplate as EksNodeGroupLaunchTemplate,
    EksNodeGroupNodeRepairConfig as EksNodeGroupNodeRepairConfig,
    EksNodeGroupScalingConfig as EksNodeGroupScalingConfig,
    EksNodeGroupTaint as EksNodeGroupTaint,
    EksNodeGroupUpdateConfig as EksNodeGroupUpdateConfig,
)
from cdktf_cdktf_provider_aws.eks_pod_identity_association import EksPodIdentityAssociation as EksPodIdentityAssociation
from cdktf_cdktf_provider_aws.flow_log import FlowLog as FlowLog
from cdktf_cdktf_provider_aws.fsx_lustre_file_system import FsxLustreFileSystem as FsxLustreFileSystem
from cdktf_cdktf_provider_aws.iam_instance_profile import IamInstanceProfile as IamInstanceProfile
from cdktf_cdktf_provider_aws.iam_policy import IamPolicy as IamPolicy
from cdktf_cdktf_provider_aws.iam_role import IamRole as IamRole
from cdktf_cdktf_provider_aws.iam_role_policy import IamRolePolicy as IamRolePolicy
from cdktf_cdktf_provider_aws.iam_role_policy_attachment import IamRolePolicyAttachment as IamRolePolicyAttachment
from cdktf_cdktf_provider_aws.internet_gateway import InternetGateway as InternetGateway
from cdktf_cdktf_provider_aws.kms_alias import KmsAlias as KmsAlias
from cdktf_cdktf_provider_aws.kms_grant import KmsGrant as KmsGrant
from cdktf_cdktf_provider_aws.kms_key import KmsKey as KmsKey
from cdktf_cdktf_provider_aws.launch_template import (
    LaunchTemplate as LaunchTemplate,
    LaunchTemplateBlockDeviceMappings as LaunchTemplateBlockDeviceMappings,
    LaunchTemplateBlockDeviceMappingsEbs as LaunchTemplateBlockDeviceMappingsEbs,
    LaunchTemplateCapacityReservationSpecification as LaunchTemplateCapacityReservationSpecification,
    LaunchTemplateCapacityReservationSpecificationCapacityReservationTarget as LaunchTemplateCapacityReservationSpecificationCapacityReservationTarget,
    LaunchTemplateInstanceMarketOptions as LaunchTemplateInstanceMarketOptions,
    LaunchTemplateMetadataOptions as LaunchTemplateMetadataOptions,
    LaunchTemplateMonitoring as LaunchTemplateMonitoring,
    LaunchTemplateNetworkInterfaces as LaunchTemplateNetworkInterfaces,
    LaunchTemplatePlacement as LaunchTemplatePlacement,
    LaunchTemplateTagSpecifications as LaunchTemplateTagSpecifications,
)
from cdktf_cdktf_provider_aws.nat_gateway import NatGateway as NatGateway
from cdktf_cdktf_provider_aws.placement_group import PlacementGroup as PlacementGroup
from cdktf_cdktf_provider_aws.provider import (
    AwsProvider as AwsProvider,
    AwsProviderAssumeRole as AwsProviderAssumeRole,
    AwsProviderDefaultTags as AwsProviderDefaultTags,
)
from cdktf_cdktf_provider_aws.route import Route as Route
from cdktf_cdktf_provider_aws.route_table import RouteTable as RouteTable
from cdktf_cdktf_provider_aws.route_table_association import RouteTableAssociation as RouteTableAssociation
from cdktf_cdktf_provider_aws.security_group import SecurityGroup as SecurityGroup
from cdktf_cdktf_provider_aws.sqs_queue import SqsQueue as SqsQueue
from cdktf_cdktf_provider_aws.sqs_queue_policy import SqsQueuePolicy as SqsQueuePolicy
from cdktf_cdktf_provider_aws.subnet import Subnet as Subnet
from cdktf_cdktf_provider_aws.vpc import Vpc as Vpc
from cdktf_cdktf_provider_aws.vpc_endpoint import VpcEndpoint as VpcEndpoint
from cdktf_cdktf_provider_aws.vpc_ipv4_cidr_block_association import (
    VpcIpv4CidrBlockAssociation as VpcIpv4CidrBlockAssociation,
)
from cdktf_cdktf_provider_aws.vpc_security_group_egress_rule import (
    VpcSecurityGroupEgressRule as VpcSecurityGroupEgressRule,
)
from cdktf_cdktf_provider_aws.vpc_security_group_ingress_rule import (
    VpcSecurityGroupIngressRule as VpcSecurityGroupIngressRule,
)
from cdktf_cdktf_provider_helm.provider import (
    HelmProvider as HelmProvider,
    HelmProviderKubernetes as HelmProviderKubernetes,
    HelmProviderKubernetesExec as HelmProviderKubernetesExec,
)
from cdktf_cdktf_provider_helm.release import Release as Release

from constructs import Construct as Construct
