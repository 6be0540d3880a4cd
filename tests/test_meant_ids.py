"""Ids as people mean them, one column of ids for each file, repeated ids, and new objects in several files."""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import join, load_labels, update
from quorate.cli import main


def write(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def slowly_merged(ids: list[str], column: list[int], rule: str) -> dict[str, int]:
    """One label for each id, -1 for none: that of the first or last row, or of most of its rows that have one."""
    found = {}
    for name in dict.fromkeys(ids):
        own = [label for label, other in zip(column, ids, strict=True) if other == name]
        known = [label for label in own if label >= 0]
        voted = Counter(known).most_common(1)[0][0] if known else -1
        found[name] = {"first": own[0], "last": own[-1], "vote": voted}[rule]
    return found


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(-1, 2)), min_size=2, max_size=20), st.data())
def test_repeated_ids_are_merged_as_the_slow_way_does(rows: list[tuple[str, int]], data: st.DataObject) -> None:
    from tempfile import TemporaryDirectory

    rule = data.draw(st.sampled_from(["first", "last", "vote"]))
    ids, column = [name for name, _ in rows], [label for _, label in rows]
    wanted = slowly_merged(ids, column, rule)
    with TemporaryDirectory() as folder:
        path = write(Path(folder), "a.csv", "id,m,n\n" + "".join(f"{name},{label},x\n" for name, label in rows))
        if max(wanted.values()) < 0:
            return
        read = load_labels(path, ids="id", duplicates=rule)
    meant = [-1 if code < 0 else int(read.categories[0][code]) for code in read.labels[:, 0]]
    assert dict(zip(read.object_ids.tolist(), meant, strict=True)) == wanted  # type: ignore[union-attr]
    times = Counter(ids)
    assert read.info.get("duplicates", {"n": 0})["n"] == sum(count > 1 for count in times.values())


def test_repeated_ids_are_refused_unless_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, "a.csv", "id,m,n\na,1,1\na,2,1\nb,2,2\nc,1,2\n")
    with pytest.raises(ValueError, match="twice"):
        load_labels(path, ids="id")
    with pytest.raises(ValueError, match="duplicates must be"):
        load_labels(path, ids="id", duplicates="mean")
    line = ["consensus", path, "--id", "id", "-k", "2", "--no-null", "--duplicates"]
    assert main([*line, "last"]) == 0
    assert "1 ids; taken is the last row" in capsys.readouterr().out
    with pytest.raises(ValueError, match="has no id"):
        load_labels(write(tmp_path, "b.csv", "id,m\na,1\n,2\n"), ids="id", duplicates="vote")


SPELLINGS = {
    "leading zeros": ("0071", "71"),
    "spaces": ("a  b ", "a b"),
    "upper and lower case": ("Ann", "ann"),
    "numbers such as 7.0 for 7": ("7.0", "7"),
    "Unicode forms": ("Zo\u00eb", "Zoe\u0308"),
}


@pytest.mark.parametrize("cause", SPELLINGS)
def test_few_matches_are_told_with_counts_and_cause(cause: str) -> None:
    odd, usual = SPELLINGS[cause]
    one = pd.Series([1, 1, 2, 2], index=[odd, f"{odd}9", f"9{odd}".strip(), "shared"], name="one")
    two = pd.Series([1, 1, 2, 2], index=[usual, "p", "q", "shared"], name="two")
    with pytest.warns(UserWarning, match=f"only 1 of the 4 ids of table 0 .* 4 ids .*{cause}"):
        assert join(one, two).n_rows == 7
    loose = join(one, two, ids_as="loose")
    assert loose.n_rows < 7
    assert loose.object_ids.tolist()[0] == odd  # type: ignore[union-attr]
    assert (loose.labels[0] >= 0).all()


def test_ids_that_match_need_no_warning_and_strangers_are_told_why() -> None:
    one = pd.Series([1, 1, 2], index=["a", "b", "c"], name="one")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        join(one, pd.Series([1, 2, 2], index=["b", "c", "d"], name="two"))
        join(one, pd.Series([1, 2, 2], index=["c", "x", "y"], name="two"))
    with pytest.raises(ValueError, match=r"none of the 3 objects .*upper and lower case \(3\)"):
        join(one, pd.Series([1, 2, 2], index=["A", "B", "C"], name="two"))
    with pytest.raises(ValueError, match="which are the same if ids are compared loosely"):
        join(one, pd.Series([1, 2], index=["a", "A"], name="two"), ids_as="loose")
    with pytest.raises(ValueError, match="ids_as must be"):
        join(one, one.rename("two"), ids_as="number")


def test_the_column_of_ids_is_named_for_each_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    web = write(tmp_path, "web.csv", "KdNr,seg\n1,a\n2,a\n3,b\n4,b\n")
    shop = write(tmp_path, "shop.csv", "customer,seg\n4,x\n3,x\n2,y\n1,y\n")
    wanted = load_labels([web, shop], ids={"web.csv": "KdNr", "shop": "customer"})
    assert wanted.member_names == ("web.seg", "shop.seg")
    assert wanted.labels.tolist() == [[0, 0], [0, 0], [1, 1], [1, 1]]
    line = ["consensus", web, shop, "-k", "2", "--no-null", "--json"]
    for ids in (["--id", "web.csv=KdNr", "--id", "shop.csv=customer"], ["--id", f"{web}=KdNr", "--id", "customer"]):
        assert main([*line, *ids]) == 0
        assert json.loads(capsys.readouterr().out)["n_objects"] == 4
    assert main([*line, "--id", "wen.csv=KdNr"]) == 2
    assert "which the command does not read" in capsys.readouterr().err
    with pytest.raises(ValueError, match="none of the files"):
        load_labels([web, shop], ids={"wen.csv": "KdNr"})
    tables = {"web": pd.read_csv(web), "shop": pd.read_csv(shop)}
    assert join(tables, ids={"web": "KdNr", "shop": "customer"}).labels.tolist() == wanted.labels.tolist()


def test_members_are_named_alike_in_join_and_files(tmp_path: Path) -> None:
    paths = [write(tmp_path, f"{name}.csv", "id,seg\na,1\nb,2\nc,2\n") for name in ("web", "shop")]
    read = [load_labels(path, ids="id") for path in paths]
    assert join(*read).member_names == load_labels(paths, ids="id").member_names == ("web.seg", "shop.seg")


def test_new_objects_come_from_one_file_per_department(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = np.repeat([0, 1, 2], 30)
    lines = {name: [f"{row},{(label + shift) % 3}" for row, label in enumerate(truth)]
             for shift, name in enumerate(("web", "shop"))}  # fmt: skip
    files = [write(tmp_path, f"{name}.csv", "\n".join(["id,seg", *rows])) for name, rows in lines.items()]
    labels = write(tmp_path, "labels.csv", "\n".join(["id,label", *(f"{row},{k}" for row, k in enumerate(truth))]))
    (tmp_path / "new").mkdir()
    web = write(tmp_path / "new", "web.csv", "id,seg\nann,0\nbob,1\n")
    shop = write(tmp_path / "new", "shop.csv", "id,seg\nbob,2\ncid,0\n")
    out = tmp_path / "out.csv"
    line = ["place", *files, labels, web, "--new", shop, "--id", "id", "-o", str(out)]
    assert main(line) == 0
    placed = pd.read_csv(out).set_index("id")["label"]
    assert placed.to_dict() == {"ann": 0, "bob": 1, "cid": 2}
    assert main([*line, "--force", "--memory", "1GB"]) == 2
    assert "--new needs a table in memory" in capsys.readouterr().err


def test_columns_of_other_spellings_are_matched_if_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{row:03}" for row in range(30)]
    labels = write(tmp_path, "labels.csv", "\n".join(["id,a,b", *(f"{r},{int(r) % 2},{int(r) % 2}" for r in rows)]))
    result = write(tmp_path, "result.csv", "\n".join(["id,label", *(f"{r},{int(r) % 2}" for r in rows)]))
    table = write(tmp_path, "table.csv", "\n".join(["no,x", *(f"{int(r)},{int(r) % 2}.5" for r in reversed(rows))]))
    page = tmp_path / "page.html"
    line = ["report", labels, result, "--id", "id", "--id", f"{table}=no", "--features", table, "-o", str(page)]
    assert main(line) == 2
    said = capsys.readouterr().err
    assert "table.csv has no measurements of 30 of the 30 objects ('000', '001'" in said
    assert "leading zeros" in said
    assert "--ids-as loose" in said
    assert main([*line, "--ids-as", "loose"]) == 0
    assert "high x (1.5, others 0.5)" in re.sub("<[^>]*>", "", page.read_text(encoding="utf-8"))
    some = [f"{int(row)},{int(row) % 2}.5" for row in rows[:20]]
    write(tmp_path, "table.csv", "\n".join(["no,x", *some, "99,7.5"]))
    assert main([*line, "--ids-as", "loose", "--force"]) == 0, "a few objects may have no row, and there may be others"
    assert "10 objects of 30 have no row in features ('020', '021'" in capsys.readouterr().err
    assert "high x (1.5, others 0.5)" in re.sub("<[^>]*>", "", page.read_text(encoding="utf-8"))
    write(tmp_path, "table.csv", "no,x\n0,1.5\n1,2.5\n")
    assert main([*line, "--ids-as", "loose", "--force"]) == 2
    assert "add them, or leave these objects out" in capsys.readouterr().err


def test_a_labelling_of_another_spelling_is_matched_if_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{row:03}" for row in range(30)]
    labels = write(tmp_path, "labels.csv", "\n".join(["id,a,b", *(f"{r},{int(r) % 2},{int(r) % 2}" for r in rows)]))
    result = write(tmp_path, "result.csv", "\n".join(["id,label", *(f"{int(r)},{int(r) % 2}" for r in rows[::-1])]))
    table = write(tmp_path, "table.csv", "\n".join(["id,x", *(f"{r},{int(r) % 2}.5" for r in rows)]))
    parents = write(tmp_path, "parents.csv", "node,parent\n0,all\n1,all\n")
    out = str(tmp_path / "out.csv")
    for line in (
        ["score", labels, result, "--no-null"],
        ["divide", labels, result, "--cluster", "0", "--no-null", "-o", out],
        ["place", labels, result, labels, "-o", out],
        ["names", labels, "--clusters", result, "--parents", parents, "-o", out],
        ["explain", result, table, "-o", out],
        ["update", labels.replace("labels", "may"), result, "-o", out],
    ):
        if line[0] == "update":
            write(tmp_path, "may.csv", "\n".join(["id,label", *(f"{r},{int(r) % 2}" for r in rows)]))
        line = [*line, "--id", "id", "--force"] if "-o" in line else [*line, "--id", "id"]
        assert main(line) == 2, line
        assert "more would match if they were compared loosely: leading zeros" in capsys.readouterr().err, line
        assert main([*line, "--ids-as", "loose"]) == 0, line
        capsys.readouterr()


def test_an_update_says_why_few_ids_match() -> None:
    may = pd.Series([0] * 20 + [1] * 20, index=[f"{row:03}" for row in range(40)])
    june = pd.Series([1] * 20 + [0] * 20, index=[str(row) for row in range(60, 100)])
    with pytest.raises(ValueError, match=r"no object in common: '000' .* compare how the ids are written"):
        update(may, june)
    june.index = [f"{row:03}" if row < 5 else str(row) for row in range(40)]
    with pytest.warns(UserWarning, match="only 5 of the 40 ids of before .* leading zeros"):
        assert update(may, june).n_new == 35
    loose = update(may, june, ids_as="loose")
    assert (loose.n_stayed, loose.n_new) == (40, 0)
    assert loose.object_ids is not None
    assert loose.object_ids.tolist() == june.index.tolist()
    with pytest.raises(ValueError, match="ids_as must be one of"):
        update(may, june, ids_as="numbers")
