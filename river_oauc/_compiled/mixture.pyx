"""The compiled functions of `rankers.mixture` and `rankers.stack`."""

from libc.math cimport copysign, exp, fabs, isnan, log, log1p, sqrt
from scipy.linalg.cython_blas cimport ddot, dgemv, dsymv, dsyrk
from scipy.linalg.cython_lapack cimport dposv, dpotrf, dpotrs
cimport numpy as cnp

import numpy as np

from river_oauc.rankers.mixture import constants

cnp.import_array()

cdef double _UNITS_MEMORY = constants.UNITS_MEMORY
cdef double _UNITS_SHARE = constants.UNITS_SHARE
cdef double _OUTLIER_DEVIATIONS = constants.OUTLIER_DEVIATIONS
cdef double _LARGEST_STANDARDIZED = constants.LARGEST_STANDARDIZED
cdef double _SMALLEST_FEATURE_VARIANCE = constants.SMALLEST_FEATURE_VARIANCE
cdef double _JITTER = constants.JITTER
cdef double _SMALLEST_MEAN_VARIANCE = constants.SMALLEST_MEAN_VARIANCE
cdef double _EIGENVALUE_PRECISION = constants.EIGENVALUE_PRECISION
cdef double _TRACKING_RATE = constants.TRACKING_RATE
cdef double _PAIRWISE_RATE = constants.PAIRWISE_RATE
cdef double _NEAR_TIE = constants.NEAR_TIE
cdef double _SHARPNESS = constants.SHARPNESS
cdef double _STACK_MEMORY = constants.STACK_MEMORY
cdef double _MAX_STACK_WEIGHT = constants.MAX_STACK_WEIGHT
cdef double _MAX_STACK_SCORE = constants.MAX_STACK_SCORE
cdef double _SMALLEST_STACK_VARIANCE = constants.SMALLEST_STACK_VARIANCE


# Arrays ------------------------------------------------------------------------------------------


cdef inline int check(bint fit) except -1:
    if not fit:
        raise ValueError("the arrays are of different sizes")
    return 0


cdef inline cnp.ndarray new_vector(cnp.npy_intp size):
    return cnp.PyArray_EMPTY(1, &size, cnp.NPY_DOUBLE, 0)


cdef inline cnp.ndarray new_matrix(cnp.npy_intp n_rows, cnp.npy_intp n_columns):
    cdef cnp.npy_intp* shape = [n_rows, n_columns]
    return cnp.PyArray_EMPTY(2, shape, cnp.NPY_DOUBLE, 0)


cdef inline double* data(cnp.ndarray array) noexcept:
    return <double*>cnp.PyArray_DATA(array)


# Those of the C library are function calls, because NaN is not NaN to them.

cdef inline double fmax(double x, double y) noexcept:
    return x if x > y else y


cdef inline double fmin(double x, double y) noexcept:
    return x if x < y else y


cdef inline double dot(const double* x, const double* y, Py_ssize_t size) noexcept:
    cdef int n = <int>size, one = 1
    return ddot(&n, <double*>x, &one, <double*>y, &one)


# Units -------------------------------------------------------------------------------------------


def update_sizes(
    const double[::1] x not None,
    const double[::1] n not None,
    const double[::1] mean_size not None,
    const double[::1] mean_log not None,
):
    cdef Py_ssize_t j, size = x.shape[0]
    check(n.shape[0] == mean_size.shape[0] == mean_log.shape[0] == size)
    n_array, size_array, log_array = new_vector(size), new_vector(size), new_vector(size)
    cdef double* new_n = data(n_array)
    cdef double* new_size = data(size_array)
    cdef double* new_log = data(log_array)
    cdef double value
    for j in range(size):
        value = fabs(x[j])
        new_n[j], new_size[j], new_log[j] = n[j], mean_size[j], mean_log[j]
        if value > 0.0:
            new_n[j] += 1.0
            new_size[j] += (value - mean_size[j]) / new_n[j]
            new_log[j] += (log(value) - mean_log[j]) / new_n[j]
    return n_array, size_array, log_array


cdef inline double signed_logarithm(double x, double scale) noexcept:
    return copysign(log1p(fabs(x) / scale), x) if scale > 0.0 else x


def update_units(
    const double[::1] x not None,
    const double[::1] scales not None,
    double n_seen,
    const double[::1] n_known not None,
    const double[::1] mean not None,
    const double[::1] variance not None,
    const double[::1] factors not None,
):
    cdef Py_ssize_t j, size = x.shape[0]
    check(scales.shape[0] == n_known.shape[0] == mean.shape[0] == size)
    check(variance.shape[0] == factors.shape[0] == size)
    known_array, mean_array = new_vector(size), new_vector(size)
    variance_array, factors_array = new_vector(size), new_vector(size)
    cdef double* new_known = data(known_array)
    cdef double* new_mean = data(mean_array)
    cdef double* new_variance = data(variance_array)
    cdef double* new_factors = data(factors_array)
    cdef double memory = fmax(_UNITS_MEMORY, _UNITS_SHARE * n_seen)
    cdef double rate, deviation, step
    for j in range(size):
        new_known[j], new_mean[j], new_variance[j] = n_known[j], mean[j], variance[j]
        if not isnan(x[j]):
            new_known[j] += 1.0
            rate = 1.0 / fmin(fmax(new_known[j], 1.0), memory)
            deviation = signed_logarithm(x[j], scales[j]) - mean[j]
            deviation /= fmax(fabs(deviation * factors[j]) / _OUTLIER_DEVIATIONS, 1.0)
            step = rate * deviation
            new_mean[j] += step
            new_variance[j] = (1.0 - rate) * (variance[j] + step * deviation)
        new_factors[j] = sqrt(new_variance[j]) / (new_variance[j] + _SMALLEST_FEATURE_VARIANCE)
    return known_array, mean_array, variance_array, factors_array


def standardize(
    x not None,
    const double[::1] scales not None,
    const double[::1] mean not None,
    const double[::1] factors not None,
):
    cdef cnp.ndarray rows = cnp.PyArray_FROM_OTF(x, cnp.NPY_DOUBLE, cnp.NPY_ARRAY_CARRAY_RO)
    cdef int n_axes = cnp.PyArray_NDIM(rows)
    cdef Py_ssize_t i, j, size = mean.shape[0]
    check(1 <= n_axes <= 2 and cnp.PyArray_DIM(rows, n_axes - 1) == size)
    check(scales.shape[0] == factors.shape[0] == size)
    cdef Py_ssize_t n_rows = cnp.PyArray_DIM(rows, 0) if n_axes == 2 else 1
    array = cnp.PyArray_EMPTY(n_axes, cnp.PyArray_DIMS(rows), cnp.NPY_DOUBLE, 0)
    cdef const double* source = data(rows)
    cdef double* z = data(array)
    cdef double value, scaled
    for i in range(n_rows):
        for j in range(size):
            value = (signed_logarithm(source[j], scales[j]) - mean[j]) * factors[j]
            scaled = value / _LARGEST_STANDARDIZED
            value /= sqrt(1.0 + scaled * scaled)
            z[j] = 0.0 if isnan(value) else value
        source += size
        z += size
    return array


# Moments -----------------------------------------------------------------------------------------


def add_vector(
    const double[::1] x not None,
    double w,
    double n_before,
    const double[::1] mean not None,
    double[:, ::1] waiting not None,
    Py_ssize_t n_waiting,
):
    cdef Py_ssize_t j, size = x.shape[0]
    check(mean.shape[0] == waiting.shape[1] == size and 0 <= n_waiting < waiting.shape[0])
    array = new_vector(size)
    cdef double* new_mean = data(array)
    cdef double* row = &waiting[n_waiting, 0]
    cdef double n = n_before + w, rate = w / n, factor = sqrt(w * (n_before / n)), deviation
    for j in range(size):
        deviation = x[j] - mean[j]
        row[j] = factor * deviation
        new_mean[j] = mean[j] + rate * deviation
    return array


def add_products(
    const double[:, ::1] matrix not None,
    const double[:, ::1] rows not None,
    Py_ssize_t n,
    double kept,
):
    cdef Py_ssize_t i, j, block, size = matrix.shape[0]
    check(matrix.shape[1] == rows.shape[1] == size and 0 <= n <= rows.shape[0])
    array, scaled_array = new_matrix(size, size), new_matrix(n, size)
    cdef double* total = data(array)
    cdef double* scaled = data(scaled_array)
    cdef double share = 1.0, root, one = 1.0
    for i in range(n - 1, -1, -1):
        root = sqrt(share)
        for j in range(size):
            scaled[i * size + j] = root * rows[i, j]
        share *= kept
    for i in range(size):
        for j in range(size):
            total[i * size + j] = share * matrix[i, j]
    cdef int order = <int>size, depth = <int>n
    # A column-major upper triangle is a row-major lower one.
    dsyrk("U", "N", &order, &depth, &one, scaled, &order, &one, total, &order)
    # The other triangle in blocks, which stay in the cache.
    for block in range(0, size, 8):
        for i in range(block, size):
            for j in range(block, min(block + 8, i)):
                total[j * size + i] = total[i * size + j]
    return array


# Ridge -------------------------------------------------------------------------------------------


def solve_ridge(
    double n_negative,
    const double[::1] negative_mean not None,
    const double[:, ::1] negative_scatter not None,
    double n_positive,
    const double[::1] positive_mean not None,
    const double[:, ::1] positive_scatter not None,
    strengths,
    const double[:, ::1] metric,
):
    from river_oauc.rankers.mixture import ridge

    cdef Py_ssize_t i, row, size = negative_mean.shape[0], n_strengths = len(strengths)
    check(negative_scatter.shape[0] == negative_scatter.shape[1] == size)
    check(positive_scatter.shape[0] == positive_scatter.shape[1] == positive_mean.shape[0] == size)
    check(metric is None or metric.shape[0] == metric.shape[1] == size)
    covariance_array, matrix_array = new_matrix(size, size), new_matrix(size, size)
    weights_array, biases_array, gap_array = (
        new_matrix(n_strengths, size), new_vector(n_strengths), new_vector(size),
    )
    cdef double* covariance = data(covariance_array)
    cdef double* matrix = data(matrix_array)
    cdef double* weights = data(weights_array)
    cdef double* biases = data(biases_array)
    cdef double* gap = data(gap_array)
    cdef const double* negative = &negative_scatter[0, 0]
    cdef const double* positive = &positive_scatter[0, 0]
    cdef const double* penalty = NULL if metric is None else &metric[0, 0]
    cdef double n = 4.0 / (1.0 / n_positive + 1.0 / n_negative)
    cdef double variance = 0.0, strength, diagonal, factor
    for i in range(size * size):
        covariance[i] = positive[i] / n_positive + negative[i] / n_negative
    for i in range(size):
        gap[i] = positive_mean[i] - negative_mean[i]
        variance += covariance[i * size + i]
    variance = 0.5 * variance + _SMALLEST_MEAN_VARIANCE
    cdef int order = <int>size, one = 1, status
    for row in range(n_strengths):
        strength = strengths[row]
        diagonal = _JITTER if penalty else variance * (strength / n + _JITTER)
        factor = strength / n
        for i in range(size * size):
            matrix[i] = covariance[i] + factor * penalty[i] if penalty else covariance[i]
        for i in range(size):
            matrix[i * size + i] += diagonal
            weights[i] = gap[i]
        dpotrf("U", &order, matrix, &order, &status)
        if status:
            # By rounding, an eigenvalue is not positive.
            return ridge.solve_ridge.__wrapped__(
                n_negative, np.asarray(negative_mean), np.asarray(negative_scatter), n_positive,
                np.asarray(positive_mean), np.asarray(positive_scatter), strengths,
                None if metric is None else np.asarray(metric),
            )
        dpotrs("U", &order, &one, matrix, &order, weights, &order, &status)
        factor = 2.0 / (2.0 + dot(gap, weights, size))
        biases[row] = 0.0
        for i in range(size):
            weights[i] *= factor
            biases[row] += 0.5 * (positive_mean[i] + negative_mean[i]) * weights[i]
        weights += size
    return weights_array, biases_array


# Steps -------------------------------------------------------------------------------------------


cdef inline double sigmoid(double logit) noexcept:
    return 1.0 / (1.0 + exp(-logit)) if logit > -700.0 else 0.0


cdef double implicit_margin(double margin, double pull) noexcept:
    cdef double low = margin, high = margin + pull, error, rest, new
    cdef double root = margin + pull * sigmoid(-margin) / (1.0 + 0.25 * pull)
    for _ in range(100):
        error = sigmoid(-root)
        rest = root - margin - pull * error
        if rest > 0.0:
            high = root
        else:
            low = root
        # Newton's method, kept in its bracket.
        new = root - rest / (1.0 + pull * error * (1.0 - error))
        if not low <= new <= high:
            new = 0.5 * (low + high)
        if fabs(new - root) <= 1e-14 * (1.0 + fabs(root)):
            return new
        root = new
    return root


def newton_step(
    const double[::1] weights not None,
    const double[::1] phi not None,
    double sign,
    double c,
    const double[:, ::1] covariance not None,
    double[:, ::1] waiting not None,
    Py_ssize_t n_waiting,
):
    cdef Py_ssize_t j, size = phi.shape[0]
    check(weights.shape[0] == covariance.shape[0] == covariance.shape[1] == size)
    check(waiting.shape[1] == size and 0 <= n_waiting < waiting.shape[0])
    array, products_array = new_vector(size), new_vector(n_waiting)
    cdef double* new = data(array)
    cdef double* direction = &waiting[n_waiting, 0]
    cdef double* products = data(products_array)
    cdef double* x = <double*>&phi[0]
    cdef int order = <int>size, n = <int>n_waiting, one = 1
    cdef double plus = 1.0, minus = -1.0, zero = 0.0
    dsymv(
        "U", &order, &plus, <double*>&covariance[0, 0], &order, x, &one, &zero, direction, &one
    )
    if n:
        # The rows are the columns of a column-major matrix.
        dgemv("T", &order, &n, &plus, &waiting[0, 0], &order, x, &one, &zero, products, &one)
        dgemv(
            "N", &order, &n, &minus, &waiting[0, 0], &order, products, &one, &plus, direction,
            &one,
        )
    cdef double spread = fmax(dot(x, direction, size), _EIGENVALUE_PRECISION * dot(x, x, size))
    cdef double margin = implicit_margin(sign * dot(x, &weights[0], size), c * spread)
    cdef double error = sigmoid(-margin)
    cdef double curvature = c * error * (1.0 - error)
    cdef double factor = sqrt(curvature / (1.0 + curvature * spread))
    for j in range(size):
        new[j] = weights[j] + (sign * c * error) * direction[j]
        direction[j] *= factor
    return array


def scale_logits(
    const double[::1] weights not None,
    const double[::1] negative not None,
    const double[::1] positive not None,
):
    cdef Py_ssize_t j, size = negative.shape[0]
    check(positive.shape[0] == size and weights.shape[0] == size + 1)
    array = new_vector(size + 1)
    cdef double* scaled = data(array)
    cdef double gap = 0.0
    for j in range(size):
        gap += weights[j + 1] * (positive[j] - negative[j])
    cdef double factor = 1.0 + 0.5 * fmax(gap, 0.0)
    for j in range(size + 1):
        scaled[j] = weights[j] / factor
    return array


def tracking_step(
    double[::1] weights not None, const double[::1] phi not None, double sign, double c
):
    cdef Py_ssize_t j, size = phi.shape[0]
    check(weights.shape[0] == size)
    cdef double gap = sign - dot(&weights[0], &phi[0], size)
    cdef double step = fmin(_TRACKING_RATE * c, 1.0) * gap / dot(&phi[0], &phi[0], size)
    for j in range(size):
        weights[j] += step * phi[j]


def pairwise_step(
    double[::1] weights not None,
    const double[::1] phi not None,
    double sign,
    double c,
    const double[::1] negative not None,
    const double[::1] positive not None,
):
    cdef Py_ssize_t j, size = negative.shape[0]
    check(positive.shape[0] == size and weights.shape[0] == phi.shape[0] == size + 1)
    cdef const double* other = &negative[0] if sign > 0.0 else &positive[0]
    cdef double difference, score = 0.0, squared_norm = 0.0, bias = 0.0
    for j in range(size):
        difference = phi[j + 1] - other[j]
        score += weights[j + 1] * difference
        squared_norm += difference * difference
    cdef double rate = fmin(_PAIRWISE_RATE * c, 1.0)
    cdef double step = rate * (2.0 * sign - score) / (1e-9 + squared_norm)
    for j in range(size):
        weights[j + 1] += step * (phi[j + 1] - other[j])
        bias += weights[j + 1] * (negative[j] + positive[j])
    weights[0] = -0.5 * bias


# Kernels -----------------------------------------------------------------------------------------


def similarities(
    const double[:, ::1] z not None,
    const double[:, ::1] landmarks not None,
    const double[::1] relevance not None,
    double laplace,
    double gaussian,
):
    cdef Py_ssize_t i, j, k, n = z.shape[0], n_landmarks = landmarks.shape[0]
    cdef Py_ssize_t size = relevance.shape[0]
    check(z.shape[1] == landmarks.shape[1] == size)
    cdef cnp.npy_intp* shape = [2, n, n_landmarks]
    array = cnp.PyArray_EMPTY(3, shape, cnp.NPY_DOUBLE, 0)
    cdef double* first = data(array)
    cdef double* second = first + n * n_landmarks
    cdef double gap, city_block, squared
    for i in range(n):
        for k in range(n_landmarks):
            city_block = squared = 0.0
            for j in range(size):
                gap = z[i, j] - landmarks[k, j]
                city_block += relevance[j] * fabs(gap)
                squared += gap * gap
            first[k] = exp(-laplace * city_block)
            second[k] = exp(-gaussian * squared)
        first += n_landmarks
        second += n_landmarks
    return array


# Judge -------------------------------------------------------------------------------------------


def update_rates(
    const double[::1] win_rates not None,
    const double[::1] aucs not None,
    const double[::1] scores not None,
    const double[:, ::1] others not None,
    bint positive,
    double rate,
    double auc_rate,
):
    cdef Py_ssize_t i, k, n = others.shape[0], size = scores.shape[0]
    check(n and win_rates.shape[0] == size - 1 and aucs.shape[0] == others.shape[1] == size)
    rates_array, aucs_array = new_vector(size - 1), new_vector(size)
    cdef double* new_rates = data(rates_array)
    cdef double* wins = data(aucs_array)
    cdef double win = 0.0, sign = 1.0 if positive else -1.0
    for k in range(size):
        wins[k] = 0.0
    for i in range(n):
        for k in range(size):
            wins[k] += fmin(fmax(sign * (scores[k] - others[i, k]), -_NEAR_TIE), _NEAR_TIE)
    for k in range(size):
        win = 0.5 + 0.5 / _NEAR_TIE * wins[k] / n
        if k < size - 1:
            new_rates[k] = win_rates[k] + rate * (win - win_rates[k])
        wins[k] = aucs[k] + auc_rate * (win - aucs[k])
    return rates_array, aucs_array, win


def shares_of(const double[::1] win_rates not None, double n):
    cdef Py_ssize_t k, size = win_rates.shape[0]
    array = new_vector(size)
    cdef double* shares = data(array)
    cdef double best = win_rates[0], total = 0.0, sharpness = _SHARPNESS * sqrt(n)
    for k in range(size):
        best = fmax(best, win_rates[k])
    for k in range(size):
        shares[k] = exp(sharpness * (win_rates[k] - best))
        total += shares[k]
    for k in range(size):
        shares[k] /= total
    return array


# Stack -------------------------------------------------------------------------------------------


def stack_step(
    const double[:, ::1] information not None,
    const double[::1] vector not None,
    const double[::1] class_weights not None,
    const double[::1] weights not None,
    const double[::1] scores not None,
    bint positive,
    double weight,
):
    cdef Py_ssize_t i, j, size = vector.shape[0]
    check(information.shape[0] == information.shape[1] == size and class_weights.shape[0] == 2)
    check(weights.shape[0] == scores.shape[0] + 1 == size)
    information_array, vector_array, classes_array, u_array = (
        new_matrix(size, size), new_vector(size), new_vector(2), new_vector(size),
    )
    cdef double* sum_of_products = data(information_array)
    cdef double* sum_of_pulls = data(vector_array)
    cdef double* classes = data(classes_array)
    cdef double* u = data(u_array)
    cdef double kept = 1.0 - 1.0 / _STACK_MEMORY, logit = 0.0
    for i in range(2):
        classes[i] = kept * class_weights[i]
    classes[positive] += weight
    weight = fmin(weight, _MAX_STACK_WEIGHT) * fmin(classes[0], classes[1]) / classes[positive]
    for i in range(size):
        u[i] = fmin(fmax(scores[i], -_MAX_STACK_SCORE), _MAX_STACK_SCORE) if i < size - 1 else 1.0
        logit += weights[i] * u[i]
    cdef double p = sigmoid(logit)
    cdef double variance = fmax(p * (1.0 - p), _SMALLEST_STACK_VARIANCE)
    cdef double pull = weight * (variance * logit + positive - p)
    for i in range(size):
        sum_of_pulls[i] = kept * vector[i] + pull * u[i]
        for j in range(size):
            sum_of_products[i * size + j] = (
                kept * information[i, j] + (weight * variance) * (u[i] * u[j])
            )
    return information_array, vector_array, classes_array


def solve_stack(
    const double[:, ::1] information not None,
    const double[::1] vector not None,
    const double[::1] precision not None,
    const double[::1] prior not None,
):
    cdef Py_ssize_t i, size = vector.shape[0]
    check(information.shape[0] == information.shape[1] == precision.shape[0] == size)
    check(prior.shape[0] == size)
    matrix_array, weights_array = new_matrix(size, size), new_vector(size)
    cdef double* matrix = data(matrix_array)
    cdef double* weights = data(weights_array)
    for i in range(size * size):
        matrix[i] = information[i // size, i % size]
    for i in range(size):
        matrix[i * size + i] += precision[i]
        weights[i] = precision[i] * prior[i] + vector[i]
    cdef int order = <int>size, one = 1, status
    dposv("U", &order, &one, matrix, &order, weights, &order, &status)
    if status:
        raise ValueError("the information of the stack is not positive definite")
    return weights_array
