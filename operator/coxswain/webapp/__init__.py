"""What a WebApp means: pure functions from it and what was observed to manifests and a status. No I/O, no clock."""
