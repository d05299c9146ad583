"""Ctrl-C once: chains finish their sweep, draws are kept. Pressed again, it spoils nothing."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

PATIENCE = 3  # times that Ctrl-C is pressed before all is given up
STOPPING = "stopping: what there is is being kept"


@contextmanager
def once() -> Iterator[None]:
    """Let the first Ctrl-C, or request to end, interrupt; others wait for what it keeps.

    From the fourth on they interrupt, for who cannot wait for the end of a sweep. In other threads
    than the main one, which get no signals, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed = 0

    def respond(before: Any) -> Any:
        def handle(number: int, frame: FrameType | None) -> None:
            nonlocal pressed
            pressed += 1
            if pressed == 1 or pressed > PATIENCE:
                before(number, frame)
            else:
                print(STOPPING, file=sys.stderr, flush=True)

        return handle

    found = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    handlers = {number: before for number, before in found.items() if callable(before)}
    for number, before in handlers.items():
        signal.signal(number, respond(before))
    try:
        yield
    finally:
        for number, before in handlers.items():
            signal.signal(number, before)
