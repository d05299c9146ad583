"""The one tree of the library, and the forms in which other programs read it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.display import html
from sticktree.files import write_pieces
from sticktree.tree.formats import (
    data_frame_of,
    frame_of,
    graph_of,
    json_pieces,
    read_frame,
    read_graph,
    read_json,
)
from sticktree.tree.graphml import graphml_pieces
from sticktree.tree.itol import itol_files
from sticktree.tree.linkage import linkage_of, read_linkage
from sticktree.tree.newick import newick_pieces
from sticktree.tree.newick_reader import read_newick
from sticktree.tree.nexus import nexus_pieces, read_nexus
from sticktree.tree.shapes import Shapes
from sticktree.tree.structure import SupportKind


class Tree(Shapes):
    """A rooted tree with data in its nodes.

    Nodes are the integers 0 … M − 1. Node 0 is the root Δ, and every other node has a smaller
    number than its children. Any number of children, any depth, leaves at different depths, data
    at inner nodes and nodes without data are all allowed.

    Levels grow along every edge, usually by one. An edge that skips levels stands for a chain of
    only children: :meth:`compressed` and :meth:`expanded` go from one form to the other.

    Parameters
    ----------
    parent : array of int, shape (M,)
        ``parent[w]`` is the parent of node w; ``NULL`` (−1) for the root.
    leaf : array of int, shape (N,)
        ``leaf[i]`` is the node in which datum i sits.
    level : array of int, shape (M,), optional
        Level of each node; by default the number of edges to the root.
    count : array of int, shape (M,), optional
        Number of data at or below each node. It follows from the others; if given, it is checked.
    time : array of float, shape (M,), optional
        Where each node lies between root and data, if not at its level: it never shrinks along an
        edge. Levels are then numbers of edges.
    support : array of float, shape (M,), optional
        Posterior probability of the set of data below each node: the share of draws that have
        exactly this set. NaN where it is not known.
    transfer : array of float, shape (M,), optional
        Transfer support of each node: 1 less the mean share of its data that have to move to match
        a draw. Never less than ``support``; NaN where it is not known.
    names : sequence of str, length N, optional
        Names of the data.

    Attributes
    ----------
    parent, leaf, level, count : read-only int32 arrays
        As above.
    time : read-only float array
        As above; the levels, if no times were given.
    support, transfer : read-only float array or None
        As above.
    names : tuple of str or None
        As above.

    Examples
    --------
    >>> from sticktree import Tree
    >>> tree = Tree(parent=[-1, 0, 0, 1, 1], leaf=[3, 3, 4, 2])
    >>> tree
    Tree(n_nodes=5, n_data=4, depth=2)
    >>> tree.count
    array([4, 3, 1, 2, 1], dtype=int32)
    >>> tree.index(4), tree.node((1, 2))
    ((1, 2), 4)
    >>> tree.cut(1)
    array([0, 0, 0, 1], dtype=int32)
    """

    def to_newick(
        self,
        *,
        support: bool | SupportKind = True,
        lengths: bool = True,
        names: Sequence[str] | None = None,
    ) -> str:
        """Write the tree as Newick text.

        Every datum is a tip. A tip with a length is a leaf of its own; a tip without one is a datum
        of the node above it, so data that share a leaf are the tips of a small fan. Labels of inner
        nodes are supports, and transfer supports are in comments behind them. Lengths are
        differences of times, or whole numbers of levels; adding them up gives the times back to
        the last bit.

        Parameters
        ----------
        support : {True, False, "support", "transfer"}, default=True
            True writes all there are: what FigTree, iTOL, DendroPy and Biopython read. "support"
            and "transfer" write one kind, as labels, without comments: for programs that know one
            support, or no comments.
        lengths : bool, default=True
            Without lengths, the text has the branching only.
        names : sequence of str, optional
            Names of the data, in place of ``tree.names``. Without any, data go by their numbers.

        Examples
        --------
        >>> from sticktree import Tree
        >>> tree = Tree([-1, 0, 0, 1, 1], [3, 4, 4, 2], support=[1, 0.9, 1, 1, 1])
        >>> tree.to_newick(names=["ape", "bee", "sea cow", "dog"])
        "((ape:1,(bee,'sea cow')1.0:1)0.9:1,dog:1)1.0;"
        >>> tree = tree.annotated(transfer=[1, 0.95, 1, 1, 1])
        >>> tree.to_newick()
        '((0:1,(1,2)1.0[&transfer=1.0]:1)0.9[&transfer=0.95]:1,3:1)1.0[&transfer=1.0];'
        >>> tree.to_newick(support="transfer")
        '((0:1,(1,2)1.0:1)0.95:1,3:1)1.0;'
        """
        return "".join(newick_pieces(self, support=support, lengths=lengths, names=names))

    def write_newick(
        self,
        path: str | os.PathLike[str],
        *,
        support: bool | SupportKind = True,
        lengths: bool = True,
        names: Sequence[str] | None = None,
    ) -> None:
        r"""Write :meth:`to_newick`'s text and a line end to a file, without holding all of it.

        The file appears whole or not at all. A million data take a few seconds.

        Parameters
        ----------
        path : path
            Where to write; a file that is there is replaced.
        support, lengths, names
            As of :meth:`to_newick`.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from sticktree import Tree
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Tree.from_paths([(1,), (2,)]).write_newick(f"{folder}/tree.nwk")
        ...     Path(f"{folder}/tree.nwk").read_text()
        '(0:1,1:1);\n'
        """
        pieces = newick_pieces(self, support=support, lengths=lengths, names=names)
        write_pieces(Path(path), chain(pieces, "\n"))

    @classmethod
    def from_newick(
        cls,
        text: str,
        *,
        names: Sequence[str] | None = None,
        support: bool | SupportKind = True,
        keep_underscores: bool = False,
    ) -> Self:
        """Read a tree from Newick text, of :meth:`to_newick` or of another program.

        Parameters
        ----------
        text : str
            One tree. Comments in square brackets are skipped, but for what :meth:`to_newick` has
            written into them.
        names : sequence of str, optional
            The names of the data in the order that they shall have; of equal names the first is
            the one that comes first in the text. By default data are numbered as they appear, or,
            if the tips are called 0 … N − 1 without quotes, by these numbers.
        support : {True, False, "support", "transfer"}, default=True
            Take numbers at inner nodes as supports, or as transfer supports; if one exceeds 1, all
            are taken as per cent. Other labels of inner nodes have no place in a tree and are left
            out. Tips have support 1.
        keep_underscores : bool, default=False
            In Newick an underscore in a label without quotes means a blank. Many programs write
            such labels and mean underscores.

        Notes
        -----
        Lengths that are all whole numbers and at least 1 are levels, others times; one that an
        inner node lacks is 0. In a text without any lengths, every tip is a leaf of its own and the
        levels are numbers of edges. A tip without a name is a leaf without data.

        Examples
        --------
        >>> from sticktree import Tree
        >>> tree = Tree.from_newick("((ape:1.5,bee:1.5)93:0.5,dog:2.0);")
        >>> tree.names, tree.time, tree.support
        (('ape', 'bee', 'dog'), array([0. , 0.5, 2. , 2. , 2. ]), array([ nan, 0.93, 1.  , 1.  , 1.  ]))
        """  # noqa: E501
        parts = read_newick(text, names=names, support=support, keep_underscores=keep_underscores)
        return cls(**parts)

    def to_nexus(
        self,
        *,
        support: bool | SupportKind = True,
        lengths: bool = True,
        names: Sequence[str] | None = None,
    ) -> str:
        """Write the tree as NEXUS, which FigTree, PAUP*, MrBayes, BEAST and R's ape read.

        Names must differ there: one that has occurred before has a number behind it.

        Parameters
        ----------
        support, lengths, names
            As of :meth:`to_newick`.

        Examples
        --------
        >>> from sticktree import Tree
        >>> print(Tree([-1, 0, 0], [1, 2], names=["ape", "sea cow"]).to_nexus(), end="")
        #NEXUS
        begin taxa;
          dimensions ntax=2;
          taxlabels
            ape
            'sea cow'
          ;
        end;
        begin trees;
          translate
            1 ape,
            2 'sea cow'
          ;
          tree consensus = [&R] (1:1,2:1);
        end;
        """
        return "".join(nexus_pieces(self, support=support, lengths=lengths, names=names))

    @classmethod
    def from_nexus(
        cls, text: str, *, tree: str | None = None, support: bool | SupportKind = True
    ) -> Self:
        """Read a tree from NEXUS text, of :meth:`to_nexus` or of another program.

        Parameters
        ----------
        text : str
            A file with a block of trees.
        tree : str, optional
            The name of the tree to read; by default the first.
        support : {True, False, "support", "transfer"}, default=True
            As of :meth:`from_newick`.

        Examples
        --------
        >>> from sticktree import Tree
        >>> tree = Tree.from_paths([(1, 1), (1, 2), (2, 1)]).annotated(names=["ape", "bee", "cow"])
        >>> Tree.from_nexus(tree.to_nexus()) == tree
        True
        """
        return cls(**read_nexus(text, tree, support=support))

    def to_itol(
        self,
        *,
        labels: npt.ArrayLike | None = None,
        names: Sequence[str] | None = None,
        annotations: Mapping[str, Sequence[Any]] | None = None,
        data: Any = None,
        columns: Sequence[str] | None = None,
    ) -> dict[str, str]:
        r"""Return the tree for iTOL (itol.embl.de), as texts by the names of their files.

        ``tree.nwk`` is to be uploaded; the others are to be dropped onto the tree that it shows.
        Its labels are transfer supports, or else exact ones. ``transfer_support.txt`` and
        ``exact_support.txt`` have circles as wide as the supports, ``clusters.txt`` a strip of
        colours, ``annotation_….txt`` a strip for each annotation, and ``heatmap.txt`` the data.
        Names that are equal, or have more in them than letters, digits and ``_.-``, are in
        ``names.txt``; tips then go by their numbers.

        Parameters
        ----------
        labels : sequence, length N, optional
            The cluster of each datum, such as ``labels_``.
        names : sequence of str, optional
            Names of the data, in place of ``tree.names``.
        annotations : dict of str to sequence, length N, optional
            What else is known of the data: groups, or numbers if they are many distinct ones. None
            and NaN are not known.
        data : array or data frame, shape (N, D), optional
            Numbers for a heat map, which has them in standard deviations from the mean of their
            column; NaN is missing.
        columns : sequence of str, optional
            Names of its columns; by default those of the data frame.

        Examples
        --------
        >>> from sticktree import Tree
        >>> tree = Tree([-1, 0, 0, 1, 1], [3, 4, 2], names=["ape", "bee", "dog"])
        >>> files = tree.annotated(transfer=[1, 0.95, 1, 1, 1]).to_itol(labels=[0, 0, 1])
        >>> list(files)
        ['tree.nwk', 'transfer_support.txt', 'clusters.txt']
        >>> files["transfer_support.txt"].splitlines()[-1].split("\t")
        ['ape|bee', '2', '0.95', '#0072B2', '1', '0.5', '0.95']
        """
        files = itol_files(self, labels, names, annotations, data, columns)
        return {name: "".join(text) for name, text in files.items()}

    def write_itol(
        self,
        folder: str | os.PathLike[str],
        *,
        labels: npt.ArrayLike | None = None,
        names: Sequence[str] | None = None,
        annotations: Mapping[str, Sequence[Any]] | None = None,
        data: Any = None,
        columns: Sequence[str] | None = None,
    ) -> list[Path]:
        """Write the files of :meth:`to_itol` into a folder, which is made if need be.

        Parameters
        ----------
        folder : path
            Where to write; files of these names are replaced.
        labels, names, annotations, data, columns
            As of :meth:`to_itol`.

        Returns
        -------
        list of Path
            The files.
        """
        files = itol_files(self, labels, names, annotations, data, columns)
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            write_pieces(Path(folder) / name, text)
        return [Path(folder) / name for name in files]

    def to_linkage(self) -> FloatArray:
        """Return the tree as scipy's linkage matrix, shape (N − 1, 4).

        The height of a join is the largest time of the tree less the time of the node where it
        happens, so cophenetic distances are the largest time less :meth:`Tree.meeting_time`. A
        node with more than two branches becomes several joins of the same height, neighbours
        first; data of one node join at the node's height. Only children, empty branches, supports
        and names have no place in the matrix.

        Examples
        --------
        >>> from sticktree import Tree
        >>> Tree.from_paths([(1, 1), (1, 2), (2, 1)]).to_linkage()
        array([[0., 1., 1., 2.],
               [3., 2., 2., 3.]])
        """
        return linkage_of(self)

    @classmethod
    def from_linkage(
        cls,
        Z: npt.ArrayLike,  # noqa: N803
        names: Sequence[str] | None = None,
        *,
        merge_ties: bool = True,
        last_time: float | None = None,
    ) -> Self:
        """Make a tree from a linkage matrix: every datum has a leaf of its own at the last time.

        Parameters
        ----------
        Z : array, shape (N − 1, 4)
            What ``scipy.cluster.hierarchy.linkage`` or :meth:`to_linkage` returned.
        names : sequence of str, length N, optional
            Names of the data.
        merge_ties : bool, default=True
            Make one node of joins of the same height that are joined to each other.
        last_time : float, optional
            The time of the data; a join lies its height before it. By default the largest height,
            so that the root has time 0.

        Examples
        --------
        >>> from sticktree import Tree
        >>> tree = Tree.from_linkage([[0, 1, 1, 2], [2, 3, 1.5, 3]], names=["ape", "bee", "dog"])
        >>> tree.time
        array([0. , 1.5, 0.5, 1.5, 1.5])
        """
        return cls(**read_linkage(Z, names, merge_ties=merge_ties, last_time=last_time))

    def to_json(
        self,
        *,
        locations: FloatArray | None = None,
        provenance: dict[str, Any] | None = None,
    ) -> str:
        """Write the tree as JSON: its arrays by name; NaN is null.

        Parameters
        ----------
        locations : array, shape (M, …), optional
            Something known of every node, such as its mean.
        provenance : dict, optional
            How the tree came to be.

        Examples
        --------
        >>> from sticktree import Tree
        >>> tree = Tree.from_paths([(1, 1), (2, 1)])
        >>> Tree.from_json(tree.to_json()) == tree
        True
        """
        return "".join(json_pieces(self, locations=locations, provenance=provenance))

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what :meth:`to_json` wrote, also an older version of it."""
        return cls(**read_json(text))

    def to_networkx(self) -> Any:
        """Return the tree as a ``networkx.DiGraph`` whose nodes are those of the tree.

        Nodes have attributes ``time`` (whole numbers if they are levels), ``level``, ``count`` and
        ``data``, a list, and ``support``, ``transfer`` and ``names`` if the tree has them; edges
        have a ``length``.

        Examples
        --------
        >>> from sticktree import Tree
        >>> graph = Tree.from_paths([(1, 1), (2, 1)]).to_networkx()
        >>> sorted(graph.edges)
        [(0, 1), (0, 2), (1, 3), (2, 4)]
        >>> graph.nodes[3]
        {'time': 2, 'level': 2, 'count': 1, 'data': [0]}
        """
        return graph_of(self)

    @classmethod
    def from_networkx(cls, graph: Any) -> Self:
        """Make a tree from a directed graph with edges away from one root.

        Attributes are those of :meth:`to_networkx`, and none is needed. If no node has ``data``,
        every leaf is a datum, and leaves that are texts are their names.

        Examples
        --------
        >>> import networkx as nx
        >>> from sticktree import Tree
        >>> Tree.from_networkx(nx.DiGraph([("all", "ape"), ("all", "bee")])).names
        ('ape', 'bee')
        """
        return cls(**read_graph(graph))

    def to_graphml(self) -> str:
        """Write the tree as GraphML, for graph programs (needs networkx).

        Nodes have the attributes of :meth:`to_networkx`, lists among them as JSON, so that names
        with commas are told apart; a node with a single datum has its ``name`` besides.

        Examples
        --------
        >>> from sticktree import Tree
        >>> text = Tree([-1, 0, 0], [1, 2], names=["a, b", "c"]).to_graphml()
        >>> "a, b" in text
        True
        """
        return "".join(graphml_pieces(self))

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for every node, in the tree's order.

        Columns are ``node``, ``parent`` (−1 for the root), ``path`` (the index ω, of trees up to 20
        levels deep), ``level``, ``time`` (whole numbers if they are levels), ``length`` of the edge
        above, ``support`` and ``transfer`` if known, ``count`` of data at or below, ``own_count``
        of data in the node itself, ``n_children``, and ``name`` of the datum in nodes with just
        one, if there are names. Where the data sit is in :meth:`data_frame`.

        Examples
        --------
        >>> from sticktree import Tree
        >>> tree = Tree.from_paths([(1, 1), (1, 2), (2,)])
        >>> tree.to_frame()[["node", "parent", "path", "level", "count"]]
           node  parent path  level  count
        0     0      -1    Δ      0      3
        1     1       0    1      1      2
        2     3       1  1.1      2      1
        3     4       1  1.2      2      1
        4     2       0    2      1      1
        """
        return frame_of(self)

    def data_frame(self) -> Any:
        """Return a pandas DataFrame with a row for every datum: its number, name and node.

        Examples
        --------
        >>> from sticktree import Tree
        >>> Tree.from_paths([(1, 1), (2,)]).annotated(names=["ape", "bee"]).data_frame()
           datum name  node
        0      0  ape     3
        1      1  bee     2
        """
        return data_frame_of(self)

    @classmethod
    def from_frame(cls, nodes: Any, data: Any = None) -> Self:
        """Make a tree from data frames, of pandas or polars.

        Parameters
        ----------
        nodes : data frame
            A row per node, in any order: ``parent`` (missing or −1 for the root), and if given
            ``node`` (by default the number of the row), ``time`` or ``level``, ``support`` and
            ``transfer``. A ``time`` of whole numbers that grow along every edge is a level.
        data : data frame, optional
            A row per datum: ``node``, and if given ``datum``, its number, and ``name``. By default
            every leaf is a datum, in the order of the rows, named by the column ``name`` of
            ``nodes`` if there is one.

        Examples
        --------
        >>> from sticktree import Tree
        >>> tree = Tree.from_paths([(1, 1), (1, 1), (2,)])
        >>> Tree.from_frame(tree.to_frame(), tree.data_frame()) == tree
        True
        """
        return cls(**read_frame(nodes, data))

    def _repr_html_(self) -> str:
        """Return how the tree looks in a notebook."""
        return html("tree", self)
