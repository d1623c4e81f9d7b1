"""The in-memory cache of the cluster, its relists, and its coverage."""
