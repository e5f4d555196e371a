"""The compiled functions of `rankers.trees`."""

from libc.math cimport fabs, fmax, fmin
from libc.string cimport memcpy, memset
cimport numpy as cnp

from river_oauc._compiled.common cimport integers, read_doubles

from river_oauc.rankers import trees

cnp.import_array()

cdef enum:
    DEPTH = 4
    N_SPLITS = 15
    N_NODES = 31
    N_EDGES = 63
    MISSING = 64
    N_CELLS = 65

if (DEPTH, MISSING) != (trees.DEPTH, trees.MISSING):
    raise ImportError("compiled and numpy trees have different sizes")

cdef double _LEAF_L2 = trees.LEAF_L2
cdef double _LARGEST = trees.LARGEST
cdef double _TIE = trees.TIE
cdef double _MIN_SIDE = trees.MIN_HESSIAN * (1.0 - trees.TIE)
cdef double _MAX_LEAF = trees.MAX_LEAF

# The sums of first and second derivatives of some examples.
cdef struct Sums:
    double g
    double h

# A tree that grows, and what it grows on.
cdef struct Growth:
    # Bins of the columns, and derivatives, of each example.
    unsigned char* codes
    Sums* sums
    # The examples, those of a node side by side; and room for those that go to the right.
    Py_ssize_t* order
    Py_ssize_t* right
    # By depth, column and bin.
    Sums* histograms
    # By column: whether values are unknown, and the largest gain.
    Py_ssize_t n_columns
    unsigned char* has_missing
    double* gains
    double min_gain
    # The edges of all features, and the feature of each column.
    const float* edges
    const cnp.int64_t* features
    # The tree, and the second derivatives in its nodes.
    cnp.int64_t* split_by
    float* thresholds
    unsigned char* missing_left
    double* values
    double weights[N_NODES]


cdef const void* items(cnp.ndarray array, int kind, Py_ssize_t size) except NULL:
    """Return the items of a contiguous array of this type and size."""
    if not (
        cnp.PyArray_TYPE(array) == kind
        and cnp.PyArray_ISCARRAY_RO(array)
        and cnp.PyArray_SIZE(array) == size
    ):
        raise ValueError("an array has another type, layout or size")
    return cnp.PyArray_DATA(array)


cdef int check_matrix(cnp.ndarray array) except -1:
    if cnp.PyArray_NDIM(array) != 2:
        raise ValueError("an array has another type, layout or size")
    return 0


def to_single(cnp.ndarray x not None):
    cdef cnp.npy_intp n = cnp.PyArray_SIZE(x)
    cdef const double* number = read_doubles(x, n)
    array = cnp.PyArray_EMPTY(1, &n, cnp.NPY_FLOAT, 0)
    cdef float* single = <float*>cnp.PyArray_DATA(array)
    cdef Py_ssize_t i
    for i in range(n):
        # Comparisons with NaN are false.
        single[i] = -_LARGEST if number[i] < -_LARGEST else (
            _LARGEST if number[i] > _LARGEST else number[i]
        )
    return array


cdef inline unsigned char bin_of(float x, const float* edges) noexcept:
    """Return the number of edges that are less than x."""
    cdef int below = (edges[31] < x) << 5
    below += (edges[below + 15] < x) << 4
    below += (edges[below + 7] < x) << 3
    below += (edges[below + 3] < x) << 2
    below += (edges[below + 1] < x) << 1
    below += edges[below] < x
    return below if x == x else MISSING


def digitize(cnp.ndarray rows not None, cnp.ndarray edges not None):
    check_matrix(rows)
    cdef Py_ssize_t n = cnp.PyArray_DIM(rows, 0), p = cnp.PyArray_DIM(rows, 1), i, j
    cdef const float* x = <const float*>items(rows, cnp.NPY_FLOAT, n * p)
    cdef const float* thresholds = <const float*>items(edges, cnp.NPY_FLOAT, p * N_EDGES)
    array = cnp.PyArray_EMPTY(2, cnp.PyArray_DIMS(rows), cnp.NPY_UINT8, 0)
    cdef unsigned char* codes = <unsigned char*>cnp.PyArray_DATA(array)
    for i in range(n):
        for j in range(p):
            codes[i * p + j] = bin_of(x[i * p + j], thresholds + j * N_EDGES)
    return array


def score_rows(
    cnp.ndarray features not None, cnp.ndarray thresholds not None,
    cnp.ndarray missing_left not None, cnp.ndarray values not None, cnp.ndarray rows not None,
):
    check_matrix(rows)
    cdef cnp.npy_intp n = cnp.PyArray_DIM(rows, 0), n_trees = cnp.PyArray_SIZE(values) // N_NODES
    cdef Py_ssize_t n_splits = n_trees * N_SPLITS, p = cnp.PyArray_DIM(rows, 1), i, t, node
    cdef const double* value
    cdef const cnp.int64_t* feature
    cdef const float* threshold
    cdef const unsigned char* left
    cdef const double* first_value = read_doubles(values, n_trees * N_NODES)
    cdef const cnp.int64_t* first_feature = integers(features, n_splits)
    cdef const float* first_threshold = <const float*>items(thresholds, cnp.NPY_FLOAT, n_splits)
    cdef const void* first_left = items(missing_left, cnp.NPY_BOOL, n_splits)
    cdef const float* x = <const float*>items(rows, cnp.NPY_FLOAT, n * p)
    array = cnp.PyArray_ZEROS(1, &n, cnp.NPY_DOUBLE, 0)
    cdef double* scores = <double*>cnp.PyArray_DATA(array)
    cdef float known
    cdef int depth
    for node in range(n_splits):
        if not 0 <= first_feature[node] < p:
            raise ValueError(f"there is no feature {first_feature[node]}")
    for i in range(n):
        value, feature, threshold = first_value, first_feature, first_threshold
        left = <const unsigned char*>first_left
        for t in range(n_trees):
            node = 0
            for depth in range(DEPTH):
                known = x[feature[node]]
                # Without branches, which are hard to predict.
                node = 2 * node + 1 + (
                    (known > threshold[node]) | ((known != known) & (left[node] ^ 1))
                )
            scores[i] += value[node]
            value += N_NODES
            feature += N_SPLITS
            threshold += N_SPLITS
            left += N_SPLITS
        x += p
    return array


def grow(
    cnp.ndarray codes not None, cnp.ndarray edges not None, cnp.ndarray features not None,
    cnp.ndarray g not None, cnp.ndarray h not None, double min_gain,
):
    check_matrix(codes)
    cdef Growth growth
    cdef Sums all
    cdef double share
    cdef unsigned char code
    cdef cnp.npy_intp n = cnp.PyArray_DIM(codes, 0), n_columns = cnp.PyArray_SIZE(features)
    cdef Py_ssize_t p = cnp.PyArray_DIM(codes, 1), i, k, node
    cdef const unsigned char* bins = <const unsigned char*>items(codes, cnp.NPY_UINT8, n * p)
    cdef const double* first = read_doubles(g, n)
    cdef const double* second = read_doubles(h, n)
    growth.edges = <const float*>items(edges, cnp.NPY_FLOAT, p * N_EDGES)
    growth.features, growth.n_columns = integers(features, n_columns), n_columns
    growth.min_gain = min_gain
    cdef cnp.npy_intp n_bytes = (n + 1) * n_columns
    numbers_of_bins = cnp.PyArray_ZEROS(1, &n_bytes, cnp.NPY_UINT8, 0)
    growth.codes = <unsigned char*>cnp.PyArray_DATA(numbers_of_bins)
    growth.has_missing = growth.codes + n * n_columns
    for k in range(n_columns):
        if not 0 <= growth.features[k] < p:
            raise ValueError(f"there is no feature {growth.features[k]}")
    for i in range(n):
        for k in range(n_columns):
            code = bins[growth.features[k]]
            if code > MISSING:
                raise ValueError(f"there is no bin {code}")
            growth.codes[i * n_columns + k] = code
            growth.has_missing[k] |= code == MISSING
        bins += p

    cdef cnp.npy_intp n_numbers = 2 * n + (2 * DEPTH * N_CELLS + 1) * n_columns, n_places = 2 * n
    numbers = cnp.PyArray_EMPTY(1, &n_numbers, cnp.NPY_DOUBLE, 0)
    places = cnp.PyArray_EMPTY(1, &n_places, cnp.NPY_INTP, 0)
    growth.sums = <Sums*>cnp.PyArray_DATA(numbers)
    growth.histograms = growth.sums + n
    growth.gains = <double*>(growth.histograms + DEPTH * N_CELLS * n_columns)
    growth.order = <Py_ssize_t*>cnp.PyArray_DATA(places)
    growth.right = growth.order + n
    all.g = all.h = 0.0
    for i in range(n):
        growth.order[i] = i
        growth.sums[i].g, growth.sums[i].h = first[i], second[i]
        all.g += first[i]
        all.h += second[i]

    cdef cnp.npy_intp* splits = [1, N_SPLITS]
    cdef cnp.npy_intp* nodes = [1, N_NODES]
    split_by = cnp.PyArray_ZEROS(2, splits, cnp.NPY_INT64, 0)
    thresholds = cnp.PyArray_ZEROS(2, splits, cnp.NPY_FLOAT, 0)
    missing_left = cnp.PyArray_ZEROS(2, splits, cnp.NPY_BOOL, 0)
    values = cnp.PyArray_ZEROS(2, nodes, cnp.NPY_DOUBLE, 0)
    growth.split_by = <cnp.int64_t*>cnp.PyArray_DATA(split_by)
    growth.thresholds = <float*>cnp.PyArray_DATA(thresholds)
    growth.missing_left = <unsigned char*>cnp.PyArray_DATA(missing_left)
    growth.values = <double*>cnp.PyArray_DATA(values)
    memset(growth.weights, 0, sizeof(growth.weights))
    for node in range(N_SPLITS):
        growth.thresholds[node], growth.missing_left[node] = _LARGEST, True

    fill(&growth, 0, 0, n)
    if not grow_node(&growth, 0, 0, 0, 0, n, all):
        return None
    for node in reversed(range(N_SPLITS)):
        growth.weights[node] = growth.weights[2 * node + 1] + growth.weights[2 * node + 2]
        share = growth.weights[2 * node + 2] / growth.weights[node] if growth.weights[node] else 0.0
        growth.values[node] = growth.values[2 * node + 1]
        growth.values[node] += share * (growth.values[2 * node + 2] - growth.values[2 * node + 1])
    return split_by, thresholds, missing_left, values


cdef bint grow_node(
    Growth* growth, Py_ssize_t node, int depth, int slot, Py_ssize_t begin, Py_ssize_t end,
    Sums sums,
) noexcept:
    """Split a node and those below it; return whether it splits.

    Its histograms are in a slot up to `depth`, and those of the slots after are free.
    """
    cdef Py_ssize_t column = 0, middle
    cdef int edge = 0, level
    cdef bint missing_left = True, left_is_smaller
    cdef Sums left, right
    if depth == DEPTH or not find_split(growth, slot, sums, &column, &edge, &missing_left):
        # All examples go to the leaf on the left.
        for level in range(depth, DEPTH):
            node = 2 * node + 1
        growth.values[node] = fmin(fmax(-sums.g / (sums.h + _LEAF_L2), -_MAX_LEAF), _MAX_LEAF)
        growth.weights[node] = sums.h
        return False
    growth.split_by[node] = growth.features[column]
    growth.thresholds[node] = growth.edges[growth.features[column] * N_EDGES + edge]
    growth.missing_left[node] = missing_left
    middle = partition(growth, begin, end, column, edge, missing_left, &left, &right)
    left_is_smaller = middle - begin < end - middle
    if depth + 1 < DEPTH:
        if left_is_smaller:
            fill(growth, depth + 1, begin, middle)
        else:
            fill(growth, depth + 1, middle, end)
        subtract(growth, slot, depth + 1)
    # First the child whose histograms are the new ones: the other's are in the slot of the parent.
    if left_is_smaller:
        grow_node(growth, 2 * node + 1, depth + 1, depth + 1, begin, middle, left)
        grow_node(growth, 2 * node + 2, depth + 1, slot, middle, end, right)
    else:
        grow_node(growth, 2 * node + 2, depth + 1, depth + 1, middle, end, right)
        grow_node(growth, 2 * node + 1, depth + 1, slot, begin, middle, left)
    return True


cdef void fill(Growth* growth, int slot, Py_ssize_t begin, Py_ssize_t end) noexcept:
    """Add up the derivatives of some examples in each bin of each column."""
    cdef Py_ssize_t i, k, n_columns = growth.n_columns
    cdef Sums* histograms = growth.histograms + slot * n_columns * N_CELLS
    cdef const unsigned char* codes
    cdef Sums* cell
    cdef Sums own
    memset(histograms, 0, n_columns * N_CELLS * sizeof(Sums))
    for i in range(begin, end):
        own = growth.sums[growth.order[i]]
        codes = growth.codes + growth.order[i] * n_columns
        for k in range(n_columns):
            cell = histograms + k * N_CELLS + codes[k]
            cell.g += own.g
            cell.h += own.h


cdef void subtract(Growth* growth, int slot, int smaller) noexcept:
    """Take the histograms of the smaller child from those of the parent."""
    cdef Py_ssize_t i, size = 2 * growth.n_columns * N_CELLS
    cdef double* numbers = <double*>growth.histograms + slot * size
    cdef const double* others = <double*>growth.histograms + smaller * size
    for i in range(size):
        numbers[i] -= others[i]


cdef bint find_split(
    Growth* growth, int slot, Sums sums, Py_ssize_t* column, int* edge, bint* missing_left
) noexcept:
    """Find the first of the best splits; return False if there is none."""
    cdef double best = -1.0
    cdef Py_ssize_t k
    if sums.h < 2.0 * _MIN_SIDE:
        return False
    for k in range(growth.n_columns):
        growth.gains[k] = search(growth, slot, k, sums, -1.0, edge, missing_left)
        best = fmax(best, growth.gains[k])
    if not best - sums.g * sums.g / (sums.h + _LEAF_L2) > growth.min_gain:
        return False
    best *= 1.0 - _TIE
    for k in range(growth.n_columns):
        if growth.gains[k] >= best:
            column[0] = k
            search(growth, slot, k, sums, best, edge, missing_left)
            return True
    return False


cdef double search(
    Growth* growth, int slot, Py_ssize_t column, Sums sums, double enough, int* edge,
    bint* missing_left,
) noexcept:
    """Return the largest gain of a split by a column, or the first that is enough, if above 0.

    It is -1 if no split has enough examples on both sides.
    """
    cdef const Sums* bins = growth.histograms + (slot * growth.n_columns + column) * N_CELLS
    cdef bint has_missing = growth.has_missing[column], side
    cdef double g_known = 0.0, h_known = 0.0, g, h, gain, best = -1.0
    cdef int i
    for i in range(N_EDGES):
        g_known += bins[i].g
        h_known += bins[i].h
        if i and fabs(bins[i].h) < 1e-12:
            # Nothing is in this bin, so the split after it is the one before.
            continue
        for side in range(1 + has_missing):
            g, h = g_known, h_known
            if has_missing and not side:
                g += bins[MISSING].g
                h += bins[MISSING].h
            if h < _MIN_SIDE or sums.h - h < _MIN_SIDE:
                continue
            gain = g * g / (h + _LEAF_L2)
            gain += (sums.g - g) * (sums.g - g) / (sums.h - h + _LEAF_L2)
            if gain > best:
                best = gain
            if enough >= 0.0 and gain >= enough:
                edge[0], missing_left[0] = i, not side
                return gain
    return best


cdef Py_ssize_t partition(
    Growth* growth, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t column, int edge,
    bint missing_left, Sums* left, Sums* right,
) noexcept:
    """Put the examples on the left first, in the same order, and add up both sides."""
    cdef Py_ssize_t i, row, middle = begin, n_right = 0
    cdef unsigned char code
    left.g = left.h = right.g = right.h = 0.0
    for i in range(begin, end):
        row = growth.order[i]
        code = growth.codes[row * growth.n_columns + column]
        if missing_left if code == MISSING else code <= edge:
            growth.order[middle] = row
            middle += 1
            left.g += growth.sums[row].g
            left.h += growth.sums[row].h
        else:
            growth.right[n_right] = row
            n_right += 1
            right.g += growth.sums[row].g
            right.h += growth.sums[row].h
    memcpy(growth.order + middle, growth.right, n_right * sizeof(Py_ssize_t))
    return middle
