"""The one way in which a command tells its user that the request can't be met."""

from __future__ import annotations

__all__ = ["UserError"]


class UserError(Exception):
    """A problem with what the user asked for; the command line prints it as one line."""
