"""Files of offices: Windows-1252, semicolons and decimal commas out, Excel out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from quorate import consensus, load_labels, save_ensemble, save_labels
from quorate.cli import main

TABLE = "kunde;filiale;web\nMüller;Köln;1\nWeiß;Köln;1\nSørensen;Bonn;2\nÇelik;Bonn;2\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_usual_encodings_are_recognised(encoding: str, tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    path = tmp_path / "kunden.csv"
    path.write_bytes(TABLE.encode(encoding))
    ensemble = load_labels(path, ids="kunde")
    assert ensemble.object_ids.tolist() == ["Müller", "Weiß", "Sørensen", "Çelik"]
    assert ensemble.categories[0].tolist() == ["Köln", "Bonn"]
    said = [str(warning.message) for warning in recwarn]
    assert len(said) == (encoding == "cp1252")
    assert all("was read as Windows-1252" in text and "--encoding latin2" in text for text in said)


def test_an_encoding_that_is_given_is_taken_without_a_warning(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    path = tmp_path / "kunden.csv"
    path.write_bytes("kunde;a\nŁódź;1\nGdańsk;2\n".encode("latin2"))
    assert load_labels(path, ids="kunde", encoding="latin2").object_ids.tolist() == ["Łódź", "Gdańsk"]
    path.write_bytes(TABLE.encode("cp1252"))
    assert load_labels(path, ids="kunde", encoding="cp1252").object_ids[0] == "Müller"
    assert len(recwarn) == 0
    with pytest.raises(ValueError, match=r"is not utf-8 text .* say how it is encoded"):
        load_labels(path, ids="kunde", encoding="utf-8")
    with pytest.raises(ValueError, match="must be one that Python knows"):
        load_labels(path, ids="kunde", encoding="base64")


def test_an_encoding_that_a_file_does_not_have_is_warned_of(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    path = tmp_path / "new.csv"
    path.write_text("id,a\n1,Groß\n2,Groß\n3,Klein\n", encoding="utf-8")
    with pytest.warns(UserWarning, match=r"new\.csv looks like UTF-8, and was read as cp1252"):
        load_labels(path, ids="id", encoding="cp1252")
    recwarn.clear()
    load_labels(path, ids="id", encoding="utf8")
    path.write_text("id,a\n1,Groß\n2,Groß\n3,Klein\n", encoding="cp1252")
    load_labels(path, ids="id", encoding="cp1252")
    assert not recwarn.list


def test_bytes_that_are_no_text_are_still_refused(tmp_path: Path) -> None:
    path = tmp_path / "noise.csv"
    path.write_bytes(b"a,b\n\x01\x02\xe9,1\n2,2\n")
    with pytest.raises(ValueError, match="is not UTF-8 or UTF-16 text"):
        load_labels(path)


def test_excel_files_are_written_and_read_again(tmp_path: Path) -> None:
    table = pd.DataFrame({"a": ["x", "x", "=1+1", None], "b": [1, 1, 2, 2]}, index=["007", "b", "=c", "d"])
    result = consensus(table, 2)
    save_labels(tmp_path / "labels.xlsx", result)
    again = pd.read_excel(tmp_path / "labels.xlsx", dtype={"id": str})
    assert again["id"].tolist() == ["007", "b", "=c", "d"], "a text that looks like a formula stays a text"
    assert again["label"].tolist() == result.labels.tolist()
    assert again["confidence"].to_numpy() == pytest.approx(result.confidence, abs=1e-6)
    ensemble = load_labels_of(table, tmp_path)
    assert ensemble.categories[0].tolist() == ["x", "=1+1"]
    with pytest.raises(ValueError, match="control characters"):
        save_labels(tmp_path / "bad.xlsx", [0, 1], ids=["a\x07", "b"])
    assert not (tmp_path / "bad.xlsx").exists()


def load_labels_of(table: pd.DataFrame, folder: Path):  # type: ignore[no-untyped-def]
    from quorate import as_ensemble

    save_ensemble(folder / "table.xlsx", as_ensemble(table))
    return load_labels(folder / "table.xlsx", ids="id")


def test_semicolons_and_decimal_commas_are_written(tmp_path: Path) -> None:
    result = consensus([[0, 0, 1, 1, 1], [0, 0, 0, 1, 1], [0, 0, 0, 1, 1]], 2, random_state=0)
    path = tmp_path / "labels.csv"
    save_labels(path, result, decimal=",")
    again = pd.read_csv(path, sep=";", decimal=",")
    assert again["label"].tolist() == result.labels.tolist()
    assert again["confidence"].to_numpy() == pytest.approx(result.confidence, abs=1e-6)
    save_labels(path, result, sep="tab", overwrite=True)
    assert path.read_text().startswith("label\tconfidence\n")
    for options, message in (({"decimal": ",", "sep": ","}, "must differ"), ({"decimal": ";"}, "decimal must be")):
        with pytest.raises(ValueError, match=message):
            save_labels(path, result, overwrite=True, **options)
    with pytest.raises(ValueError, match="are for text files"):
        save_labels(tmp_path / "labels.parquet", result, sep=";")


def test_an_office_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    Path("kunden.csv").write_bytes(TABLE.encode("cp1252"))
    call = ["consensus", "kunden.csv", "--id", "kunde", "-k", "2", "--no-null"]
    assert main([*call, "-o", "aus.xlsx"]) == 0
    assert "was read as Windows-1252" in capsys.readouterr().err
    assert pd.read_excel("aus.xlsx")["kunde"].tolist() == ["Müller", "Weiß", "Sørensen", "Çelik"]
    assert main([*call, "-o", "aus.csv", "--decimal", "comma", "--encoding", "cp1252"]) == 0
    assert capsys.readouterr().err == ""
    frame = pd.read_csv("aus.csv", sep=";", decimal=",")
    assert frame["confidence"].dtype == np.float64
    assert main([*call, "--memory", "1GB", "--encoding", "cp1252", "-o", "x.csv"]) == 0
    assert pd.read_csv("x.csv")["kunde"].tolist() == ["Müller", "Weiß", "Sørensen", "Çelik"]


@pytest.mark.parametrize("n", [6, 60])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.xlsx", "a.parquet", "comma.csv"])
def test_decimals_are_measurements_in_every_format(name: str, n: int, tmp_path: Path) -> None:
    """Amounts that repeat are no labels, however the file keeps them."""
    frame = pd.DataFrame(
        {
            "id": [f"c{place}" for place in range(n)],
            "segment": ["a", "b"] * (n // 2),
            "revenue": [1.5 + place % 12 for place in range(n)],
        }
    )
    path = tmp_path / name
    if name == "comma.csv":
        frame.to_csv(path, sep=";", decimal=",", index=False)
    elif name.endswith("sv"):
        frame.to_csv(path, sep="\t" if name == "a.tsv" else ",", index=False)
    else:
        (frame.to_excel if name == "a.xlsx" else frame.to_parquet)(path, index=False)
    with pytest.raises(ValueError, match=r"column 'revenue' holds numbers such as 1[.,]5, 2[.,]5"):
        load_labels(path, ids="id")
    assert load_labels(path, ids="id", check=False).n_members == 2
    assert load_labels(path, ids="id", drop=["revenue"]).n_members == 1


def test_a_column_of_remarks_is_not_advised_as_ids_if_there_are_ids(tmp_path: Path) -> None:
    path = tmp_path / "sales.csv"
    path.write_text("\n".join(["no,seg,remark", *(f"{row},{row % 2},call {row}" for row in range(40))]))
    with pytest.raises(ValueError, match=r"'remark' .* looks like remarks or a measurement; leave it out") as found:
        load_labels(path, ids="no")
    assert "pass ids=" not in str(found.value)
    with pytest.raises(ValueError, match=r"looks like their ids or like a measurement; pass ids='no'"):
        load_labels(path)
