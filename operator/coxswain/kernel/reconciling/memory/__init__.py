"""The memory of one parent: bounded, and deleted with the parent."""
