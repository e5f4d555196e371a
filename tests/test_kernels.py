"""Kernels against their formulas, as inner products, as values, and as a class to extend."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from river_oauc import OKAUCM
from river_oauc.kernels import RBF, Kernel, Linear, Polynomial, similarities
from river_oauc.rankers.kernel import similarity_row


class Laplacian(Kernel):
    """A kernel of the user's, with a rate per feature or one for all."""

    def __init__(self, rate: float | np.ndarray) -> None:
        self.rate = rate

    def __call__(self, x: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        return np.exp(-(self.rate * np.abs(vectors - x)).sum(axis=1))


FORMULAS = {
    RBF(gamma=0.7): lambda x, z: math.exp(-0.7 * math.dist(x, z) ** 2),
    Polynomial(degree=3, gamma=0.5, coef0=2.0): lambda x, z: (0.5 * float(x @ z) + 2.0) ** 3,
    Polynomial(coef0=0): lambda x, z: float(x @ z) ** 2,
    Linear(): lambda x, z: float(x @ z),
    Laplacian(0.5): lambda x, z: math.exp(-0.5 * float(np.abs(x - z).sum())),
}
each_kernel = pytest.mark.parametrize(
    ("kernel", "formula"), FORMULAS.items(), ids=[repr(kernel) for kernel in FORMULAS]
)


@given(
    vectors=st_numpy.arrays(
        float, st_numpy.array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.floats(-9, 9)
    ),
    n_new=st.integers(0, 3),
)
@each_kernel
def test_similarities_are_those_of_the_formula(kernel, formula, vectors, n_new):
    # The products that are summed, and may cancel, are as large as this.
    scale = max(1.0, *(abs(formula(z, z)) for z in vectors))
    expected = [[formula(x, z) for z in vectors] for x in vectors]
    # Features that are 0 change nothing.
    wider = np.pad(vectors, ((0, 0), (0, n_new)))
    gram = [similarities(kernel, x, wider) for x in wider]
    np.testing.assert_allclose(gram, expected, rtol=1e-12, atol=1e-12 * scale)
    norms = [kernel.self_similarity(x) for x in wider]
    np.testing.assert_allclose(norms, np.diag(expected), rtol=1e-12)


@each_kernel
def test_the_gram_matrix_is_symmetric_and_positive_semidefinite(kernel, formula):
    vectors = np.random.default_rng(0).normal(size=(40, 3))
    # Some vectors twice: the smallest eigenvalue is then 0.
    vectors = np.vstack([vectors, vectors[:5]])
    matrix = np.array([kernel(x, vectors) for x in vectors])
    scale = np.abs(matrix).max()
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-13 * scale, rtol=0)
    eigenvalues = np.linalg.eigvalsh(matrix)
    assert -1e-12 * scale * len(matrix) <= eigenvalues.min() < 1e-6 < eigenvalues.max()


def rbf_by_ranker(gamma: float, x: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return similarity_row(x, vectors, len(vectors), gamma, 0.0, 0)


@pytest.mark.parametrize("row", [lambda gamma, x, vectors: RBF(gamma)(x, vectors), rbf_by_ranker])
def test_rbf_is_one_at_distance_zero_and_loses_no_digits_to_an_offset(row):
    # Multiples of 2⁻²⁰ are exact even next to an offset of 1e8.
    vectors = np.random.default_rng(0).integers(0, 2**20, size=(50, 5)) / 2**20
    for x in vectors:
        np.testing.assert_allclose(row(1.0, x + 1e8, vectors + 1e8), row(1.0, x, vectors), 1e-14)
    for scale in (1e-100, 1.0, 1e45):
        similarity = row(1e9 / scale**2, scale * vectors[0], scale * vectors)
        assert similarity[0] == 1.0 and np.all(similarity[1:] == 0.0)
    assert not similarity_row(vectors[0], vectors, 3, 1.0, 0.0, 0)[3:].any()


DISTINCT = [RBF(), RBF(0.5), Polynomial(), Polynomial(3), Polynomial(gamma=0.5), Linear()]
DISTINCT += [Polynomial(coef0=0.0), Laplacian(1.0), Laplacian(np.array([1.0, 2.0]))]


def test_kernels_are_values():
    """They are equal if type and parameters are; so for repr, pickles and clones of models."""
    for i, kernel in enumerate(DISTINCT):
        assert [kernel == other for other in copy.deepcopy(DISTINCT)] == [
            i == j for j in range(len(DISTINCT))
        ]
        again = pickle.loads(pickle.dumps(kernel))
        assert again == kernel and hash(again) == hash(kernel)
        if i < len(DISTINCT) - 1:
            assert eval(repr(kernel)) == kernel
        model = OKAUCM(kernel, budget=2)
        model.learn_one({"a": 1.0, "b": 2.0}, True)
        assert (model + copy.deepcopy(model)).support.n == (0, 2)
        with pytest.raises(ValueError, match="different values of kernel"):
            model + OKAUCM(budget=2)
        clone = model.clone()
        assert clone.kernel == clone.support.kernel == kernel and clone.support.n == (0, 0)


@pytest.mark.parametrize("dtype", ["int64", "bool", "float16", "float32", "longdouble"])
def test_a_kernel_may_return_numbers_of_any_real_type(dtype):
    class Matches(Kernel):
        def __call__(self, x: np.ndarray, vectors: np.ndarray) -> np.ndarray:
            return (vectors == x).sum(axis=1).astype(dtype)

    row = similarities(Matches(), np.array([1.0, 2.0]), np.array([[1.0, 3.0], [0.0, 0.0]]))
    assert row.dtype == np.float64 and row.tolist() == [1.0, 0.0]


NOT_POSITIVE = [0.0, -1.0, math.nan, math.inf, True, "1", None, [1.0], 1j]
BAD = {
    RBF: {"gamma": NOT_POSITIVE},
    Polynomial: {
        "gamma": NOT_POSITIVE, "coef0": NOT_POSITIVE[1:], "degree": [0, -1, 2.0, True, "2", None]
    },
}  # fmt: skip


def test_a_bad_parameter_is_refused_by_name():
    for kernel, parameters in BAD.items():
        for name, bad in [(name, bad) for name, some in parameters.items() for bad in some]:
            with pytest.raises(ValueError, match=f"^{name} is "):
                kernel(**{name: bad})
