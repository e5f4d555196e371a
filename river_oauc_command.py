"""Entry point of the command `river-oauc`.

It is outside the package because importing any part of the package imports river, numpy and scipy,
which takes seconds: too long for `--version`, or for Ctrl-C to end in a traceback.
"""

from __future__ import annotations

import os
import signal
import sys

__all__ = ["main"]


def main() -> int:
    """Run the command named by the arguments of the process and return its exit code."""
    # Not an exception: one raised during an import may be swallowed there.
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, _quit)
    if sys.argv[1:] == ["--version"]:
        import importlib.metadata

        print(f"river-oauc {importlib.metadata.version('river-oauc')}")
        return 0
    from river_oauc.cli.main import main as run

    signal.signal(signal.SIGINT, handler)
    return run()


def _quit(*args: object) -> None:
    """End the process at once; there is nothing to clean up yet."""
    os.write(2, b"river-oauc: interrupted\n")
    os._exit(130)
