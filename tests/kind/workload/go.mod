module workload

go 1.26.0
