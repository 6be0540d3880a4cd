"""Recorded results of every method on many ensembles, so that a change that should change nothing can be shown to."""
