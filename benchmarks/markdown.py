"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["markdown_table"]


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose first row is the header; columns but the first are right-aligned.

    Examples
    --------
    >>> from benchmarks.markdown import markdown_table
    >>> print(markdown_table([["set", "AUC"], ["german", "78.7"]]))
    | set | AUC |
    | --- | ---: |
    | german | 78.7 |

    """
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "| --- |" + " ---: |" * (len(rows[0]) - 1))
    return "\n".join(lines)
