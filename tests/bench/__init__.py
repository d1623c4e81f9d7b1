"""Benchmarks: the time until an applied change is effective, and its cost, compared with alternatives for users."""
