"""Which of the examples that two rankers have kept a merged ranker keeps."""

from __future__ import annotations

import random


def merge_reservoirs(
    n_kept: tuple[int, int], n_seen: tuple[int, int], capacity: int, rng: random.Random
) -> list[int]:
    """Return the positions of a uniform sample of two streams, given a uniform sample of each.

    Parameters
    ----------
    n_kept
        Sizes of the two samples. Positions run through the first and then through the second.
    n_seen
        Lengths of the two streams.
    capacity
        Size of the sample, unless there are fewer examples.
    rng
        Random generator.

    Examples
    --------
    >>> import random
    >>> from river_oauc.rankers.samples import merge_reservoirs
    >>> merge_reservoirs((3, 2), (3, 2), 10, random.Random(1))
    [0, 1, 2, 3, 4]
    >>> merge_reservoirs((3, 3), (1_000_000, 10), 3, random.Random(1))
    [0, 1, 2]

    """
    n_drawn, n_left = [0, 0], list(n_seen)
    for _ in range(min(capacity, sum(n_kept))):
        # Draw from both streams without replacement, and note from which of them.
        second = rng.randrange(sum(n_left)) >= n_left[0]
        if n_drawn[second] == n_kept[second]:
            # All that has been kept of this stream is drawn already.
            second = not second
        n_drawn[second] += 1
        n_left[second] -= 1
    first, both = n_kept[0], sum(n_kept)
    drawn = rng.sample(range(first), n_drawn[0]) + rng.sample(range(first, both), n_drawn[1])
    return sorted(drawn)


def merge_newest(n_first: int, n_second: int, capacity: int) -> list[int]:
    """Return the positions of the newest examples of two lists, the newest last.

    Both lists have the newest example last and end at the same time. Positions run through the
    first list and then through the second.

    Examples
    --------
    >>> from river_oauc.rankers.samples import merge_newest
    >>> merge_newest(5, 3, 4)
    [6, 3, 7, 4]

    """
    ages = [*range(n_first - 1, -1, -1), *range(n_second - 1, -1, -1)]
    return sorted(range(n_first + n_second), key=ages.__getitem__)[:capacity][::-1]
