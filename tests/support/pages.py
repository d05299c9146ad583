"""A page as a browser reads it, and what a person does with it and sees."""

import base64
import json
import re
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


# ---- in a browser -------------------------------------------------------------------------------


def until(page, condition, arg=None):
    """Wait for a condition; the page's policy keeps Playwright's own way of it out."""
    for _ in range(400):
        if page.evaluate(condition, arg):
            return
        page.wait_for_timeout(25)
    raise AssertionError(f"never came true: {condition} ({arg!r})")


def picture(canvas="tree-canvas"):
    """An expression for a number that changes with what is on a canvas."""
    data = f"document.getElementById('{canvas}').toDataURL()"
    return f"[...{data}].reduce((sum, one) => (31 * sum + one.charCodeAt(0)) | 0, 0)"


def titled(page, name):
    """Wait until the details are about something."""
    until(page, "(name) => document.querySelector('#details h3').textContent === name", name)


def current(page):
    """What a screen reader says of the node that is chosen."""
    return page.locator("#outline [aria-selected=true]").inner_text()


def marked(page, number):
    """Wait until so many rows are marked among the data."""
    page.wait_for_selector(f"#cloud-canvas[data-marked='{number}']")


def point_of(page, x, y):
    """A point of the tree, by shares of its width and height."""
    page.locator("#tree-canvas").scroll_into_view_if_needed()
    box = page.locator("#tree-canvas").bounding_box()
    return box["x"] + x * box["width"], box["y"] + y * box["height"]


def size_of(text):
    return int(re.search(r"of (\d+) rows", text)[1])
