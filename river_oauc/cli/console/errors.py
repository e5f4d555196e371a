"""The error of a request that cannot be met."""

from __future__ import annotations


class UserError(Exception):
    """A problem with the user's request, printed as one line."""
