"""The printed figures of Candel's Tables 1 to 7, as printed: NMI and density times 100."""

from __future__ import annotations

COLUMNS = (
    "Max",
    "Mean",
    "KM",
    "H-KM",
    "SEC",
    "MCLA",
    "ECC",
    "CSPA",
    "R-SL",
    "R-AL",
    "R-ML",
    "E-SL",
    "E-AL",
    "E-ML",
)

_NMI = """
abalone 85.34 84.23 80.48 82.35 77.91 81.02 73.74 79.87 51.53 81.31 55.32 52.86 80.55 81.06
advertisement 81.54 77.16 81.82 80.29 80.61 79.93 80.03 67.62 59.27 81.93 78.63 60.21 80.19 79.71
breastcancer 74.96 69.94 73.41 67.12 70.13 74.87 72.46 60.91 67.29 77.76 76.86 65.12 73.2 74.1
contraceptive 72.57 69.31 75.07 74.48 74.39 73.21 73.23 70.39 45.87 75.28 72.6 50.09 74.69 73.7
drybean 82.67 79.73 80.09 80.77 78.5 78.9 69.99 78.22 - - - - - -
ecoli 80.67 77.62 80.65 78.21 79.74 80.91 79.15 71.23 80.68 82.61 81.78 76.9 82.62 82.23
gisette 58.66 56.1 60.81 58.34 59.82 59.62 52.91 54.81 - - - - - -
glass 85.96 82.35 77.24 74.34 77.39 84.3 76.86 61.03 83.07 81.67 81.22 84 84.01 83.48
ionosphere 74.08 68.94 72.15 68.28 71.72 74.14 69.47 58.64 71.94 76.47 74.18 73.52 76.19 75.66
landstat 78.01 75.27 77.2 76.67 75.55 76.06 71.21 70.06 5.28 76.26 58.33 6.53 73.23 74.02
musk 82.06 77.83 79.51 79.29 77.85 78.78 68.79 76.22 - - - - - -
nursery 73.89 67.9 64.59 67.05 63.7 65.06 52.44 64.88 - - - - - -
pendigits 83.88 81.33 78.95 79.64 76.13 79.69 68.97 76.73 - - - - - -
user_knowledge 74.32 69.88 76.63 75.21 76.33 74.5 74.31 55.84 69.66 77.89 77.34 67.27 76.83 77.02
yeast 71.86 69.12 74.77 72.42 72.83 71.67 70.2 68.39 16.71 74.26 62.07 19.34 71.07 71.49
"""

_DENSITY = """
abalone 73.9 66.9 51.6 49.9 45.5 41.6 37.7 47.5 14 42.3 29.3 13.9 39.9 41.2
advertisement 89.7 75.1 80.9 78 60.4 71.6 77.2 70.2 48.3 75 69.5 48 69.8 69.7
breastcancer 81.7 69.7 85.7 79.9 78.6 76.9 82.3 76.3 59.1 77.3 77.8 51.9 59.3 63.5
contraceptive 62.9 50.1 60.2 58.9 57.9 55.7 48.5 55.3 22.6 57.6 54.6 16.5 49.7 54.4
drybean 84.6 65.8 55.4 54.9 50.5 41.3 37 52.1 - - - - - -
ecoli 76.5 69.4 83.3 81.2 81.2 76.1 79.7 72.3 65.4 80.4 81.4 56.6 73.2 75.6
gisette 45.1 38.4 35.6 33.2 34.5 32.7 26.3 31.2 - - - - - -
glass 88.9 81.1 96.7 91.7 93.1 87.7 94.6 84.7 92.1 93.7 94.6 85.5 89.5 90.1
ionosphere 83.1 72.6 88.9 81.7 86.3 81 85.7 78.9 66.8 85.1 87.5 69.9 78.3 82.5
landstat 72 60.7 56.9 55.8 51.6 47.2 43.4 51.1 6.2 45.5 30.8 6.1 38.2 40.7
musk 85 66.9 55.1 55 48.7 50.9 38 51.8 - - - - - -
nursery 67.4 47.1 29.8 32.3 27.8 30.8 18.2 30.3 - - - - - -
pendigits 78.1 66.3 46.7 45.8 40.4 41.2 31.4 43.1 - - - - - -
user_knowledge 74.2 63.1 79.8 78.3 78 71.7 75.1 53.1 53.4 76.9 77.34 47.7 67 72.6
yeast 63 55.4 61.5 59.1 58.1 55.4 52.5 55.6 10.2 57.6 48.1 10.05 47.74 51.2
"""


BEST = ("Best-NH", "Best-H")
"""The last columns of Tables 6 and 7: the best figure of the methods that make no tree, and of the trees."""

_BEST_NMI = """
abalone 81.02 81.31
advertisement 80.61 81.93
breastcancer 74.87 77.76
contraceptive 74.39 75.28
drybean 78.90 -
ecoli 80.91 82.61
gisette 59.82 -
glass 84.3 84.04
ionosphere 74.14 76.47
landstat 76.06 76.26
musk 78.78 -
nursery 65.06 -
pendigits 79.69 -
user_knowledge 76.33 77.89
yeast 72.83 74.26
"""

_BEST_DENSITY = """
abalone 47.5 42.3
advertisement 77.2 75.0
breastcancer 82.3 77.8
contraceptive 57.9 57.6
drybean 52.1 -
ecoli 81.2 81.4
gisette 34.5 -
glass 94.6 94.6
ionosphere 86.3 87.5
landstat 51.6 45.5
musk 51.8 -
nursery 30.8 -
pendigits 43.1 -
user_knowledge 78.0 77.3
yeast 58.1 57.6
"""


def _table(text: str, columns: tuple[str, ...] = COLUMNS) -> dict[str, dict[str, float]]:
    """{set: {column: figure}}, without the figures the paper does not give."""
    rows = (line.split() for line in text.strip().splitlines())
    return {
        name: {column: float(cell) for column, cell in zip(columns, cells, strict=True) if cell != "-"}
        for name, *cells in rows
    }


PRINTED = {"nmi": _table(_NMI), "density": _table(_DENSITY)}
"""{"nmi" or "density": {set: {column: figure times 100}}}."""
PRINTED_BEST = {"nmi": _table(_BEST_NMI, BEST), "density": _table(_BEST_DENSITY, BEST)}
"""The same for the columns of `BEST`."""
