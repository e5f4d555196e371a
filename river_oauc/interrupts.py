"""Ctrl-C that waits until a step is finished."""

from __future__ import annotations

import signal
import threading
import types
import typing
from collections.abc import Callable

__all__ = ["HeldInterrupts"]


class HeldInterrupts:
    """Holds SIGINT back while a block runs, but for the moments that the block chooses.

    Python raises a KeyboardInterrupt between any two instructions, and would leave a step of
    learning half done. Inside the block, the signal is only noted. The block looks at `arrived`
    whenever it may be interrupted, and calls `deliver`; what is left is delivered at its end.
    Delivering means calling the handler that was there before, which usually raises the
    KeyboardInterrupt; if it returns, the block goes on.

    Nothing is held back where nothing could be cut in half: outside of the main thread, and where
    the signal is ignored, ends the process at once, or is handled by other means than Python's.

    It costs about 20 microseconds, nearly all of them in `signal.signal`.

    Attributes
    ----------
    arrived
        The signal and the frame that it has interrupted; None if there is nothing to deliver.

    Examples
    --------
    >>> import signal
    >>> from river_oauc.interrupts import HeldInterrupts

    >>> previous = signal.signal(signal.SIGINT, lambda *_: print("interrupted"))
    >>> with HeldInterrupts() as interrupts:
    ...     signal.raise_signal(signal.SIGINT)
    ...     print("first half of a step")
    ...     print("second half of a step")
    first half of a step
    second half of a step
    interrupted
    >>> restored = signal.signal(signal.SIGINT, previous)

    """

    def __init__(self) -> None:
        self.arrived: tuple[int, types.FrameType | None] | None = None
        self._handler: Callable[[int, types.FrameType | None], typing.Any] | None = None

    def __enter__(self) -> typing.Self:
        self._hold()
        return self

    def __exit__(self, *exception: object) -> None:
        self._release()

    def deliver(self) -> None:
        """Let the handler that was there before have what has arrived."""
        self._release()
        # The handler may have put another one in its place: that is the one to restore then.
        self._hold()

    def _hold(self) -> None:
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):
                self._handler = handler
                signal.signal(signal.SIGINT, self._note)

    def _note(self, signum: int, frame: types.FrameType | None) -> None:
        self.arrived = signum, frame

    def _release(self) -> None:
        handler, self._handler = self._handler, None
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
            # Only now: until the handler is back, a signal may still be noted.
            arrived, self.arrived = self.arrived, None
            if arrived:
                handler(*arrived)
