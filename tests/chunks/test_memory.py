"""Memory stays below what is stated, and does not grow with the number of rows."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
MEGABYTE = 1e6
CHUNK_ROWS, DIMENSION, N_THREADS = 100_000, 4, 2
OVERHEAD = 15 * MEGABYTE  # stacks of threads, pieces that are measured, sums, what malloc keeps
PROGRAM = """
import json, sys
from pathlib import Path

import numpy as np

from sticktree.chunks import open_table
from sticktree.chunks.prepared import PreparedTable, measure_table
from sticktree.chunks.rows import ChunkedRows
from tests.chunks.conftest import told, units


def line(name):
    words = [x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(name)]
    return 1024 * int(words[0].split()[1])


def run(path, chunk_rows, sweeps):
    table = open_table(path)
    scale = measure_table(table)
    with PreparedTable(
        table, scale.centre, scale.spread, n_threads=2, chunk_rows=chunk_rows, scratch_folder=folder
    ) as prepared:
        rows = ChunkedRows(prepared)
        for _ in range(sweeps):
            rows.assign(told(rows.extent, 20))
            rows.halve(units(rows.extent, [0, 1, 2, 3], 20))
        return prepared.peak_bytes


folder, small, *paths, chunk_rows = sys.argv[1:]
run(small, 128, 1)  # what is compiled and loaded is not counted
out = []
for path in paths:
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = line("VmRSS")
    stated = run(path, int(chunk_rows), 2)
    out.append((stated, line("VmHWM") - before))
print(json.dumps(out))
"""


def large_file(path, n_rows):
    """Write a file without holding it in memory."""
    rng = np.random.default_rng(0)
    if path.suffix == ".npy":
        with path.open("wb") as file:
            np.lib.format.write_array_header_1_0(
                file, {"descr": "<f8", "fortran_order": False, "shape": (n_rows, DIMENSION)}
            )
            for _ in range(n_rows // CHUNK_ROWS):
                rng.normal(size=(CHUNK_ROWS, DIMENSION)).tofile(file)
    else:
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        schema = pyarrow.schema([(name, "float64") for name in "abcd"])
        with parquet.ParquetWriter(path, schema, compression="none") as writer:
            for _ in range(n_rows // 500_000):  # rows of a row group
                columns = [pyarrow.array(rng.normal(size=500_000)) for _ in range(DIMENSION)]
                writer.write_table(pyarrow.table(columns, schema=schema))
    return path


def over_baseline(tmp_path, *paths):
    """Return the stated and the real peak of a process that works with each of the files."""
    try:
        RESET.write_text("5")
    except OSError:
        pytest.skip("this system does not tell the peak memory of a part of a program")
    small = tmp_path / "small.npy"
    np.save(small, np.random.default_rng(0).normal(size=(1000, DIMENSION)))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path, small, *paths, str(CHUNK_ROWS)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_peak_is_as_stated(tmp_path):
    files = [large_file(tmp_path / f"{n}.npy", n * 1_000_000) for n in (1, 4)]
    assert files[1].stat().st_size > 128 * MEGABYTE
    (stated, first), (also, second) = over_baseline(tmp_path, *files)
    assert stated == also == N_THREADS * CHUNK_ROWS * 24 * (DIMENSION + 1)
    print(stated, first, second)
    assert max(first, second) < stated + OVERHEAD < 60 * MEGABYTE
    assert second < first + 5 * MEGABYTE
