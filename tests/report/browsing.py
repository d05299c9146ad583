"""What a person does with the page, and sees."""

import re


def until(page, condition, arg=None):
    """Wait for a condition; the page's policy keeps Playwright's own way of it out."""
    for _ in range(400):
        if page.evaluate(condition, arg):
            return
        page.wait_for_timeout(25)
    raise AssertionError(f"never came true: {condition} ({arg!r})")


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
