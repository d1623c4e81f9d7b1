"""Benchmarks: how long until what the user applied is true, and at what cost; beside what users would pick instead."""
