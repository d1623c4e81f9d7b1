"""`kubectl coxswain`: shows and changes WebApps through kubectl. Needs nothing but the standard library."""

VERSION = "0.1.0"
"""The version of the plugin and of the operator's code in it."""
