module coxswain.dev/cluster/gateway

go 1.26.0

require sigs.k8s.io/gateway-api v1.5.1
