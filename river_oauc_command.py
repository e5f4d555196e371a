"""The command `river-oauc`, before anything is imported.

It stands beside the package because to import any part of that is to import river, numpy and scipy,
which takes seconds: too long to let Ctrl-C end in a traceback, or `--version` wait.
"""

from __future__ import annotations

import os
import signal
import sys

__all__ = ["main"]


def main() -> int:
    """Run the command that the arguments of the process name; returns its exit code."""
    # Not an exception: it could be raised, and lost, in any corner of what is imported.
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, _quit)
    if sys.argv[1:] == ["--version"]:
        import importlib.metadata

        print(f"river-oauc {importlib.metadata.version('river-oauc')}")
        return 0
    from river_oauc.experiments import cli

    signal.signal(signal.SIGINT, before)
    return cli.main()


def _quit(*args: object) -> None:
    """End the process at once; there is nothing to be tidied up yet."""
    os.write(2, b"river-oauc: interrupted\n")
    os._exit(130)
