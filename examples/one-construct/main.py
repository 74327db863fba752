"""One node group with L40S GPUs, in the team's own subnet, on a cluster that another team runs."""

from __future__ import annotations

import eks_hardware  # noqa: F401  import it before the provider, which then loads lazily

# isort: split
from cdktf import App, TerraformOutput, TerraformStack
from cdktf_cdktf_provider_aws.provider import AwsProvider
from cdktf_cdktf_provider_aws.route_table_association import RouteTableAssociation
from cdktf_cdktf_provider_aws.subnet import Subnet

from constructs import Construct
from eks_hardware.constructs.cluster import ClusterRef
from eks_hardware.constructs.iam import Role
from eks_hardware.constructs.network import NetworkRef
from eks_hardware.constructs.node_groups import NodeGroup
from eks_hardware.iam_policies.document import assumed_by_service
from eks_hardware.models import NodeGroupSpec, Scaling
from eks_hardware.resolve import node_policy_arns

REGION = "us-west-2"
CLUSTER = "shared"
VPC_ID = "vpc-0123456789abcdef0"
ROUTE_TABLE_ID = "rtb-0123456789abcdef0"  # of the private subnets: nodes reach AWS through its NAT gateway
ZONE_ID = "usw2-az2"


class RenderingStack(TerraformStack):
    """A group of zero to four g6e.2xlarge Spot nodes."""

    def __init__(self, scope: Construct, id_: str) -> None:
        super().__init__(scope, id_)
        AwsProvider(self, "aws", region=REGION)
        # The binding pins the provider release that it was generated from; use a range instead.
        self.add_override(
            "terraform.required_providers.aws", {"source": "hashicorp/aws", "version": ">= 5.100.0, < 7.0.0"}
        )

        subnet = Subnet(
            self, "subnet", vpc_id=VPC_ID, availability_zone_id=ZONE_ID, cidr_block="10.0.240.0/24", tags={"Team": "a"}
        )
        route = RouteTableAssociation(self, "route", route_table_id=ROUTE_TABLE_ID, subnet_id=subnet.id)
        role = Role(
            self,
            "node-role",
            name="rendering-nodes",
            assume_role_policy=assumed_by_service("ec2.amazonaws.com"),
            policy_arns=node_policy_arns("aws"),
        )
        network = NetworkRef(
            vpc_id=VPC_ID,
            private_subnet_ids={ZONE_ID: subnet.id},
            control_plane_subnet_ids={},
            # Nodes are created after their route to AWS, and deleted before it.
            egress=(route,),
        )
        group = NodeGroup.from_config(
            self,
            "l40s",
            config=NodeGroupSpec(
                name="l40s",
                workload="inference",
                instance_types=("g6e.2xlarge",),
                capacity="spot",
                scaling=Scaling(max=4),
            ),
            kubernetes_version="1.35",
            cluster_name=CLUSTER,
            cluster=ClusterRef.from_existing(self, "cluster", name=CLUSTER),
            network=network,
            role=role,
        )
        TerraformOutput(self, "node_group_arn", value=group.node_group_arn)


if __name__ == "__main__":
    app = App()
    RenderingStack(app, "rendering")
    app.synth()
