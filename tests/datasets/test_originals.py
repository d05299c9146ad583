import csv
import hashlib

import numpy as np
import pytest

from sticktree.datasets import load
from sticktree.datasets.catalogue import (
    CCLE_FILE,
    ENTRIES,
    read_activity,
    read_arff,
    read_sensitivity,
    read_uci,
)

SHA256 = {original.name: original.sha256 for entry in ENTRIES for original in entry.originals}
VEENMAN = (
    "Veenman, C.J., M.J.T. Reinders, and E. Backer, A maximum variance cluster algorithm. IEEE "
    "Trans. Pattern Analysis and Machine Intelligence"
)
GIONIS = (
    "Gionis, A., H. Mannila, and P. Tsaparas, Clustering aggregation. ACM Transactions on Knowledge"
    " Discovery from Data (TKDD), 2007. 1(1): p. 1-30."
)


def test_arff(tmp_path):
    path = tmp_path / "a.arff"
    path.write_bytes(
        b"% about\r\n@RELATION a\r\n\r\n@ATTRIBUTE x REAL\r\n@ATTRIBUTE y REAL\r\n"
        b"@ATTRIBUTE class {1,2,10}\r\n\r\n@DATA\r\n1.5,2,10\r\n-1,0.25,2\r\n"
    )
    found = read_arff(path)
    np.testing.assert_array_equal(found.data, [[1.5, 2], [-1, 0.25]])
    assert (found.labels, found.columns) == (("10", "2"), ("x", "y"))


def test_uci(tmp_path):
    path = tmp_path / "a.data"
    path.write_text("1,1.5,2.0,7\n2,0,3,1\n")
    found = read_uci(path)
    np.testing.assert_array_equal(found.data, [[1.5, 2], [0, 3]])
    assert found.labels == ("7", "1")


@pytest.fixture
def names(tmp_path):
    cells, drugs = tmp_path / "cells", tmp_path / "drugs"
    cells.write_text("B_URINaNRY_TRACT\nA_LUNG\n")
    drugs.write_text("PD_03\nAZD\n17_AAG\n")
    return cells, drugs


def test_sensitivities(tmp_path, names):
    path = tmp_path / "values"
    path.write_text("  -1.0e+00   2.5e-01   0.0e+00\n   1.0e+00   2.0e+00   3.0e+00\n")
    found = read_sensitivity(path, *names)
    np.testing.assert_array_equal(found.data, [[-1, 0.25, 0], [1, 2, 3]])
    assert found.rows == ("B_URINARY_TRACT", "A_LUNG")
    assert found.columns == ("PD-03", "AZD", "17-AAG")


def test_activities_fall_into_the_order_of_the_names(tmp_path, names):
    path = tmp_path / "long.csv"
    path.write_text(
        "CCLE Cell Line Name,Compound,Doses (uM),ActArea\n"
        'A_LUNG,17-AAG,".1,.2",4\nB_URINARY_TRACT,AZD,".1,.2",0.5\nA_LUNG,PD-03,".1",0\n'
    )
    found = read_activity(path, *names)
    np.testing.assert_array_equal(found.data, [[np.nan, 0.5, np.nan], [0, np.nan, 4]])
    assert found.rows == ("B_URINARY_TRACT", "A_LUNG")


def write_again(name, folder, real_data):
    """Write a public file anew from the table of the same data, as its source has it."""

    def lines(file):
        with (real_data / file).open(newline="") as stream:
            return list(csv.reader(stream))

    def arff(file, about, relation, n_classes):
        classes = ",".join(map(str, range(1, n_classes + 1)))
        head = [*(f"% {line}".rstrip() for line in about), relation, "", "@ATTRIBUTE x REAL"]
        head += ["@ATTRIBUTE y REAL", f"@ATTRIBUTE class {{{classes}}}", "", "@DATA"]
        return "".join(f"{line}\r\n" for line in [*head, *map(",".join, lines(file)[1:])])

    if name == "R15.arff":
        about = ["R15, N=600, M=15, D=2", f"{VEENMAN}, 2002. 24(9): p. 1273-1280.", ""]
        text = arff("r15.csv", about, "@RELATION R15", 15)
    elif name == "D31.arff":
        about = ["D31", "N=3100, M=31, D=2", f"{VEENMAN} 2002. 24(9): p. 1273-1280.", ""]
        text = arff("d31.csv", about, "@RELATION D31", 31)
    elif name == "aggregation.arff":
        about = ["Aggregation", "N=788, M=7, D=2", GIONIS]
        about += ["source: http://cs.joensuu.fi/sipu/datasets/", ""]
        text = arff("aggregation.csv", about, "@relation aggregation", 7)
    elif name == "glass.data":
        text = ""
        for k, (index, *percents, label) in enumerate(lines("glass.csv")[1:], start=1):
            two = ",".join(f"{float(percent):.2f}" for percent in percents)
            text += f"{k},{float(index):.5f},{two},{label}\n"
    elif name == "sensitivity.txt":
        rows = lines("ccle_pydt.csv")[1:]
        text = "".join("".join(f"{value:>16}" for value in row[1:]) + "\n" for row in rows)
    elif name == "cell_names.txt":
        text = "".join(row[0].replace("NA", "NaN") + "\n" for row in lines("ccle_pydt.csv")[1:])
    else:
        assert name == "drug_names.txt"
        drugs = lines("ccle_pydt.csv")[0][1:]
        text = "".join(drug.replace("-", "_") + "\n" for drug in drugs)
    (folder / name).write_bytes(text.encode())
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("name", [name for name in SHA256 if name != CCLE_FILE])
def test_checksums_are_those_of_files_with_the_same_numbers(name, tmp_path, real_data):
    assert write_again(name, tmp_path, real_data) == SHA256[name]


@pytest.mark.parametrize("name", ["r15", "d31", "aggregation", "glass", "ccle"])
def test_public_files_give_the_same_as_tables(name, tmp_path, real_data):
    (entry,) = (entry for entry in ENTRIES if entry.name == name)
    for original in entry.originals:
        write_again(original.name, tmp_path, real_data)
    table, public = load(name, folder=real_data), load(name, folder=tmp_path, download=False)
    assert public.path.parent == tmp_path
    np.testing.assert_array_equal(public.data, table.data)
    assert (public.labels, public.rows) == (table.labels, table.rows)
    assert public.columns == table.columns


def test_one_measurement_a_row_gives_the_same_as_the_table(tmp_path, real_data):
    table = load("ccle_activity", folder=real_data)
    rng = np.random.default_rng(0)
    with (tmp_path / CCLE_FILE).open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["CCLE Cell Line Name", "Primary Cell Line Name", "Compound", "ActArea"])
        for i, j in rng.permutation(np.argwhere(~np.isnan(table.data))):
            value = repr(float(table.data[i, j]))
            writer.writerow([table.rows[i], "another name", table.columns[j], value])
    for name in ("cell_names.txt", "drug_names.txt"):
        write_again(name, tmp_path, real_data)
    public = load("ccle_activity", folder=tmp_path, download=False)
    np.testing.assert_array_equal(public.data, table.data)
    assert public.path == tmp_path / CCLE_FILE
