"""The cache: what is known of the cluster, and how it is kept true."""
