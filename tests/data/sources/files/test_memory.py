"""Memory stays below what is stated, and does not grow with the number of rows."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

MEGABYTE = 1e6
CHUNK_ROWS, DIMENSION, N_THREADS = 100_000, 4, 2
PROGRAM = """
import json, sys
from pathlib import Path

import numpy as np

from sticktree.chunks import open_table
from sticktree.data.sources.prepared import FilePlacement, PreparedTable, measure_table
from sticktree.engine.bulk.rows import Rows
from tests.support.bulk import some_leaves, two_units


def line(name):
    words = [x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(name)]
    return 1024 * int(words[0].split()[1])


def run(path, chunk_rows, sweeps):
    table = open_table(path)
    scale = measure_table(table, 2)
    with PreparedTable(
        table, scale.centre, scale.spread, n_threads=2, chunk_rows=chunk_rows, scratch_folder=folder
    ) as prepared:
        rows = Rows(FilePlacement(prepared))
        for _ in range(sweeps):
            rows.assign(some_leaves(rows.extent, 20))
            rows.halve(two_units(rows.extent, [0, 1, 2, 3], 20))
        return prepared.peak_bytes


folder, *small, first, second, third, chunk_rows = sys.argv[1:]
for path in small:
    run(path, 128, 1)  # what is compiled and loaded is not counted
out = []
for path in (first, second, third):
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = line("VmRSS")
    stated = run(path, int(chunk_rows), 1)
    out.append((stated, line("VmHWM") - before))
print(json.dumps(out))
"""


def large_file(path, n_rows):
    """Write a file without holding it in memory."""
    rng = np.random.default_rng(0)
    height = min(n_rows, 500_000)
    pieces = (rng.normal(size=(height, DIMENSION)) for _ in range(n_rows // height))
    if path.suffix == ".npy":
        with path.open("wb") as file:
            header = {"descr": "<f8", "fortran_order": False, "shape": (n_rows, DIMENSION)}
            np.lib.format.write_array_header_1_0(file, header)
            for rows in pieces:
                rows.tofile(file)
    else:
        import pyarrow
        from pyarrow import parquet

        schema = pyarrow.schema([(name, "float64") for name in "abcd"])
        with parquet.ParquetWriter(path, schema, compression="none") as writer:
            for rows in pieces:
                writer.write_table(pyarrow.table(list(rows.T.copy()), schema=schema))
    return path


@pytest.fixture(scope="module")
def peaks(tmp_path_factory):
    """The stated and the real peak of a process, for 1 million rows and for 4 million."""
    pytest.importorskip("pyarrow")
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pytest.skip("this system does not tell the peak memory of a part of a program")
    folder = tmp_path_factory.mktemp("large")
    small = [large_file(folder / f"small.{ending}", 1000) for ending in ("npy", "parquet")]
    large = [
        large_file(folder / name, n * 1_000_000)
        for name, n in (("1.npy", 1), ("4.npy", 4), ("4.parquet", 4))
    ]
    assert large[1].stat().st_size > 128 * MEGABYTE
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, folder, *small, *large, str(CHUNK_ROWS)],
        cwd=Path(__file__).parents[4],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=300,
    )
    for path in large:
        path.unlink()
    assert done.returncode == 0, done.stderr
    return dict(zip(("less", "npy", "parquet"), json.loads(done.stdout), strict=True))


# Besides: stacks of threads, pieces that are measured, sums, and what malloc and Arrow keep.
@pytest.mark.parametrize(("form", "besides"), [("npy", 15 * MEGABYTE), ("parquet", 85 * MEGABYTE)])
def test_the_peak_is_as_stated(peaks, form, besides):
    stated, found = peaks[form]
    assert stated == N_THREADS * CHUNK_ROWS * (25 * DIMENSION + 24)
    assert found < stated + besides


def test_a_file_of_128_megabytes_takes_less_than_60(peaks):
    assert peaks["npy"][1] < 60 * MEGABYTE


def test_more_rows_take_no_more_memory(peaks):
    assert peaks["npy"][1] < peaks["less"][1] + 5 * MEGABYTE
