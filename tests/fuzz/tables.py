"""Tables with something wrong in them: rows, or one clear error."""

import bz2
import gzip
import io
import lzma
import warnings
import zipfile

import numpy as np
import pandas as pd

from sticktree.data import read_table
from sticktree.data.sources.files import read_file
from sticktree.data.sources.formats import open_table
from tests.fuzz.mutations import wrong_bytes, wrong_npy, wrong_zip


def corpus():
    """Return tables in every format, by the names of their files."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=30), "n": rng.integers(9, size=30)})
    frame["word"] = np.array(["ape", "bee", "sea, cow"])[rng.integers(3, size=30)]
    frame.loc[3, "x"] = np.nan
    text = frame.to_csv(index=False).encode()
    npy, structured, parquet, packed = io.BytesIO(), io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.save(npy, rng.normal(size=(30, 3)))
    np.save(structured, frame[["x", "n"]].to_records(index=False))
    frame.to_parquet(parquet)
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("data.csv", text)
    found = {
        "t.csv": text,
        "t.tsv": text.replace(b",", b"\t"),
        "t.csv.gz": gzip.compress(text),
        "t.csv.bz2": bz2.compress(text),
        "t.csv.xz": lzma.compress(text),
        "t.npy": npy.getvalue(),
        "s.npy": structured.getvalue(),
        "t.parquet": parquet.getvalue(),
        "t.zip": packed.getvalue(),
    }
    return {name: (name, content) for name, content in found.items()}


def try_one(rng, base, folder):
    """Read a table that is wrong, whole and in chunks; return how far that came."""
    name, content = base
    wrong = wrong_bytes
    if name.endswith(".npy") and rng.random() < 0.7:
        wrong = wrong_npy
    elif name.endswith(".zip") and rng.random() < 0.7:
        wrong = wrong_zip
    path = folder / name
    path.write_bytes(wrong(rng, content))
    end = _tried(lambda: _as_table(read_file(path)), path)
    if path.suffix in (".npy", ".parquet"):
        _tried(lambda: list(open_table(path).chunks(7)), path)
    return end


def _as_table(table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read_table(table.typed(table.names, {}), None)


def _tried(action, path):
    try:
        action()
    except ValueError as error:
        said = str(error)
        assert len(said.splitlines()) == 1, said
        return "refused"
    return "read"
