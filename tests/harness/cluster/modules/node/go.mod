module coxswain.dev/cluster/node

go 1.26.0
