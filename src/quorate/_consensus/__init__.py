"""From an ensemble to one labelling: consensus, solve, auto, choose_k, refine."""
