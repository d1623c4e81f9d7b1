"""The operator's own HTTP endpoints: the probes, and the metrics with TLS and authorization."""
