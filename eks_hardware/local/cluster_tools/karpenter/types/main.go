// Computes instance types as Karpenter does, without a cluster: the resources that Karpenter expects of each new node.
//
// Reads {"types": [...], "pools": [{"name", "class", "types", "overlays"}]} from standard input: instance types as EC2
// describes them, and for each pool its EC2NodeClass, the names of its types, and what NodeOverlays add to the capacity
// of each. Prints {pool: {type: {"capacity": {...}, "allocatable": {...}}}}. Settings of the controller, such as
// RESERVED_ENIS, are read from the environment.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"log"
	"os"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	coreoptions "sigs.k8s.io/karpenter/pkg/operator/options"

	v1 "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"github.com/aws/karpenter-provider-aws/pkg/operator/options"
	"github.com/aws/karpenter-provider-aws/pkg/providers/instancetype"
)

type pool struct {
	Name     string
	Class    v1.EC2NodeClass
	Types    []string
	Overlays map[string]corev1.ResourceList
}

type resources struct {
	Capacity    corev1.ResourceList `json:"capacity"`
	Allocatable corev1.ResourceList `json:"allocatable"`
}

func main() {
	var input struct {
		Types []ec2types.InstanceTypeInfo
		Pools []pool
	}
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		log.Fatal(err)
	}
	infos := map[string]ec2types.InstanceTypeInfo{}
	for _, info := range input.Types {
		infos[string(info.InstanceType)] = info
	}
	// Without Parse, each option has its default or its environment variable's value.
	settings := &options.Options{}
	settings.AddFlags(&coreoptions.FlagSet{FlagSet: flag.NewFlagSet("types", flag.ExitOnError)})
	ctx := options.ToContext(context.Background(), settings)
	resolver := instancetype.NewDefaultResolver("us-west-2")

	output := map[string]map[string]resources{}
	for _, each := range input.Pools {
		output[each.Name] = map[string]resources{}
		for _, name := range each.Types {
			info, known := infos[name]
			if !known {
				log.Fatalf("pool %s: EC2 describes no type %s", each.Name, name)
			}
			resolved := resolver.Resolve(ctx, info, nil, &each.Class)
			resolved.ApplyCapacityOverlay(each.Overlays[name])
			output[each.Name][name] = resources{Capacity: resolved.Capacity, Allocatable: resolved.Allocatable()}
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(output); err != nil {
		log.Fatal(err)
	}
}
