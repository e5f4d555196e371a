"""Kernels against their formulas, as inner products, as values, and as a class to extend."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from river_oauc import OKAUCM
from river_oauc.kernels import RBF, Kernel, Linear, Polynomial, similarities


def rbf(gamma: float) -> Callable:
    return lambda x, z: math.exp(-gamma * math.dist(x, z) ** 2)


def polynomial(degree: int, gamma: float, coef0: float) -> Callable:
    return lambda x, z: (gamma * sum(a * b for a, b in zip(x, z, strict=True)) + coef0) ** degree


KERNELS = {
    "RBF": (RBF(gamma=0.7), rbf(0.7)),
    "RBF-wide": (RBF(gamma=1e-3), rbf(1e-3)),
    "Polynomial": (Polynomial(degree=3, gamma=0.5, coef0=2.0), polynomial(3, 0.5, 2.0)),
    "Polynomial-homogeneous": (Polynomial(coef0=0), polynomial(2, 1.0, 0.0)),
    "Linear": (Linear(), polynomial(1, 1.0, 0.0)),
}
each_kernel = pytest.mark.parametrize(("kernel", "formula"), KERNELS.values(), ids=KERNELS)


class Laplacian(Kernel):
    def __init__(self, rate: float) -> None:
        self.rate = rate

    def __call__(self, x: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        return np.exp(-self.rate * np.abs(vectors - x).sum(axis=1))


def matrices(max_value: float = 10.0) -> st.SearchStrategy[np.ndarray]:
    shapes = st_numpy.array_shapes(min_dims=2, max_dims=2, max_side=8)
    return st_numpy.arrays(float, shapes, elements=st.floats(-max_value, max_value))


def gram(kernel: Kernel, vectors: np.ndarray) -> np.ndarray:
    return np.array([kernel(x, vectors) for x in vectors])


@each_kernel
@given(vectors=matrices(), n_new=st.integers(0, 3))
def test_similarities_are_those_of_the_formula(kernel, formula, vectors, n_new):
    # The products that are summed, and may cancel, are as large as this.
    scale = max(1.0, *(abs(formula(z, z)) for z in vectors))
    expected = [[formula(x, z) for z in vectors] for x in vectors]
    # Features that are 0 change nothing.
    wider = np.pad(vectors, ((0, 0), (0, n_new)))
    before = wider.copy()
    np.testing.assert_allclose(gram(kernel, wider), expected, rtol=1e-12, atol=1e-12 * scale)
    for x, row in zip(wider, np.diag(expected), strict=True):
        assert kernel.self_similarity(x) == pytest.approx(row, rel=1e-12)
        assert type(kernel.self_similarity(x)) is float
    np.testing.assert_array_equal(wider, before)


@each_kernel
def test_the_gram_matrix_is_symmetric_and_positive_semidefinite(kernel, formula):
    vectors = np.random.default_rng(0).normal(size=(40, 3))
    # Some vectors twice: the smallest eigenvalue is then 0.
    matrix = gram(kernel, np.vstack([vectors, vectors[:5]]))
    scale = np.abs(matrix).max()
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-13 * scale, rtol=0)
    eigenvalues = np.linalg.eigvalsh(matrix)
    assert eigenvalues.min() >= -1e-12 * scale * len(matrix)
    assert eigenvalues.max() > 0.1 * scale


@given(vectors=matrices(max_value=1e50), gamma=st.floats(1e-200, 1e200))
def test_rbf_is_exactly_one_at_distance_zero_and_never_above(vectors, gamma):
    row = RBF(gamma)(vectors[0], vectors)
    assert row[0] == 1.0
    assert np.all((row >= 0.0) & (row <= 1.0))


def test_rbf_loses_no_digits_to_an_offset():
    # Multiples of 2⁻²⁰ are exact even next to an offset of 1e8.
    vectors = np.random.default_rng(0).integers(0, 2**20, size=(50, 4)) / 2**20
    plain, shifted = gram(RBF(), vectors), gram(RBF(), vectors + 1e8)
    np.testing.assert_allclose(shifted, plain, rtol=1e-14)


DISTINCT = [
    RBF(),
    RBF(gamma=0.5),
    Polynomial(),
    Polynomial(degree=3),
    Polynomial(gamma=0.5),
    Polynomial(coef0=0.0),
    Linear(),
    Laplacian(1.0),
]


@pytest.mark.parametrize("kernel", DISTINCT, ids=repr)
def test_a_kernel_survives_repr_pickling_and_cloning(kernel):
    assert eval(repr(kernel)) == kernel
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    model = OKAUCM(kernel)
    model.learn_one({"a": 1.0}, True)
    assert pickle.loads(pickle.dumps(model)).support.kernel == kernel
    clone = model.clone()
    assert clone.kernel == clone.support.kernel == kernel
    assert clone.support.n == (0, 0)
    assert model.clone({"kernel": RBF(gamma=9.0)}).support.kernel == RBF(gamma=9.0)


def test_kernels_are_equal_if_their_type_and_parameters_are():
    for i, kernel in enumerate(DISTINCT):
        for j, other in enumerate(copy.deepcopy(DISTINCT)):
            assert (kernel == other) is (i == j)
    assert len({*DISTINCT, *copy.deepcopy(DISTINCT)}) == len(DISTINCT)


class Relevance(Kernel):
    """A Gaussian kernel with a width per feature."""

    def __init__(self, gammas: list[float]) -> None:
        self.gammas = np.array(gammas)

    def __call__(self, x: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        return np.exp(-((vectors - x) ** 2) @ self.gammas)


def test_kernels_with_array_parameters_are_compared_by_value():
    assert Relevance([1.0, 2.0]) == Relevance([1.0, 2.0]) != Relevance([1.0, 3.0])
    assert hash(Relevance([1.0, 2.0])) == hash(Relevance([1.0, 2.0]))
    models = [OKAUCM(kernel=Relevance([1.0, 2.0]), budget=5) for _ in range(2)]
    for i in range(20):
        models[i % 2].learn_one({"a": i % 3, "b": i % 5}, i % 4 < 2)
    assert sum((models[0] + models[1]).support.n) == 10


class Matches(Kernel):
    """Return numbers of equal features, of some type."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    def __call__(self, x: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        return (vectors == x).sum(axis=1).astype(self.dtype)


@pytest.mark.parametrize("dtype", ["int64", "bool", "float16", "float32", "longdouble"])
def test_a_kernel_may_return_numbers_of_any_real_type(dtype):
    x, vectors = np.array([1.0, 2.0]), np.array([[1.0, 3.0], [0.0, 0.0]])
    row = similarities(Matches(dtype), x, vectors)
    assert row.dtype == np.float64
    assert row.tolist() == [1.0, 0.0]


NOT_POSITIVE = [0.0, -1.0, math.nan, math.inf, True, "1", None, [1.0], 1j]


@pytest.mark.parametrize(
    ("kernel", "name", "bad"),
    [
        *((RBF, "gamma", bad) for bad in NOT_POSITIVE),
        *((Polynomial, "gamma", bad) for bad in NOT_POSITIVE),
        *((Polynomial, "coef0", bad) for bad in NOT_POSITIVE[1:]),
        *((Polynomial, "degree", bad) for bad in (0, -1, 2.0, True, "2", None)),
    ],
)
def test_a_bad_parameter_is_refused_by_name(kernel, name, bad):
    with pytest.raises(ValueError, match=f"^{name} is "):
        kernel(**{name: bad})
