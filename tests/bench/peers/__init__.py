"""The peers: other operators of WebApps, which make the same children and a like status."""
