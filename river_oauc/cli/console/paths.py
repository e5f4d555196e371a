"""Files that a command will write."""

from __future__ import annotations

import os
import pathlib

from river_oauc.cli.console.errors import UserError


def check_writable(path: pathlib.Path, what: str) -> None:
    """Refuse a file that cannot be written, before the work is done."""
    is_writable = path.parent.is_dir() and os.access(path.parent, os.W_OK)
    if path.is_dir() or not is_writable:
        raise UserError(f"{path}: the {what} cannot be written there")
