"""Coxswain: a Kubernetes operator. It reconciles the child objects of each `WebApp` custom resource."""
