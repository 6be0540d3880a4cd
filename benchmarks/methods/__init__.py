"""Every method on many real data sets: which one should be the default?"""
