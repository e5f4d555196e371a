"""What all learners say after the same stream: run in either mode, to be compared.

    python tests/twin.py FILE

writes the models, pickled, and their scores.
"""

from __future__ import annotations

import pathlib
import pickle
import random
import sys
from typing import Any

import numpy as np
import pandas as pd

import river_oauc
from river_oauc.base import OnlineAUCClassifier

Example = tuple[dict[str, Any], bool]


def stream(n: int, seed: int) -> list[Example]:
    """Numbers of different size, some absent now and then, and names that come late."""
    rng = random.Random(seed)
    examples = []
    for t in range(n):
        y = rng.random() < 0.3
        names = [f"x{j}" for j in range(8 if t < n // 3 else 10)]
        x = {name: rng.gauss(0.5 * y, 1.0) * 2.0 ** (-j % 3) for j, name in enumerate(names)}
        if t % 7 == 0:
            del x["x3"]
        if t % 5 == 0:
            x["x4"] = t // 100
        examples.append((x, y))
    return examples


def models() -> dict[str, OnlineAUCClassifier]:
    made = {}
    for name in river_oauc.__all__:
        cls = getattr(river_oauc, name)
        for number, parameters in enumerate(cls._unit_test_params()):
            if "seed" in cls._get_params(cls()):
                parameters = {**parameters, "seed": 1}
            made[f"{name} {number}"] = cls(**parameters)
    return made


def lived(model: OnlineAUCClassifier, seed: int) -> list[float]:
    """The scores and probabilities of a stream, each before it is learned; then of a frame."""
    said = []
    for t, (x, y) in enumerate(stream(300, seed)):
        said += [model.score_one(x), model.predict_proba_one(x)[True]]
        model.learn_one(x, y, w=1.0 if t % 4 else 0.5)
    examples = stream(150, seed + 1)
    frame = pd.DataFrame([x for x, _ in examples]).fillna(0.0)
    model.learn_many(frame, pd.Series([y for _, y in examples]))
    return said + np.asarray(model.predict_proba_many(frame))[:, 1].tolist()


def main() -> None:
    out = {}
    for name, model in models().items():
        said = lived(model, seed=1)
        out[name] = (said, pickle.dumps(model))
    pathlib.Path(sys.argv[1]).write_bytes(pickle.dumps((river_oauc.compiled, out)))


if __name__ == "__main__":
    main()
