"""Run folders with something wrong in them: every command answers, or says in one line why not."""

import contextlib
import io
import json
import tempfile
from pathlib import Path

import numpy as np

from sticktree.cli import main
from tests.fuzz.archives import mutated
from tests.fuzz.mutations import pick, wrong_bytes, wrong_json

COMMANDS = (
    ("summary",),
    ("summary", "--json"),
    ("predict", "{data}"),
    ("predict", "{data}", "--proba", "--level", "1"),
    ("cluster", "--n-clusters", "2"),
    ("cluster", "--method", "loss"),
    ("markers",),
    ("evaluate", "--json"),
    ("export", "--format", "newick"),
    ("export", "--format", "csv", "-o", "{folder}/nodes.csv"),
    ("export", "--format", "json"),
    ("report", "-o", "{folder}/page.html"),
)


def table():
    rng = np.random.default_rng(0)
    rows = [f"r{k},{k % 2},{rng.normal() + 9 * (k % 2):.3f},{rng.normal():.3f}" for k in range(16)]
    return "\n".join(["id,kind,x,y", *rows]) + "\n"


def corpus():
    """Return the files of a run that is finished, and of one that was stopped."""
    found = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "data.csv").write_text(table())
        words = ["fit", f"{folder}/data.csv", "--id", "id", "--label", "kind", "--covariance"]
        words += ["full", "--warmup", "5", "--draws", "6", "--chains", "2", "--seed", "0", "-q"]
        for name, more in (("finished", []), ("stopped", ["--keep-checkpoint"])):
            run = folder / name
            assert main([*words, "-o", str(run), *more]) == 0
            if name == "stopped":
                record = json.loads((run / "run.json").read_text()) | {"status": "running"}
                record["data"]["path"] = "{data}"
                (run / "run.json").write_text(json.dumps(record))
            files = [path for path in run.rglob("*") if path.is_file()]
            found[name] = {str(path.relative_to(run)): path.read_bytes() for path in files}
    return found


def try_one(rng, base, folder):
    """Run a command on a folder of which a file is wrong; return its exit code."""
    run, data = folder / "run", folder / "data.csv"
    data.write_text(table())
    files = dict(base)
    likely = [name for name in ("run.json", "clusters.csv", "model.sticktree") if name in files]
    name = pick(rng, likely * 6 + list(files))
    files[name] = _wrong(rng, name, files[name])
    for name, content in files.items():
        path = run / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.replace(b"{data}", str(data).encode()))
    words = pick(rng, COMMANDS)
    if "checkpoint/run.json" in files:
        words = ("fit", "-o", str(run), "--resume", "-q")
    else:
        words = (words[0], str(run), *(w.format(data=data, folder=folder) for w in words[1:]))
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()) as err,
    ):
        try:
            code = main(words)
        except SystemExit as stop:
            code = stop.code
    said = err.getvalue()
    assert "Traceback" not in said, said
    assert code in (0, 1, 2), code
    if code:
        assert f"sticktree {words[0]}: " in said, said
        assert len([x for x in said.splitlines() if x.startswith("sticktree ")]) == 1, said
    return f"exit code {code}"


def _wrong(rng, name, content):
    if name.endswith(".sticktree") and rng.random() < 0.7:
        return mutated(rng, content)
    if name.endswith(".json") and rng.random() < 0.7:
        return json.dumps(wrong_json(rng, json.loads(content), int(rng.integers(1, 4)))).encode()
    return wrong_bytes(rng, content)
