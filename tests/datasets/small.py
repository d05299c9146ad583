"""A data set small enough to be written in a test."""

import hashlib

import numpy as np

from sticktree.datasets import loading
from sticktree.datasets.catalogue import Entry, Original, read_uci
from sticktree.datasets.dataset import fingerprint

TEXT = "1,0.5,2,a\n2,1.5,-3,b\n3,2.5,0,a\n"
DATA = np.array([[0.5, 2.0], [1.5, -3.0], [2.5, 0.0]])
LABELS = ("a", "b", "a")


def make_entry(*urls, text=TEXT, **changes):
    original = Original(
        name="small.data", urls=urls, sha256=hashlib.sha256(text.encode()).hexdigest()
    )
    about = {
        "name": "small",
        "title": "Small",
        "file": "small.csv",
        "shape": (3, 2),
        "columns": ("length", "width"),
        "labelled": True,
        "originals": (original,),
        "read": read_uci,
        "fingerprint": fingerprint(DATA, LABELS),
        "description": "Three rows.",
        "citation": "Nobody, 2000.",
        "terms": "None.",
        "source": "https://example.org",
    }
    return Entry(**(about | changes))


def register(monkeypatch, entry):
    monkeypatch.setitem(loading.FROM_FILES, entry.name, entry)
