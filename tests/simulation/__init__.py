"""The simulation: the operator's own code in virtual time, against a model of the cluster."""
