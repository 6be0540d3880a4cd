"""Building blocks of methods that work on label rows as points: look-up loops, mixtures, local moves."""
