"""API objects: kinds, manifests, projections and field paths. No I/O."""
