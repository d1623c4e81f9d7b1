"""Compare desired with live state and plan the writes, given the ownership of each field. No I/O."""
