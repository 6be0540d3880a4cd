"""Whether tests notice a changed decision: small changes are made in a copy of the package, and its tests are run."""
