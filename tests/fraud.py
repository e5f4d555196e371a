"""Four synthetic files of card payments: 0.5 to 1 % are fraud, and all have an id and a time."""

from __future__ import annotations

import csv
import datetime
import pathlib

import numpy as np

KINDS = ("outliers", "no_outliers", "change", "categories")
# How many values the text columns have: few enough to be one-hot encoded, and not.
FEW = {"channel": 4, "country": 25}
MANY = {"product": 60, "city": 600, "merchant": 5_000}


def write(path: pathlib.Path, kind: str, seed: int, n: int = 8_000) -> pathlib.Path:
    """A CSV file whose column `fraud` is yes or no.

    Every file has numbers of very different units, some of them missing, and a channel.

    Parameters
    ----------
    path
        Where to.
    kind
        `outliers`: the numbers have heavy tails, and one cell in two hundred is off by far.
        `no_outliers`: they are normal. `change`: they are normal, and half way the odds turn to
        other features. `categories`: most of the odds are in text of 4 to 5,000 values.
    seed
        Of all that is drawn.
    n
        Number of rows.

    """
    rng = np.random.default_rng([KINDS.index(kind), seed])
    latent = rng.standard_normal((n, 10))
    odds = 0.8 * latent[:, :4].sum(axis=1) + 0.5 * latent[:, 4] * latent[:, 5]
    if kind == "change":
        odds[n // 2 :] = 0.9 * latent[n // 2 :, 6:10].sum(axis=1)
    # The rarer a value, the higher its number.
    sizes = (FEW | MANY) if kind == "categories" else {"channel": FEW["channel"]}
    codes = {name: (size * rng.random(n) ** 2).astype(int) for name, size in sizes.items()}
    if kind == "categories":
        odds *= 0.4
    for name, size in sizes.items():
        odds += (1.2 if kind == "categories" else 0.3) * rng.standard_normal(size)[codes[name]]
    share = 0.005 if kind == "outliers" else 0.01
    # The highest noisy odds are fraud.
    noisy = odds + rng.logistic(size=n)
    fraud = noisy > np.quantile(noisy, 1.0 - share)

    numbers = latent
    if kind == "outliers":
        numbers = np.sinh(1.5 * latent)
        numbers = np.where(rng.random((n, 10)) < 0.005, 1e3 * rng.standard_normal((n, 10)), numbers)
    # Amounts, rates, sums in cents.
    cells = (numbers * np.logspace(-3, 4, 10) + np.linspace(0.0, 1e3, 10)).astype(object)
    cells[rng.random((n, 10)) < 0.02] = ""
    start = datetime.datetime(2024, 1, 1)
    seconds = np.sort(rng.integers(0, 90 * 86_400, n)).tolist()
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["payment", "time", *(f"v{i}" for i in range(10)), *sizes, "fraud"])
        for i in range(n):
            rows.writerow(
                [
                    f"P{rng.integers(10**12):012d}",
                    (start + datetime.timedelta(seconds=seconds[i])).isoformat(" "),
                    *cells[i],
                    *(f"{name} {values[i]}" for name, values in codes.items()),
                    "yes" if fraud[i] else "no",
                ]
            )
    return path
