"""Ctrl-C that waits until what belongs together is done."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


class Interrupts:
    """Hold Ctrl-C back inside a `with` block, and raise it at the end of the block."""

    def __init__(self) -> None:
        self._holding = self._pending = False

    def handle(self, *args: object) -> None:
        """Raise KeyboardInterrupt now, or at the end of the block. A signal handler."""
        if not self._holding:
            raise KeyboardInterrupt
        self._pending = True

    def __enter__(self) -> None:
        self._holding = True

    def __exit__(self, *args: object) -> None:
        self._holding = False
        if self._pending:
            self._pending = False
            raise KeyboardInterrupt


@contextlib.contextmanager
def interrupts_held() -> Iterator[Interrupts]:
    """Let blocks of `Interrupts` hold back Ctrl-C, and the signal that stops a service."""
    interrupts = Interrupts()
    previous = {
        number: signal.signal(number, interrupts.handle)
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield interrupts
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
