"""A page read as a browser reads it: elements, their text, and the data block."""

import base64
import json
from html.parser import HTMLParser

import numpy as np


class Page(HTMLParser):
    """The elements of a page with their attributes and texts."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.open = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), []))
        if tag not in ("meta", "input", "link"):
            self.open.append(self.elements[-1])

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        for element in self.open:
            element[2].append(data)

    def all(self, tag):
        """Return attributes and text of every element of a kind."""
        return [(attrs, "".join(text)) for name, attrs, text in self.elements if name == tag]

    def texts(self, tag):
        return [text for _, text in self.all(tag)]

    @property
    def data(self):
        """The numbers and names for the script."""
        return json.loads(
            next(text for attrs, text in self.all("script") if attrs.get("id") == "report-data")
        )

    def table(self, caption):
        """Return the cells of a table, line by line."""
        lines, inside = [], False
        for tag, _, text in self.elements:
            if tag == "table":
                inside = False
            if tag == "caption":
                inside = "".join(text) == caption
            if inside and tag == "tr":
                lines.append([])
            if inside and tag in ("th", "td"):
                lines[-1].append("".join(text))
        return lines


def unpacked(text, dtype):
    return np.frombuffer(base64.b64decode(text), dtype=dtype)
