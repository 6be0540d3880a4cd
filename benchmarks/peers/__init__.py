"""Quorate beside what users can install today and the recipes people write by hand."""
