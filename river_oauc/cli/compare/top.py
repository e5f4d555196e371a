"""The option `--top`: a number or a share of the highest scores."""

from __future__ import annotations

import argparse
import math


class Top:
    """A share or a number of examples.

    Parameters
    ----------
    text
        The user's input, such as `1%`, `0.5%` or `100`.

    Examples
    --------
    >>> Top("1%").of(2_310), Top("100").of(2_310)
    (23, 100)
    >>> Top("0")
    Traceback (most recent call last):
    argparse.ArgumentTypeError: '0' is neither a share, such as 1%, nor a positive integer

    """

    def __init__(self, text: str) -> None:
        number = text.removesuffix("%")
        self._is_share = number != text
        try:
            self._number = float(number) / 100 if self._is_share else int(number)
        except ValueError:
            self._number = 0
        if not 0 < self._number < (1 if self._is_share else math.inf):
            raise argparse.ArgumentTypeError(
                f"{text!r} is neither a share, such as 1%, nor a positive integer"
            )
        self._text = text

    def __str__(self) -> str:
        return self._text

    def of(self, n_examples: int) -> int:
        """Return the number of examples."""
        return max(1, round(self._number * n_examples)) if self._is_share else int(self._number)
