// The appVersion of the chart kube-prometheus-stack 88.5.3:
// https://github.com/prometheus-community/helm-charts/blob/kube-prometheus-stack-88.5.3/charts/kube-prometheus-stack/Chart.yaml
module eks-hardware/cluster-tools/prometheus-operator

go 1.26.0

require github.com/prometheus-operator/prometheus-operator v0.93.1
