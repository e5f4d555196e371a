"""What is done to vectors and matrices is what numpy does, compiled or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from test_compiled import compiled_only

from river_oauc import blas, vectors

RNG = np.random.default_rng(1)
sizes = pytest.mark.parametrize("n", [1, 2, 7, 8, 30, 600])


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


@sizes
def test_number_by_number(n: int) -> None:
    x, y = normal(n), normal(n)
    positive = np.abs(y) + 0.1
    for actual, expected in (
        (vectors.absolute(x), np.abs(x)),
        (vectors.add(x, 0.3), x + 0.3),
        (vectors.concatenate((x, y)), np.concatenate((x, y))),
        (vectors.copy(x), x),
        (vectors.divide(x, y), x / y),
        (vectors.exp(x, np.empty(n)), np.exp(x)),
        (vectors.fmax(x, 0.2), np.fmax(x, 0.2)),
        (vectors.fmax(x, y), np.fmax(x, y)),
        (vectors.fmin(x, 0.2, np.empty(n)), np.fmin(x, 0.2)),
        (vectors.frombuffer(x.tobytes()), x),
        (vectors.largest(x), x.max()),
        (vectors.multiply(x, y), x * y),
        (vectors.part(x, n // 3, n // 2), x[n // 3 : n // 2]),
        (vectors.sqrt(positive), np.sqrt(positive)),
        (vectors.subtract(x, y), x - y),
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-15)


def test_a_nan_gives_way_to_a_number() -> None:
    x = np.array([np.nan, 1.0, -1.0])
    assert vectors.fmax(x, 0.0).tolist() == [0.0, 1.0, 0.0]
    assert vectors.fmin(x, 0.0, np.empty(3)).tolist() == [0.0, 0.0, -1.0]


@sizes
def test_the_result_goes_where_it_is_to_go(n: int) -> None:
    for function, other in (
        (vectors.add, 0.3),
        (vectors.divide, normal(n)),
        (vectors.fmax, 0.2),
        (vectors.fmin, 0.2),
        (vectors.multiply, normal(n)),
        (vectors.subtract, normal(n)),
    ):
        x = normal(n)
        expected = function(x.copy(), other, np.empty(n)).copy()
        assert function(x, other, x) is x
        np.testing.assert_array_equal(x, expected)


@sizes
def test_by_position(n: int) -> None:
    x, rows = normal(n), RNG.permutation(n)[: n // 2 + 1]
    np.testing.assert_array_equal(vectors.take(x, rows), x[rows])
    expected, values = x.copy(), normal(len(rows))
    expected[rows] = values
    vectors.put(x, rows, values)
    np.testing.assert_array_equal(x, expected)
    numbers = RNG.integers(0, 2, n)
    np.testing.assert_array_equal(vectors.nonzero(numbers), np.flatnonzero(numbers))
    assert vectors.count_nonzero(numbers * 1.0) == numbers.sum()


@sizes
def test_rows_and_columns_of_matrices(n: int) -> None:
    x, matrix = normal(5), normal(5, n)
    n_first = n // 2 + 1
    np.testing.assert_array_equal(
        vectors.gaps(x, matrix, n_first), x[:, np.newaxis] - matrix[:, :n_first]
    )
    row = vectors.row(matrix, 3)
    row[0] = 7.0
    assert matrix[3, 0] == 7.0
    np.testing.assert_array_equal(row, matrix[3])
    several = normal(2, 5, n)
    np.testing.assert_array_equal(vectors.row(several, 1), several[1])
    vectors.set_column(matrix, n - 1, x)
    np.testing.assert_array_equal(matrix[:, n - 1], x)
    np.testing.assert_allclose(blas.matvec(matrix, matrix[2]), matrix @ matrix[2], rtol=1e-12)
    out = np.empty(5)
    blas.matvec(matrix, matrix[2], out)
    np.testing.assert_allclose(out, matrix @ matrix[2], rtol=1e-12)


@pytest.mark.parametrize("n_rows", [1, 7, 8, 9, 40])
@sizes
def test_sums_of_absolute_differences(n: int, n_rows: int) -> None:
    x, matrix, out = normal(n), normal(n_rows, n), np.empty(n_rows)
    vectors.city_distances(x, matrix, out)
    np.testing.assert_allclose(out, cdist(x[np.newaxis], matrix, "cityblock")[0], rtol=1e-13)
    vectors.city_distances(matrix[0].copy(), matrix, out)
    assert out[0] == 0.0


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_equations_and_sums_of_squares(n: int) -> None:
    rows, b = normal(n + 5, n), normal(n)
    upper = np.zeros((n, n), order="F")
    blas.dsyrk(0.5, rows.T, 1.0, upper, 0, 0, 1)
    np.testing.assert_allclose(upper, np.triu(0.5 * rows.T @ rows), rtol=1e-12, atol=1e-13)
    _, solution, failure = blas.dposv(upper, b, 0, 1)
    assert not failure
    np.testing.assert_allclose(0.5 * rows.T @ rows @ solution, b, rtol=1e-8, atol=1e-8)
    assert blas.dposv(np.asfortranarray(-np.eye(n)), b, 0, 1)[2]


@pytest.mark.parametrize("n", [1, 3, 8, 30])
def test_loops_over_numbers_are_those_of_numpy(n: int) -> None:
    rng = np.random.default_rng(n)
    matrix, x = rng.normal(size=(5, n)), rng.normal(size=n)
    matrix[3] = x
    distances = ((matrix - x) ** 2).sum(axis=1)
    assert distances[3] == 0.0
    for rows in (matrix, np.asfortranarray(matrix), np.repeat(matrix, 2, axis=1)[:, ::2]):
        actual = vectors.squared_distances(x, rows)
        np.testing.assert_allclose(actual, distances, rtol=1e-14)
        assert actual[3] == 0.0
    whole = rng.integers(-5, 5, size=(4, n))
    np.testing.assert_array_equal(
        vectors.squared_distances(whole[0], whole), ((whole - whole[0]) ** 2).sum(axis=1)
    )
    x[-1] = x.max()
    assert vectors.argmax(x) == np.argmax(x)
    np.testing.assert_array_equal(vectors.at_least(x, x[0]), np.flatnonzero(x >= x[0]))
    vectors.set_row(matrix, 2, x)
    np.testing.assert_array_equal(matrix[2], x)
    symmetric = matrix @ matrix.T
    vector = rng.normal(size=5)
    np.testing.assert_allclose(
        blas.symmetric_matvec(symmetric, vector), symmetric @ vector, rtol=1e-12, atol=1e-12
    )


@compiled_only
def test_what_does_not_fit_is_refused() -> None:
    """Before anything is read or written beyond an array."""
    x, matrix, rows = np.ones(3), np.ones((2, 3)), np.array([0, 3])
    calls: list[Any] = [
        lambda: vectors.add(x, 1.0, np.ones(2)),
        lambda: vectors.city_distances(np.ones(2), matrix, np.ones(2)),
        lambda: vectors.city_distances(x, matrix, np.ones(3)),
        lambda: vectors.divide(x, np.ones(2)),
        lambda: vectors.exp(x, np.ones(2)),
        lambda: vectors.fmin(x, 1.0, np.ones(2)),
        lambda: vectors.gaps(np.ones(2), matrix, 4),
        lambda: vectors.gaps(x, matrix, 1),
        lambda: vectors.largest(np.ones(0)),
        lambda: vectors.multiply(x, np.ones(4)),
        lambda: vectors.put(x, np.array([0]), x),
        lambda: vectors.row(matrix, 2),
        lambda: vectors.row(x, 0),
        lambda: vectors.part(x, 1, 4),
        lambda: vectors.set_column(matrix, 3, np.ones(2)),
        lambda: vectors.set_column(matrix, 0, x),
        lambda: vectors.subtract(x, np.ones(2)),
        lambda: vectors.take(x, rows),
        lambda: vectors.put(x, rows, np.ones(2)),
        lambda: vectors.take(x, rows.astype(np.int32)),
        lambda: vectors.add(x[::2], 1.0),
        lambda: vectors.add(x.astype(np.float32), 1.0),
        lambda: vectors.row(matrix.T, 0),
        lambda: blas.matvec(matrix, np.ones(2)),
        lambda: blas.matvec(matrix, x, np.ones(3)),
        lambda: blas.matvec(matrix.T, np.ones(2)),
        lambda: blas.dposv(np.asfortranarray(np.eye(2)), x, 0, 1),
        lambda: blas.dsyrk(1.0, matrix.T, 1.0, np.zeros((2, 2), order="F"), 0, 0, 1),
    ]
    for call in calls:
        with pytest.raises((ValueError, TypeError, IndexError)):
            call()


@compiled_only
def test_an_array_is_used_again_only_when_nobody_has_it() -> None:
    """Not while there is a view of it, or it stands in a list."""
    x = np.arange(20.0)
    held = [vectors.add(x, float(number)) for number in range(100)]
    views = [vectors.part(vectors.add(x, float(number)), 3, 9) for number in range(100)]
    for _ in range(100):
        vectors.multiply(x, x)
    for number in range(100):
        np.testing.assert_array_equal(held[number], x + number)
        np.testing.assert_array_equal(views[number], x[3:9] + number)
    assert len({array.ctypes.data for array in held}) == 100
