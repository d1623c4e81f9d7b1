"""The peers: other operators for WebApps, with the same children and a similar status."""
