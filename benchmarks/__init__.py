"""Measurements: speed against peers, and the papers' figures."""
