"""The security group that lets EFA traffic through."""

from __future__ import annotations

from eks_hardware._cdk import Construct, SecurityGroup, VpcSecurityGroupEgressRule, VpcSecurityGroupIngressRule


class EfaSecurityGroup(Construct):
    """The security group of EFA interfaces, which allows all traffic from and to itself.

    EFA needs rules in both directions that name the group itself; an egress rule to 0.0.0.0/0 is not enough. The group
    has no ``kubernetes.io/cluster/<name>`` tag: exactly one security group of a node may have this tag, and the
    cluster's security group already has it.
    Sources: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html#efa-start-security,
    https://github.com/eksctl-io/eksctl/issues/8556

    Creates: ``aws_security_group``, ``aws_vpc_security_group_ingress_rule``,
    ``aws_vpc_security_group_egress_rule``.

    Args:
        scope: parent construct or stack.
        id_: construct id, part of the Terraform addresses.
        name: name of the security group.
        vpc_id: VPC of the nodes (may be a token).

    Examples:
        >>> efa = EfaSecurityGroup(stack, "efa", name="team-efa", vpc_id="vpc-0123456789abcdef0")
        >>> efa.resource.add_override("tags.team", "research")
    """

    resource: SecurityGroup
    """The Terraform resource, to depend on or to override."""
    security_group_id: str
    """Id of the group (token)."""

    def __init__(self, scope: Construct, id_: str, *, name: str, vpc_id: str) -> None:
        super().__init__(scope, id_)
        self.resource = SecurityGroup(
            self,
            "Resource",
            name=name,
            description="EFA: all traffic between the interfaces in this group",
            vpc_id=vpc_id,
            tags={"Name": name},
        )
        self.security_group_id = self.resource.id
        VpcSecurityGroupIngressRule(
            self,
            "from-itself",
            security_group_id=self.security_group_id,
            referenced_security_group_id=self.security_group_id,
            description="EFA from this group",
            ip_protocol="-1",
        )
        VpcSecurityGroupEgressRule(
            self,
            "to-itself",
            security_group_id=self.security_group_id,
            referenced_security_group_id=self.security_group_id,
            description="EFA to this group",
            ip_protocol="-1",
        )
