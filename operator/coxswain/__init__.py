"""Coxswain: one `WebApp` object says what should run; the operator keeps its children equal to it."""
