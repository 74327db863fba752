"""VPC, subnets, routes and endpoints."""

from __future__ import annotations

from collections.abc import Mapping

from eks_hardware import _cdk, facts
from eks_hardware._cdk import Construct, RouteTable, Subnet, TerraformResource, Vpc
from eks_hardware.catalogue import load
from eks_hardware.constructs.iam import IamSettings, Role, account_id
from eks_hardware.constructs.network.ref import NetworkRef
from eks_hardware.constructs.resources.warnings import add_warnings
from eks_hardware.iam_policies.document import allow, assumed_by_service, policy
from eks_hardware.models import FlowLogs, NetworkSpec
from eks_hardware.resolve import ResolvedNetwork, ResolvedSubnet, SubnetRole, resolve_network
from eks_hardware.resolve.model import ExistingSubnets
from eks_hardware.resolve.network import DISCOVERY_TAG, INTERNAL_LOAD_BALANCER
from eks_hardware.resolve.zones import choose
from eks_hardware.section_checks import check_network

_ANYWHERE = "0.0.0.0/0"


class Network(Construct):
    """The VPC of a cluster, or a reference to an existing one.

    Subnets, route tables and NAT gateways are keyed by zone ID, so adding a zone replaces none of them. The default
    security group has no rules. A new VPC always has a gateway endpoint for S3.

    Creates: ``aws_vpc``, ``aws_subnet``, ``aws_route_table`` with ``aws_route`` and ``aws_route_table_association``,
    ``aws_internet_gateway``, ``aws_nat_gateway`` with ``aws_eip``, ``aws_vpc_endpoint``,
    ``aws_default_security_group``; with interface endpoints ``aws_security_group`` and
    ``aws_vpc_security_group_ingress_rule``, with pod subnets ``aws_vpc_ipv4_cidr_block_association``, with flow logs
    ``aws_flow_log``, ``aws_cloudwatch_log_group``, ``aws_iam_role`` and ``aws_iam_role_policy``. For an existing VPC
    nothing, or ``aws_ec2_tag``.

    Args:
        scope: parent construct or stack.
        id_: construct id, part of the Terraform addresses.
        resolved: the network (``eks_hardware.resolve.resolve_network``).
        iam: path and permissions boundary of the flow logs' role.

    Examples:
        >>> from eks_hardware.models import NetworkSpec
        >>> vpc = Network.from_config(
        ...     stack,
        ...     "network",
        ...     config=NetworkSpec(cidr="10.40.0.0/16", nat_gateways="single"),
        ...     cluster_name="research",
        ...     region="us-west-2",
        ... )
        >>> vpc.resource.add_override("tags.team", "research")
        >>> sorted(vpc.subnets)[:2]
        ['control-plane-usw2-az1', 'control-plane-usw2-az2']
    """

    ref: NetworkRef
    """Reference to the network for other constructs."""
    vpc_id: str
    """Id of the VPC (token)."""

    def __init__(
        self, scope: Construct, id_: str, *, resolved: ResolvedNetwork, iam: IamSettings | None = None
    ) -> None:
        super().__init__(scope, id_)
        self._resolved = resolved
        self._subnets: dict[SubnetRole, dict[str, Subnet]] = {}
        self._ids: dict[Subnet | RouteTable, str] = {}
        if resolved.existing:
            self.ref = self._existing(resolved.existing)
            self.vpc_id = self.ref.vpc_id
            return
        self._vpc = Vpc(
            self,
            "vpc",
            cidr_block=resolved.cidr,
            enable_dns_support=True,
            enable_dns_hostnames=True,
            tags={"Name": resolved.name},
        )
        # Read once: each read of an attribute is a request to Node.
        self.vpc_id = self._vpc.id
        _cdk.DefaultSecurityGroup(self, "default-security-group", vpc_id=self.vpc_id, tags={"Name": "unused"})
        self._subnets = {
            role: {subnet.zone_id: self._subnet(subnet) for subnet in resolved.of_role(role)} for role in SubnetRole
        }
        self._route_tables: dict[str, RouteTable] = {}
        self._public_routes()
        egress = (*self._private_routes(), *self._gateway_endpoints(), *self._interface_endpoints())
        if resolved.flow_logs:
            self._flow_logs(resolved.flow_logs, iam)
        self.ref = NetworkRef(
            vpc_id=self.vpc_id,
            private_subnet_ids=self._subnet_ids(SubnetRole.PRIVATE),
            control_plane_subnet_ids=self._subnet_ids(SubnetRole.CONTROL_PLANE),
            pod_subnet_ids=self._subnet_ids(SubnetRole.POD),
            egress=egress,
        )

    @classmethod
    def from_config(
        cls,
        scope: Construct,
        id_: str,
        *,
        config: NetworkSpec,
        cluster_name: str,
        region: str,
        iam: IamSettings | None = None,
    ) -> Network:
        """Define a network from its section of a strategy, for a cluster that is defined elsewhere.

        The rules of ``eks-hardware validate`` that depend only on the network are checked. Their warnings become
        annotations of the construct.

        Args:
            config: the section ``network``.
            cluster_name: cluster that uses the network; subnets are tagged with its name.
            region: AWS region.

        Raises:
            ValueError: each error of ``eks-hardware validate`` in ``config``.
        """
        path = f"{scope.node.path}/{id_}"
        warnings = check_network(config, path=path, cluster_name=cluster_name, region=region)
        zones = choose(config, (), region, load())
        resolved = resolve_network(config, name=cluster_name, region=region, zones=zones)
        defined = cls(scope, id_, resolved=resolved, iam=iam)
        add_warnings(defined, warnings)
        return defined

    @property
    def resource(self) -> Vpc:
        """The VPC, to depend on or to override.

        Raises:
            ValueError: ``NETWORK_EXISTING`` if the construct refers to an existing VPC.
        """
        if self._resolved.existing:
            raise ValueError(
                f"NETWORK_EXISTING {self.node.path}: this construct refers to an existing VPC; change the VPC where "
                "it is defined"
            )
        return self._vpc

    @property
    def subnets(self) -> Mapping[str, Subnet]:
        """The subnets by role and zone (``private-usw2-az1``); empty for an existing VPC."""
        return {
            f"{role.value}-{zone}": subnet for role, zones in self._subnets.items() for zone, subnet in zones.items()
        }

    def _id(self, resource: Subnet | RouteTable) -> str:
        """Return the id of a resource, read once."""
        if resource not in self._ids:
            self._ids[resource] = resource.id
        return self._ids[resource]

    def _subnet_ids(self, role: SubnetRole) -> dict[str, str]:
        return {zone: self._id(subnet) for zone, subnet in self._subnets[role].items()}

    def _existing(self, existing: ExistingSubnets) -> NetworkRef:
        if existing.tag:
            tags = {DISCOVERY_TAG: self._resolved.discovery_tag, **INTERNAL_LOAD_BALANCER}
            for zone, subnet_id in existing.private.items():
                for key, value in tags.items():
                    _cdk.Ec2Tag(
                        self, f"tag-{zone}-{key.rpartition('/')[2]}", resource_id=subnet_id, key=key, value=value
                    )
        return NetworkRef(existing.vpc_id, existing.private, existing.control_plane, existing.pod)

    def _subnet(self, resolved: ResolvedSubnet) -> Subnet:
        is_pod = resolved.role is SubnetRole.POD
        return Subnet(
            self,
            resolved.key,
            # The pod CIDR must be associated with the VPC before subnets are created in it.
            vpc_id=self._pod_network().vpc_id if is_pod else self.vpc_id,
            cidr_block=resolved.cidr,
            availability_zone_id=resolved.zone_id,
            map_public_ip_on_launch=False,
            tags={"Name": f"{self._resolved.name}-{resolved.key}", **resolved.tags},
        )

    def _pod_network(self) -> _cdk.VpcIpv4CidrBlockAssociation:
        child = self.node.try_find_child("pod-network")
        if isinstance(child, _cdk.VpcIpv4CidrBlockAssociation):
            return child
        return _cdk.VpcIpv4CidrBlockAssociation(
            self, "pod-network", vpc_id=self.vpc_id, cidr_block=self._resolved.pod_cidr
        )

    def _route_table(self, key: str) -> RouteTable:
        table = RouteTable(self, f"routes-{key}", vpc_id=self.vpc_id, tags={"Name": f"{self._resolved.name}-{key}"})
        self._route_tables[key] = table
        return table

    def _associate(self, key: str, subnet: Subnet, table: RouteTable) -> _cdk.RouteTableAssociation:
        return _cdk.RouteTableAssociation(
            self, f"association-{key}", subnet_id=self._id(subnet), route_table_id=self._id(table)
        )

    def _public_routes(self) -> None:
        public = self._subnets[SubnetRole.PUBLIC]
        if not public:
            return
        gateway = _cdk.InternetGateway(self, "internet-gateway", vpc_id=self.vpc_id, tags={"Name": self._resolved.name})
        table = self._route_table("public")
        route = _cdk.Route(
            self,
            "route-public",
            route_table_id=self._id(table),
            destination_cidr_block=_ANYWHERE,
            gateway_id=gateway.id,
        )
        associations = {zone: self._associate(f"public-{zone}", subnet, table) for zone, subnet in public.items()}
        self._nat_gateways = {
            zone: self._nat_gateway(zone, public[zone], gateway, reachable=[route, associations[zone]])
            for zone in self._resolved.nat_zone_ids
        }

    def _nat_gateway(
        self, zone: str, subnet: Subnet, gateway: _cdk.InternetGateway, *, reachable: list[TerraformResource]
    ) -> _cdk.NatGateway:
        tags = {"Name": f"{self._resolved.name}-{zone}"}
        address = _cdk.Eip(self, f"nat-address-{zone}", domain="vpc", tags=tags, depends_on=[gateway])
        return _cdk.NatGateway(
            self,
            f"nat-{zone}",
            allocation_id=address.allocation_id,
            subnet_id=self._id(subnet),
            tags=tags,
            depends_on=reachable,
        )

    def _private_routes(self) -> list[TerraformResource]:
        """Define the routes of nodes and pods, and return the resources that their traffic needs."""
        resources: list[TerraformResource] = []
        for zone, subnet in self._subnets[SubnetRole.PRIVATE].items():
            table = self._route_table(f"private-{zone}")
            resources.append(self._associate(f"private-{zone}", subnet, table))
            nat_zone = self._resolved.nat_zone_by_zone.get(zone)
            if nat_zone is not None:
                resources.append(self._nat_route(zone, table, self._nat_gateways[nat_zone]))
            pods = self._subnets[SubnetRole.POD].get(zone)
            if pods is not None:
                resources.append(self._associate(f"pod-{zone}", pods, table))
        table = self._route_table("control-plane")
        for zone, subnet in self._subnets[SubnetRole.CONTROL_PLANE].items():
            self._associate(f"control-plane-{zone}", subnet, table)
        return resources

    def _nat_route(self, zone: str, table: RouteTable, gateway: _cdk.NatGateway) -> _cdk.Route:
        return _cdk.Route(
            self,
            f"route-private-{zone}",
            route_table_id=self._id(table),
            destination_cidr_block=_ANYWHERE,
            nat_gateway_id=gateway.id,
        )

    def _gateway_endpoints(self) -> list[TerraformResource]:
        tables = [self._id(table) for table in self._route_tables.values()]
        return [
            _cdk.VpcEndpoint(
                self,
                f"endpoint-{service}",
                vpc_id=self.vpc_id,
                service_name=f"com.amazonaws.{self._resolved.region}.{service}",
                vpc_endpoint_type="Gateway",
                route_table_ids=tables,
                tags={"Name": f"{self._resolved.name}-{service}"},
            )
            for service in self._resolved.gateway_endpoints
        ]

    def _interface_endpoints(self) -> list[TerraformResource]:
        """Define the interface endpoints with their security group and its rules."""
        resolved = self._resolved
        if not resolved.interface_endpoints:
            return []
        group_id = self._endpoint_security_group()
        private = self._subnets[SubnetRole.PRIVATE]
        endpoints = [
            _cdk.VpcEndpoint(
                self,
                f"interface-endpoint-{service}",
                vpc_id=self.vpc_id,
                service_name=facts.interface_endpoint(service, resolved.region),
                vpc_endpoint_type="Interface",
                private_dns_enabled=True,
                subnet_ids=[self._id(private[zone]) for zone in resolved.endpoint_zone_ids],
                security_group_ids=[group_id],
                tags={"Name": f"{resolved.name}-{service}"},
            )
            for service in resolved.interface_endpoints
        ]
        # Without these rules no traffic reaches the endpoints.
        return [*self._endpoint_rules(group_id), *endpoints]

    def _endpoint_security_group(self) -> str:
        name = self._resolved.endpoint_security_group_name
        return _cdk.SecurityGroup(
            self,
            "endpoint-security-group",
            name=name,
            description="Interface endpoints: HTTPS from the VPC",
            vpc_id=self.vpc_id,
            tags={"Name": name},
        ).id

    def _endpoint_rules(self, group_id: str) -> list[TerraformResource]:
        return [
            _cdk.VpcSecurityGroupIngressRule(
                self,
                f"endpoint-from-{key}",
                security_group_id=group_id,
                description=f"HTTPS from {cidr}",
                cidr_ipv4=cidr,
                ip_protocol="tcp",
                from_port=443,
                to_port=443,
            )
            for key, cidr in (("vpc", self._resolved.cidr), ("pods", self._resolved.pod_cidr))
            if cidr is not None
        ]

    def _flow_logs(self, settings: FlowLogs, iam: IamSettings | None) -> None:
        resolved = self._resolved
        logs = _cdk.CloudwatchLogGroup(
            self,
            "flow-log-group",
            name=resolved.flow_log_group_name,
            retention_in_days=settings.retention_days,
        )
        role = Role(
            self,
            "flow-log-role",
            name=resolved.flow_log_role_name,
            description=f"VPC flow logs of {resolved.name}",
            assume_role_policy=assumed_by_service("vpc-flow-logs.amazonaws.com", account_id=account_id(self)),
            settings=iam,
        )
        # https://docs.aws.amazon.com/vpc/latest/userguide/flow-logs-iam-role.html, without logs:CreateLogGroup: the
        # group already exists.
        actions = ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"]
        permissions = _cdk.IamRolePolicy(
            self,
            "flow-log-policy",
            name="write-flow-logs",
            role=role.role_name,
            policy=policy(
                allow("WriteFlowLogs", actions, [f"{logs.arn}:*"]),
                # This action cannot be limited to individual log groups.
                allow("FindLogGroup", ["logs:DescribeLogGroups"], ["*"]),
            ),
        )
        _cdk.FlowLog(
            self,
            "flow-log",
            vpc_id=self.vpc_id,
            traffic_type=settings.traffic,
            log_destination_type="cloud-watch-logs",
            log_destination=logs.arn,
            iam_role_arn=role.role_arn,
            max_aggregation_interval=resolved.flow_log_interval_seconds,
            tags={"Name": resolved.name},
            depends_on=[permissions],
        )
