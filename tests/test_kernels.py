"""Kernels against their formulas, as inner products, as values, and as something to subclass."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from river_oauc import KOIL, OKAUCM, OKAUCS
from river_oauc.kernels import RBF, Kernel, Linear, Polynomial

KERNELS = {
    "RBF": (RBF(gamma=0.7), reference.rbf(0.7)),
    "RBF-wide": (RBF(gamma=1e-3), reference.rbf(1e-3)),
    "Polynomial": (
        Polynomial(degree=3, gamma=0.5, coef0=2.0),
        reference.polynomial(3, 0.5, 2.0),
    ),
    "Polynomial-homogeneous": (Polynomial(coef0=0), reference.polynomial(2, 1.0, 0.0)),
    "Linear": (Linear(), reference.linear),
}
each_kernel = pytest.mark.parametrize("kernel", [kernel for kernel, _ in KERNELS.values()])
each_kernel_and_formula = pytest.mark.parametrize(
    ("kernel", "formula"), KERNELS.values(), ids=KERNELS
)


class Laplacian(Kernel):
    """exp(-rate · the sum of the absolute differences)."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def __call__(self, x: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        return np.exp(-self.rate * np.abs(vectors - x).sum(axis=1))


class Cosine(Kernel):
    def __call__(self, x: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(x)
        return vectors @ x / np.maximum(lengths, 1e-300)


def gram(kernel: Kernel, vectors: np.ndarray) -> np.ndarray:
    return np.array([kernel(x, vectors) for x in vectors])


def matrices(max_value: float = 10.0) -> st.SearchStrategy[np.ndarray]:
    return st_numpy.arrays(
        float,
        st_numpy.array_shapes(min_dims=2, max_dims=2, max_side=8),
        elements=st.floats(-max_value, max_value),
    )


# The formulas --------------------------------------------------------------------------------


@each_kernel_and_formula
@given(vectors=matrices())
def test_a_row_is_the_formula_applied_to_each_vector(kernel, formula, vectors):
    x = vectors[0]
    row = kernel(x, vectors)
    assert row.shape == (len(vectors),)
    assert row.dtype == float
    # The products that are summed, and may cancel, are as large as this.
    scale = max(1.0, *(abs(formula(z, z)) for z in vectors))
    assert row == pytest.approx([formula(x, z) for z in vectors], rel=1e-12, abs=1e-12 * scale)


@each_kernel_and_formula
@given(vectors=matrices())
def test_the_similarity_to_itself_is_the_formula_too(kernel, formula, vectors):
    for x in vectors:
        assert kernel.of_itself(x) == pytest.approx(formula(x, x), rel=1e-12)
        assert type(kernel.of_itself(x)) is float


@each_kernel
@given(vectors=matrices())
def test_the_arguments_are_left_alone(kernel, vectors):
    before = vectors.copy()
    kernel(vectors[0], vectors)
    kernel.of_itself(vectors[0])
    np.testing.assert_array_equal(vectors, before)


@each_kernel
@given(vectors=matrices(), n_new=st.integers(1, 3))
def test_features_that_are_zero_change_no_similarity(kernel, vectors, n_new):
    wider = np.pad(vectors, ((0, 0), (0, n_new)))
    np.testing.assert_allclose(gram(kernel, wider), gram(kernel, vectors), rtol=1e-12, atol=1e-12)


def test_one_example_of_each_by_hand():
    x, vectors = np.array([1.0, 2.0]), np.array([[3.0, 1.0], [1.0, 2.0], [-2.0, 1.0]])
    assert Linear()(x, vectors).tolist() == [5.0, 5.0, 0.0]
    assert Polynomial(degree=2)(x, vectors).tolist() == [36.0, 36.0, 1.0]
    assert Polynomial(degree=3, gamma=2.0, coef0=0.5)(x, vectors).tolist() == [10.5**3] * 2 + [
        0.125
    ]
    expected = [math.exp(-0.5), 1.0, math.exp(-1.0)]
    assert RBF(gamma=0.1)(x, vectors) == pytest.approx(expected, rel=1e-15)


def test_the_defaults_are_those_of_the_docstrings():
    assert RBF() == RBF(gamma=1.0)
    assert Polynomial() == Polynomial(degree=2, gamma=1.0, coef0=1.0)


# Inner products ------------------------------------------------------------------------------


@each_kernel
@pytest.mark.parametrize("seed", range(5))
def test_the_gram_matrix_is_symmetric_and_positive_semidefinite(kernel, seed):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(40, 3))
    # Some vectors twice: the smallest eigenvalue is then 0.
    matrix = gram(kernel, np.vstack([vectors, vectors[:5]]))
    scale = np.abs(matrix).max()
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-13 * scale, rtol=0)
    eigenvalues = np.linalg.eigvalsh(matrix)
    assert eigenvalues.min() >= -1e-12 * scale * len(matrix)
    assert eigenvalues.max() > 0.1 * scale
    diagonal = [kernel.of_itself(x) for x in vectors]
    np.testing.assert_allclose(np.diag(matrix)[:40], diagonal, rtol=1e-13)


# The Gaussian kernel in floating point -------------------------------------------------------


@given(
    vectors=matrices(max_value=1e50),
    gamma=st.floats(1e-200, 1e200),
)
def test_rbf_is_exactly_one_at_distance_zero_and_never_above(vectors, gamma):
    kernel = RBF(gamma)
    row = kernel(vectors[0], vectors)
    assert row[0] == 1.0
    assert kernel.of_itself(vectors[0]) == 1.0
    assert np.all((row >= 0.0) & (row <= 1.0))


def test_rbf_loses_no_digits_to_an_offset():
    # Multiples of 2⁻²⁰ are exact even beside an offset of 1e8.
    vectors = np.random.default_rng(0).integers(0, 2**20, size=(50, 4)) / 2**20
    kernel = RBF(gamma=1.0)
    plain, shifted = gram(kernel, vectors), gram(kernel, vectors + 1e8)
    np.testing.assert_allclose(shifted, plain, rtol=1e-14)
    # Expanding |x - z|² into squares would leave nothing.
    squares = np.sum((vectors + 1e8) ** 2, axis=1)
    expanded = squares[:, None] + squares - 2 * (vectors + 1e8) @ (vectors + 1e8).T
    assert np.abs(np.exp(-np.maximum(expanded, 0.0)) - plain).max() > 0.1


def test_gamma_is_one_over_the_squared_width_of_the_paper():
    sigma = 0.25
    x, z = np.array([0.1, 0.3]), np.array([[0.2, 0.1]])
    expected = math.exp(-np.sum((x - z) ** 2) / sigma**2)
    assert RBF(gamma=1 / sigma**2)(x, z)[0] == pytest.approx(expected, rel=1e-14)


# Values among values -------------------------------------------------------------------------

DISTINCT = [
    RBF(),
    RBF(gamma=0.5),
    Polynomial(),
    Polynomial(degree=3),
    Polynomial(gamma=0.5),
    Polynomial(coef0=0.0),
    Linear(),
    Laplacian(1.0),
    Cosine(),
]


@pytest.mark.parametrize("kernel", DISTINCT, ids=repr)
def test_the_repr_makes_the_kernel_again(kernel):
    assert eval(repr(kernel)) == kernel


def test_the_repr_names_the_parameters():
    assert repr(RBF(gamma=0.25)) == "RBF(gamma=0.25)"
    assert repr(Polynomial(3, 0.5, 0.0)) == "Polynomial(degree=3, gamma=0.5, coef0=0.0)"
    assert repr(Linear()) == "Linear()"
    assert "kernel=RBF(gamma=0.25)" in repr(OKAUCM(RBF(gamma=0.25))).replace(" ", "")


def test_kernels_are_equal_if_their_type_and_parameters_are():
    for i, kernel in enumerate(DISTINCT):
        for j, other in enumerate(copy.deepcopy(DISTINCT)):
            assert (kernel == other) is (i == j)
            assert (hash(kernel) == hash(other)) or i != j
    assert len({*DISTINCT, *copy.deepcopy(DISTINCT)}) == len(DISTINCT)
    assert RBF() != "RBF(gamma=1.0)"


@pytest.mark.parametrize("kernel", DISTINCT, ids=repr)
def test_a_kernel_survives_pickling_and_cloning(kernel):
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    model = OKAUCM(kernel)
    model.learn_one({"a": 1.0}, True)
    clone = model.clone()
    assert clone.kernel == kernel
    assert clone.support.n == [0, 0]
    changed = model.clone({"kernel": RBF(gamma=9.0)})
    assert changed.kernel == changed.support.kernel == RBF(gamma=9.0)
    assert pickle.loads(pickle.dumps(model)).support.kernel == kernel


# A kernel of one's own -----------------------------------------------------------------------


def laplacian(x: np.ndarray, z: np.ndarray) -> float:
    return math.exp(-0.5 * float(np.sum(np.abs(x - z))))


def cosine(x: np.ndarray, z: np.ndarray) -> float:
    return float(x @ z) / math.sqrt(float(x @ x) * float(z @ z))


@pytest.mark.parametrize("kernel, formula", [(Laplacian(0.5), laplacian), (Cosine(), cosine)])
def test_a_kernel_with_one_method_is_all_that_a_learner_needs(kernel, formula):
    rng = np.random.default_rng(1)
    model = OKAUCM(kernel, l2=0.1, budget=6)
    slow = reference.OKAUCM(formula, 0.1, budget=6)
    probes = rng.normal(size=(5, 2))
    for x, y in zip(rng.normal(size=(80, 2)), rng.random(80) < 0.4, strict=True):
        model.learn_one({"a": x[0], "b": x[1]}, bool(y))
        slow.learn(x, 1 if y else -1)
    scores = [model.score_one({"a": a, "b": b}) for a, b in probes.tolist()]
    assert scores == pytest.approx([slow.score(probe) for probe in probes], rel=1e-8)
    assert max(map(abs, scores)) > 0.1


def test_a_kernel_without_its_method_cannot_be_made():
    class Incomplete(Kernel):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Incomplete()


@pytest.mark.parametrize("learner", [OKAUCM, OKAUCS, KOIL])
@pytest.mark.parametrize("bad", ["rbf", 1.0, RBF, lambda x, vectors: vectors @ x])
def test_only_a_kernel_is_a_kernel(learner, bad):
    with pytest.raises(ValueError, match="^kernel is .*must be a Kernel"):
        learner(kernel=bad)


# Parameters ----------------------------------------------------------------------------------

NOT_POSITIVE = [0.0, -1.0, math.nan, math.inf, True, "1", None, [1.0], 1j]


@pytest.mark.parametrize(
    ("kernel", "name", "bad"),
    [
        *((RBF, "gamma", bad) for bad in NOT_POSITIVE),
        *((Polynomial, "gamma", bad) for bad in NOT_POSITIVE),
        *((Polynomial, "coef0", bad) for bad in NOT_POSITIVE if bad != 0.0),
        *((Polynomial, "degree", bad) for bad in (0, -1, 2.0, 0.5, True, "2", None)),
    ],
)
def test_a_bad_parameter_is_refused_by_name(kernel, name, bad):
    with pytest.raises(ValueError, match=f"^{name} is "):
        kernel(**{name: bad})


class Matches(Kernel):
    """How many features are equal: a whole number."""

    def __call__(self, x: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        return (vectors == x).sum(axis=1)


class MatchesInDoubles(Matches):
    def __call__(self, x: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        return super().__call__(x, vectors).astype(float)


@pytest.mark.parametrize("learner", [OKAUCM, OKAUCS, KOIL])
def test_a_kernel_may_have_whole_numbers(learner):
    rng = np.random.default_rng(3)
    models = [learner(kernel, budget=4) for kernel in (Matches(), MatchesInDoubles())]
    for _ in range(30):
        x = {f"x{j}": int(value) for j, value in enumerate(rng.integers(0, 3, size=4))}
        for model in models:
            model.learn_one(x, x["x0"] > 0)
        assert models[0].score_one(x) == models[1].score_one(x)
    assert models[0].score_one(x) != 0.0
