"""The one door for data: any table of labels becomes a checked, coded, compressed Ensemble."""
