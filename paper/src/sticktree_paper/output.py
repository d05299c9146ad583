"""The folder that a reader gets: tables, figures, a page, and how they were made."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sticktree.cli.provenance import environment
from sticktree.files import atomically
from sticktree_paper import clusters, convergence, purity, table1
from sticktree_paper.clustering_scores import Comparison
from sticktree_paper.clustering_work import FREE, GIVEN
from sticktree_paper.methods import QUICK, Length, code_digest
from sticktree_paper.results import Result
from sticktree_paper.splits import SETS

PAGE, PROVENANCE = "index.md", "provenance.json"
PARTS = ("table1", "convergence", "glass", "clusters", "fig1", "fig2", "fig3", "fig4")
"""In the order of the page."""
OWN_PAGES = {"clusters": "Set by set, where we lose, and how it was measured"}
"""Parts that are too long for the page, which has their beginning and a link in these words."""
QUICK_WARNING = """\
**A quick run, to see that everything works: chains are far too short to judge a method by.**"""
INTRODUCTION = """\
Tables and figures of Ge, Gal and Ghahramani's paper made anew, with every peer on the same splits.
`sticktree reproduce` makes this page. Each fit is kept as it is done, so what stands here may come
from several runs."""


class Folder:
    """A folder with results.

    Parameters
    ----------
    path : path
        The folder; it is made if it is not there.
    """

    def __init__(self, path: Path) -> None:
        if path.exists() and not path.is_dir():
            raise ValueError(f"folder must be a folder, got the file {path}")
        path.mkdir(parents=True, exist_ok=True)
        self.path = path

    def write_table1(
        self, results: Sequence[Result], absent: dict[str, str], length: Length
    ) -> None:
        """Write Table 1 and every figure behind it."""
        densities = [result for result in results if result.key.part == "density"]
        bounds = [result for result in results if result.key.part == "evidence"]
        self._write_csv("density-by-split.csv", _rows_of(results))
        self._write_csv("density.csv", [_plain(one) for one in table1.density_lines(densities)])
        text = [
            *table1.markdown(densities, sweeps_of(length)),
            *table1.evidence_markdown(densities, bounds),
        ]
        self._write_part("table1", [*text, *_left_out(absent)], results, length)

    def write_convergence(
        self, lines: Sequence[convergence.Line], absent: dict[str, str], length: Length
    ) -> None:
        """Write whether chains of our fits agree."""
        self._write_csv("convergence.csv", [line.row for line in lines])
        text = [*convergence.markdown(lines), *_left_out(absent)]
        self._write_part("convergence", text, [], length)

    def write_purity(
        self, results: Sequence[Result], absent: dict[str, str], length: Length
    ) -> None:
        """Write the table of trees and every figure behind it."""
        self._write_csv("purity-by-seed.csv", _rows_of(results))
        lines = purity.purity_lines(results)
        self._write_csv(
            "purity.csv",
            [
                {"set": line.name, "tree": line.method, "n_seeds": line.n_seeds, **line.mean}
                | {f"{key}_sd": value for key, value in line.sd.items()}
                for line in lines
            ],
        )
        length = length.of_trees()
        sweeps = f"{length.n_chains} chains of {length.n_warmup} + {length.n_draws} sweeps"
        text = [*purity.markdown(results, sweeps), *_left_out(absent)]
        self._write_part("glass", text, results, length)

    def write_clusters(
        self, comparison: Comparison, absent: dict[str, str], length: Length, n_seeds: int
    ) -> None:
        """Write the page of clusters, its figure, and every score behind it."""
        from sticktree.plotting.base import pyplot
        from sticktree_paper.clusters_figure import figure_clusters

        figure = figure_clusters(comparison)
        self._save("clusters", figure)
        pyplot().close(figure)
        self._write_csv("clusters-by-seed.csv", _rows_of(comparison.results))
        self._write_csv("clusters.csv", list(_cluster_rows(comparison)))
        title, *text = clusters.markdown(comparison, n_seeds, "clusters.png")
        warning = QUICK_WARNING if length.name == QUICK.name else ""
        text = [title, warning, *text, *_left_out(absent)]
        # Ours runs as it comes, but for a quick run.
        chains = length.parameters if length.name == QUICK.name else {}
        self._write_part("clusters", text, comparison.results, length, chains)

    def write_figures(self, part: str, made: Any, length: Length) -> None:
        """Write the figures of a part, and their caption."""
        names = []
        for name, figure in made.figures:
            self._save(name, figure)
            names.append(f"{name}.png")
        pictures = [f"![{made.title}]({name})" for name in names]
        number = part.removeprefix("fig")
        self._write_part(
            part, [f"## Figure {number}: {made.title}", *pictures, made.caption], [], length
        )

    def _save(self, name: str, figure: Any) -> None:
        for suffix in (".png", ".pdf"):
            with atomically(self.path / f"{name}{suffix}") as temporary:
                figure.savefig(temporary, dpi=160)

    def write_page(self) -> Path:
        """Write the page of all parts that are here, and return where it is."""
        parts = self._provenance()["parts"]
        text = ["# Results", INTRODUCTION]
        if any(part["length"] == QUICK.name for part in parts.values()):
            text.append(QUICK_WARNING)
        text += [self._on_the_page(part) for part in PARTS if part in parts]
        text += ["## How this was made", *self._how()]
        self._write(PAGE, "\n\n".join(text) + "\n")
        return self.path / PAGE

    def _on_the_page(self, part: str) -> str:
        """Return what the page has of a part: all, or its beginning and a link to the rest."""
        text = (self.path / f"{part}.md").read_text(encoding="utf-8").strip()
        if part not in OWN_PAGES:
            return text
        beginning = text.partition("\n## ")[0].strip()
        return f"#{beginning}\n\n[{OWN_PAGES[part]}]({part}.md)."

    def _write_part(
        self,
        part: str,
        text: Iterable[str],
        results: Sequence[Result],
        length: Length,
        chains: dict[str, int] | None = None,
    ) -> None:
        self._write(f"{part}.md", "\n\n".join(one for one in text if one) + "\n")
        record = self._provenance()
        record["parts"][part] = {
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "length": length.name,
            **(length.parameters if chains is None else chains),
            "code": code_digest(),
            "peers": code_digest("peers"),
            "fits": len(results),
            "cpu_seconds": round(sum(result.cpu_seconds for result in results), 1),
            **environment(),
        }
        self._write(PROVENANCE, json.dumps(record, indent=2, ensure_ascii=False) + "\n")

    def _provenance(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads((self.path / PROVENANCE).read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return {"parts": {}}
        return found

    def _how(self) -> Iterable[str]:
        """Yield what each part was made with."""
        for part, record in self._provenance()["parts"].items():
            found = record["packages"].items()
            packages = ", ".join(f"{name} {version}" for name, version in found)
            machine, minutes = record["platform"], record["cpu_seconds"] / 60
            fits = f"{record['fits']:,} fits, {minutes:.0f} minutes of one core; "
            made = f"sticktree {record['sticktree']} (code {record['code']})"
            where = f"Python {machine['python']}, {packages}, {machine['machine']}"
            day = record["made"][:10]
            yield f"- `{part}`: {fits if record['fits'] else ''}{made}, {where}, {day}"
        for part, record in self._provenance()["parts"].items():
            if "remark" in record:
                yield f"Of `{part}`, {record['remark']}"

    def _write(self, name: str, text: str) -> None:
        with atomically(self.path / name) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def _write_csv(self, name: str, rows: Sequence[dict[str, Any]]) -> None:
        columns = list(dict.fromkeys(key for row in rows for key in row))
        text = io.StringIO()
        writer = csv.DictWriter(text, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        self._write(name, text.getvalue())


def _rows_of(results: Sequence[Result]) -> list[dict[str, Any]]:
    return [
        {
            "part": result.key.part,
            "set": result.key.name,
            "method": result.key.method,
            "split": result.key.split,
            **{key: round(value, 6) for key, value in result.values.items()},
            "cpu_seconds": round(result.cpu_seconds, 2),
        }
        for result in results
    ]


def _cluster_rows(comparison: Comparison) -> Iterable[dict[str, Any]]:
    """Yield the score of every set and program on both questions, means over seeds."""
    for question in (GIVEN, FREE):
        for column in comparison.all_columns(question):
            for name, mean in column.mean.items():
                yield {
                    "set": name,
                    "program": column.name,
                    "where": column.where,
                    "k": question,
                    "ari": round(mean, 4),
                    "least": round(column.least[name], 4),
                    "most": round(column.most[name], 4),
                }


def _plain(line: table1.Line) -> dict[str, Any]:
    """Return a line of Table 1 as a row of a CSV file."""
    fields = asdict(line)
    difference = fields.pop("difference") or {}
    return {
        "set": fields.pop("name"),
        **fields,
        "ours_less_method": difference.get("mean"),
        "half_width_95": difference.get("half_width"),
        "ours_is": line.verdict,
    }


def sweeps_of(length: Length) -> str:
    """Describe how long chains are, and on which sets they are shorter."""
    text = f"{length.n_chains} of {length.n_warmup} + {length.n_draws} sweeps"
    shorter = {name: length.on(name).n_draws for name in SETS if length.on(name) != length}
    told = [f"{n} + {n} on {name}" for name, n in shorter.items()]
    if not told:
        return text
    fewer = length.of_diffusions("ccle")
    diffusions = (
        f"DDT and PYDT on CCLE: {fewer.n_chains} of {fewer.n_warmup} + {fewer.n_draws}, which "
        "takes about as long"
    )
    return f"{text} ({', '.join(told)}; {diffusions})"


def _left_out(absent: dict[str, str]) -> list[str]:
    return [f"*{name}* is left out: {reason}" for name, reason in absent.items()]
