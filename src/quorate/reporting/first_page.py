"""The first page of the report, in everyday words: the clusters, what defines them, how far to believe it, a map."""

from __future__ import annotations

import base64
import re
import warnings
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.ids import FEATURES, few, order_of, places_among
from quorate._data.labelling import Labelling
from quorate._data.typed_columns import TypedTable, typed_table
from quorate._evaluation.explanation import CLEAR, SHOWN, Explanation, Trait, explained
from quorate._summaries import Choice
from quorate._trust.subject import Subject
from quorate._types import FloatArray
from quorate._verdict import GRADES, REFERENCE_TELLS, SAME_MEASUREMENTS
from quorate.reporting.page import largest_clusters

MOST_TOLD = 12
"""Clusters that the first page describes; the largest ones."""
MOST_DRAWN = 3_000
"""Objects on the map; of more an even part is drawn."""
MOST_WITHOUT = 0.5
"""The largest share of the objects that may have no row among the features."""
MOST_LOGO = 2_000_000
"""Bytes of a logo, which is copied into the page."""
KINDS = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".svg": "image/svg+xml"}
_MARKS = re.compile(r"(?<=\d)[.,](?=\d)")
"""The marks of decimals and of thousands in a number."""
_WIDTH, _HEIGHT, _MARGIN = 640, 400, 10


class Words(NamedTuple):
    """The sentences of the first page in one language; `grades` are in the order of `GRADES`, then that of none."""

    title: str
    groups: str
    group: str
    nothing: str
    and_: str
    others: str
    more: str
    believe: str
    grades: tuple[str, str, str, str, str]
    untested: str
    same: str
    unsure: str
    all_sure: str
    one: str
    number: str
    or_: str
    map: str
    by_features: str
    by_coordinates: str
    numbers: str
    traits: Mapping[str, tuple[str, str]]


ENGLISH = Words(
    title="Consensus clustering",
    groups="{n} objects were sorted into {k}.",
    group="{k} groups|one group",
    nothing="differs clearly in no column",
    and_="and",
    others="others",
    more="{n} smaller groups are described further down.",
    believe="How far can this be believed?",
    grades=(
        "Not at all: the groups are no better than groups drawn by chance. Do not act on them.",
        "A little: there is something behind the groups, but their borders are weak. Check before you act on them.",
        "Well: the groups come out much alike when the work is repeated, apart from objects at their borders.",
        "Very well: the groups come out nearly the same when the work is repeated.",
        "This was not tested: the groups were not compared with groups drawn by chance.",
    ),
    untested="Whether there are such groups at all, apart from this work, was not tested.",
    same="This is not known: the clusterings were made from the same measurements, and such clusterings agree even if "
    "there are no groups. Have the groups tested before you act on them.",
    unsure="{n} of {total} objects ({share}) could as well belong to another group; treat them with care.",
    all_sure="Hardly any object could as well belong to another group.",
    one="No groups were found that could not be drawn as well by chance.",
    number="How many groups there are is not certain: there may be {others} as well.",
    or_="or",
    map="Map of the objects",
    by_features="Each point is an object; points are near one another if their columns are alike (two main directions, "
    "which hold {share} of the differences).",
    by_coordinates="Each point is an object, at the place that was given.",
    numbers="The numbers behind this page",
    traits={"number": ("high", "low"), "date": ("late", "early"), "share": ("often", "seldom")},
)
GERMAN = Words(
    title="Gruppen aus mehreren Einteilungen",
    groups="{n} Objekte wurden in {k} eingeteilt.",
    group="{k} Gruppen|eine Gruppe",
    nothing="unterscheidet sich in keiner Spalte deutlich",
    and_="und",
    others="andere",
    more="{n} kleinere Gruppen sind weiter unten beschrieben.",
    believe="Wie weit kann man das glauben?",
    grades=(
        "Gar nicht: Die Gruppen sind nicht besser als zufällige. Handeln Sie nicht danach.",
        "Ein wenig: Etwas steckt dahinter, aber die Grenzen der Gruppen sind schwach. Prüfen Sie, bevor Sie handeln.",
        "Gut: Wiederholt man die Arbeit, so kommen fast dieselben Gruppen heraus, außer bei Objekten an den Grenzen.",
        "Sehr gut: Wiederholt man die Arbeit, so kommen beinahe dieselben Gruppen heraus.",
        "Das wurde nicht geprüft: Die Gruppen wurden nicht mit zufälligen verglichen.",
    ),
    untested="Ob es solche Gruppen unabhängig von dieser Arbeit gibt, wurde nicht geprüft.",
    same="Das weiß man nicht: Alle Einteilungen stammen aus denselben Messwerten, und dann ähneln sie einander "
    "auch dann, wenn es keine Gruppen gibt. Lassen Sie die Gruppen prüfen, bevor Sie handeln.",
    unsure="{n} von {total} Objekten ({share}) könnten ebenso gut zu einer anderen Gruppe gehören; Vorsicht mit ihnen.",
    all_sure="Kaum ein Objekt könnte ebenso gut zu einer anderen Gruppe gehören.",
    one="Es fanden sich keine Gruppen, die man nicht ebenso gut zufällig bilden könnte.",
    number="Wie viele Gruppen es gibt, ist nicht sicher: Es könnten auch {others} sein.",
    or_="oder",
    map="Karte der Objekte",
    by_features="Jeder Punkt ist ein Objekt; nahe Punkte haben ähnliche Spalten (zwei Hauptrichtungen, die {share} der "
    "Unterschiede enthalten).",
    by_coordinates="Jeder Punkt ist ein Objekt an dem Ort, der angegeben wurde.",
    numbers="Die Zahlen hinter dieser Seite",
    traits={"number": ("hoch:", "niedrig:"), "date": ("spät:", "früh:"), "share": ("häufig:", "selten:")},
)
LANGUAGES = {"en": ENGLISH, "de": GERMAN}


class Front(NamedTuple):
    """What the first page is made of, besides the result; the language is English if it is None."""

    features: Any = None
    coordinates: Any = None
    language: str | None = None
    logo: str | Path | None = None

    @property
    def title(self) -> str:
        """What the page is called if the user does not say it."""
        return LANGUAGES[self.language or "en"].title

    def text(self, subject: Subject, title: str, shades: Sequence[str], choice: Choice | None = None) -> str:
        """Return the first page as a section of HTML; `choice` says how sure the number of groups is."""
        return first_page(subject, self, title, shades, choice)


def checked_front(features: Any, coordinates: Any, language: str | None, logo: Any) -> Front:
    """Check the options of the first page that can be checked before any work is done."""
    if language is not None:
        _check.choice(language, "language", tuple(LANGUAGES))
    if logo is not None:
        _logo(logo)
    return Front(features, coordinates, language, logo)


def first_page(subject: Subject, front: Front, title: str, shades: Sequence[str], choice: Choice | None = None) -> str:
    """Return the first page as a section of HTML."""
    words = LANGUAGES[front.language or "en"]
    table = None if front.features is None else _beside(subject, front.features)
    found = None if table is None else _explained(subject, table)
    drawn = _map(subject, front, table, shades, words)
    logo = "" if front.logo is None else f'<img class="logo" src="{_logo(front.logo)}" alt="">'
    groups = _chosen(words.group, subject.n_clusters)
    head = words.groups.format(n=_count(int(subject.labelled.sizes.sum()), words), k=groups)
    return (
        f'<section id="front" lang="{front.language or "en"}">{logo}<h1>{escape(title)}</h1>'
        f'<p class="headline">{escape(head)}</p><ul class="groups">{_groups(subject, found, shades, words)}</ul>'
        f"<h2>{escape(words.believe)}</h2><p>{escape(believed(subject, words, choice))}</p>"
        f'{drawn}<p><a href="#verdict">{escape(words.numbers)}</a></p></section>'
    )


def _beside(subject: Subject, features: Any) -> TypedTable:
    """Read the features, in the order of the objects if both have names; a few objects may have none."""
    table = typed_table(features)
    if table.object_ids is not None and subject.ids is not None:
        places = places_among(subject.ids, table.object_ids)
        lost = np.flatnonzero(places < 0)
        if len(lost) > MOST_WITHOUT * len(places) or (len(lost) and table.matrix is not None):
            order_of(subject.ids, table.object_ids, FEATURES)  # which says who has no row
        if len(lost):
            warnings.warn(
                f"{_check.counted(len(lost), 'object')} of {len(places):,} have no row in features "
                f"({few(subject.ids[lost[:6]])}); their columns count as gaps.",
                UserWarning,
                stacklevel=4,
            )
        table = table.in_order(places)._replace(object_ids=subject.ids)
    if table.n_objects != subject.ensemble.n_rows:
        raise ValueError(
            f"features must have one row per object of the ensemble, {subject.ensemble.n_rows:,}, got "
            f"{table.n_objects:,}; rows are matched by name if both tables have ids (--id)."
        )
    return table


def _explained(subject: Subject, table: TypedTable) -> Explanation:
    return explained(Labelling(subject.labels, np.array(subject.names, dtype=object)), table, 50)


def _groups(subject: Subject, found: Explanation | None, shades: Sequence[str], words: Words) -> str:
    """The largest groups with their sizes and, if features are known, what defines them."""
    sizes, order = subject.labelled.sizes, largest_clusters(subject)
    items = []
    for cluster in order[:MOST_TOLD]:
        name, share = subject.names[cluster], sizes[cluster] / sizes.sum()
        told = "" if found is None else f": {escape(sentence(_of_columns(found.of(name, least=CLEAR)), words))}"
        items.append(
            f'<li><span class="swatch" style="background:{shades[cluster]}"></span><b>{escape(name)}</b> '
            f"({_count(int(sizes[cluster]), words)}, {share:.0%}){told}</li>"
        )
    rest = subject.n_clusters - MOST_TOLD
    return "".join(items) + (f"<li>{escape(words.more.format(n=rest))}</li>" if rest > 0 else "")


def _of_columns(traits: Sequence[Trait]) -> list[Trait]:
    """The most striking trait of each column, as many as a sentence has room for."""
    first: dict[str, Trait] = {}
    for trait in traits:
        first.setdefault(trait.column, trait)
    return list(first.values())[:SHOWN]


def sentence(traits: Sequence[Trait], words: Words) -> str:
    """Say what defines a cluster: its most striking columns, with the mean or share of the others beside."""
    if not traits:
        return words.nothing
    told = []
    for trait in traits:
        kind = trait.kind if trait.kind in words.traits else "share"
        name = trait.column if trait.category is None else f"{trait.column} {trait.category}"
        values = trait.text.rpartition(" (")[2].removesuffix(")")
        if words is not ENGLISH:
            values = _MARKS.sub(lambda mark: "," if mark[0] == "." else ".", values).replace(", others", "; others")
        values = values.replace("others ", f"{words.others} ")
        told.append(f"{words.traits[kind][int(trait.effect < 0)]} {name} ({values})")
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} {words.and_} {told[-1]}"


def believed(subject: Subject, words: Words, choice: Choice | None = None) -> str:
    """Say in everyday words how far to believe the groups and their number, and how many objects are unsure."""
    verdict = subject.verdict
    first = words.grades[GRADES.index(verdict.grade) if verdict.grade in GRADES else -1]
    if subject.n_clusters == 1:
        return words.one if verdict.grade == GRADES[0] else first
    if verdict.text == SAME_MEASUREMENTS:
        first = words.same
    elif verdict.grade in GRADES[2:] and verdict.cannot_tell != REFERENCE_TELLS:
        first = f"{first} {words.untested}"
    if choice is not None and choice.undecided and choice.candidates[0] == subject.n_clusters:
        others = f" {words.or_} ".join(map(str, choice.candidates[1:]))
        first = f"{first} {words.number.format(others=others)}"
    counts = subject.ensemble.counts[subject.known]
    n_low = int(counts[subject.confidence[subject.known] < subject.ambiguous].sum())
    total = int(counts.sum())
    if n_low < 0.01 * total:
        return f"{first} {words.all_sure}"
    numbers = {"n": _count(n_low, words), "total": _count(total, words), "share": f"{n_low / total:.0%}"}
    return f"{first} {words.unsure.format(**numbers)}"


def _map(subject: Subject, front: Front, table: TypedTable | None, shades: Sequence[str], words: Words) -> str:
    """A picture of the objects at the given coordinates, or by the two main directions of the features."""
    places, caption = None, words.by_coordinates
    if front.coordinates is not None:
        places = _given_places(front.coordinates, subject.ensemble.n_rows)
    elif table is not None and (table.matrix is not None or table.columns):
        places, share = main_directions(table)
        caption = words.by_features.format(share=f"{share:.0%}")
    if places is None:
        return ""
    known = np.flatnonzero((subject.labels >= 0) & np.isfinite(places).all(axis=1))
    drawn = known[np.linspace(0, len(known) - 1, min(len(known), MOST_DRAWN)).astype(np.intp)] if len(known) else known
    low, high = (bound(places[known], axis=0) if len(known) else np.zeros(2) for bound in (np.min, np.max))
    scaled = (places[drawn] - low) / np.where(high > low, high - low, 1.0)
    x = _MARGIN + scaled[:, 0] * (_WIDTH - 2 * _MARGIN)
    y = _HEIGHT - _MARGIN - scaled[:, 1] * (_HEIGHT - 2 * _MARGIN)
    points = "".join(
        f'<circle cx="{left:.1f}" cy="{top:.1f}" r="2.5" fill="{shades[cluster]}"/>'
        for left, top, cluster in zip(x.tolist(), y.tolist(), subject.labels[drawn].tolist(), strict=True)
    )
    return (
        f'<h2>{escape(words.map)}</h2><svg class="front-map" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(words.map)}">{points}</svg><p class="caption">{escape(caption)}</p>'
    )


def _given_places(coordinates: Any, n_rows: int) -> FloatArray:
    values = np.asarray(coordinates, dtype=np.float64)
    if values.shape != (n_rows, 2):
        raise ValueError(f"coordinates must have two columns and {n_rows:,} rows, one per object, got {values.shape}.")
    return values


def main_directions(table: TypedTable) -> tuple[FloatArray | None, float]:
    """The places of the objects along the two main directions of the columns, and their share of the variance.

    Columns of any kind become numbers as `EnsembleClustering(columns="auto")` makes them; a sparse matrix is not drawn.
    """
    from quorate._data.mixed_columns import mixed_columns

    if hasattr(table.matrix, "tocsr"):
        return None, 0.0
    values = np.asarray(_dense(table) if table.matrix is not None else mixed_columns(table).encoded(table), np.float64)
    centred = values - values.mean(axis=0)
    spread, directions = np.linalg.eigh(centred.T @ centred)
    total = spread.sum()
    if total <= 0 or len(spread) < 2:
        return None, 0.0
    chosen = directions[:, ::-1][:, :2]
    # the largest entry of a direction is positive, so that the picture is the same on every machine
    signs = np.sign(chosen[np.abs(chosen).argmax(axis=0), [0, 1]])
    places: FloatArray = centred @ (chosen * signs)
    return places, float(spread[-2:].sum() / total)


def _dense(table: TypedTable) -> NDArray[Any]:
    """Columns of a matrix on one scale, gaps at the mean."""
    values = np.asarray(table.matrix, dtype=np.float64)
    known = np.isfinite(values)
    counts = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, values, 0.0).sum(axis=0) / counts
    filled = np.where(known, values, mean) - mean
    deviation = np.sqrt((filled**2).mean(axis=0))
    scaled: NDArray[Any] = filled / np.where(deviation > 0, deviation, 1.0)
    return scaled


def _logo(logo: Any) -> str:
    """Return a picture as a text that the page contains; what is no picture, or too large, is refused."""
    path = Path(logo)
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise ValueError(f"logo must be a file that ends in {', '.join(KINDS)}, got {str(path)!r}.")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise type(error)(f"cannot read the logo {path}: {error.strerror or error}.") from error
    if len(content) > MOST_LOGO:
        raise ValueError(f"logo must have at most {MOST_LOGO:,} bytes, {path} has {len(content):,}; make it smaller.")
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def _chosen(text: str, count: int) -> str:
    many, one = text.split("|")
    return one if count == 1 else many.format(k=count)


def _count(number: int, words: Words) -> str:
    """Write a number with the separator of thousands that the language has."""
    return f"{number:,}" if words is ENGLISH else f"{number:,}".replace(",", ".")
