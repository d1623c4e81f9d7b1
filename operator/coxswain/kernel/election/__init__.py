"""Leader election by a Lease: one replica writes, the others stand by with warm caches."""
