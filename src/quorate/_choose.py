"""The home of Choice and Candidate in version 0.1: a Consensus that was pickled then names this module."""

from quorate._consensus.choose_k import Candidate, Choice

__all__ = ["Candidate", "Choice"]
