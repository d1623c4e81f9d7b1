"""The WebApp workload: pure functions from a WebApp and its observed children to manifests and a status."""
