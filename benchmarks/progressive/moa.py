"""MOA's learners through CapyMOA, with the methods of a river classifier."""

from __future__ import annotations

import functools
import gc
import importlib.util
import math
import shutil
from typing import Any

import numpy as np

from river_oauc.cli.messages import UserError

__all__ = ["IS_INSTALLED", "MOA"]

IS_INSTALLED = importlib.util.find_spec("capymoa") is not None and shutil.which("java") is not None


class MOA:
    """A classifier of MOA for feature dicts that all have the keys of the first.

    Parameters
    ----------
    name
        Name of a class of `capymoa.classifier`, or of MOA's package of ensembles for imbalance.
    options
        Arguments of its constructor.

    """

    def __init__(self, name: str, **options: Any) -> None:
        if not IS_INSTALLED:
            raise UserError("MOA is not installed: pip install capymoa, and have Java on the path")
        # Imported late because this starts a Java virtual machine.
        from capymoa import base, classifier

        self._make: Any = getattr(classifier, name, None)
        if self._make is None:
            from moa.classifiers.meta import imbalanced

            self._make = functools.partial(
                base.MOAClassifier, moa_learner=getattr(imbalanced, name)
            )
        self._options = options
        self._learner: Any = None
        self._heap_before = _used_heap()

    def _instance(self, x: dict[Any, Any], y: bool = False) -> Any:
        from capymoa.core import LabeledInstance
        from capymoa.stream import Schema

        if self._learner is None:
            self._schema = Schema.from_custom(
                [*map(str, x), "label"], target="label", categories={"label": ["False", "True"]}
            )
            self._learner = self._make(schema=self._schema, **self._options)
        values = np.fromiter(x.values(), float, len(x))
        return LabeledInstance.from_array(self._schema, values, int(y))

    def predict_proba_one(self, x: dict[Any, Any]) -> dict[bool, float]:
        """Return a monotone transform of the votes that does not tie near 0 and 1; 0.5 without."""
        instance = self._instance(x)
        votes = self._learner.predict_proba(instance)
        if votes is None:
            return {False: 0.5, True: 0.5}
        negative, positive = (math.log(max(vote, 1e-300)) for vote in votes)
        p = 0.5 + math.atan(positive - negative) / math.pi
        return {False: 1.0 - p, True: p}

    def learn_one(self, x: dict[Any, Any], y: bool) -> None:
        """Update the model with one example."""
        instance = self._instance(x, y)
        self._learner.train(instance)

    @property
    def _raw_memory_usage(self) -> int:
        return max(_used_heap() - self._heap_before, 0)


def _used_heap() -> int:
    """Return the bytes of the live objects of the Java virtual machine."""
    import jpype

    gc.collect()
    jpype.java.lang.System.gc()
    runtime = jpype.java.lang.Runtime.getRuntime()
    return int(runtime.totalMemory() - runtime.freeMemory())
