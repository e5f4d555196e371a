"""The one way in which a command tells its user that the request can't be met."""

from __future__ import annotations

__all__ = ["UserError", "reason"]


class UserError(Exception):
    """A problem with what the user asked for; the command line prints it as one line."""


def reason(error: OSError) -> str:
    """Why the system refuses, without the number and the file name.

    Examples
    --------

    >>> reason(FileNotFoundError(2, "No such file or directory"))
    'No such file or directory'

    """
    return error.strerror or str(error)
