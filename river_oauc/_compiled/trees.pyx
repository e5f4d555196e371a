"""The compiled twin of `rankers.boosting`, and of what it is made of."""

from libc.math cimport exp, fabs, fmax, fmin, log, sqrt
from libc.string cimport memcpy, memmove, memset

import numpy as np

from river_oauc.rankers import boosting, boosting_losses
from river_oauc.rankers import trees as numpy_twin
from river_oauc.state import StateReader

cdef enum:
    DEPTH = 5
    N_LEAVES = 32
    N_SPLITS = 31
    N_NODES = 63
    N_EDGES = 63
    MISSING = 64
    N_CELLS = 65
    MAX_TREES = 200

if (DEPTH, MISSING, MAX_TREES) != (numpy_twin.DEPTH, numpy_twin.MISSING, boosting.MAX_TREES):
    raise ImportError("compiled and numpy trees have different sizes")

cdef double _LEAF_L2 = numpy_twin.LEAF_L2
cdef double _MIN_GAIN = numpy_twin.MIN_GAIN
cdef double _TIE = numpy_twin.TIE
cdef double _MIN_SIDE = numpy_twin.MIN_HESSIAN * (1.0 - numpy_twin.TIE)
cdef double _MAX_LEAF = numpy_twin.MAX_LEAF
cdef float _LARGEST = numpy_twin.LARGEST
cdef double _RATE = boosting.RATE
cdef double _KEEP = 1.0 - boosting.FADE
cdef Py_ssize_t _MAX_SAMPLE = boosting.MAX_SAMPLE
cdef double _MIN_CURVATURE = boosting_losses.MIN_CURVATURE

cdef enum:
    LOGISTIC, PSI_M, PSI_S

_LOSSES = {"logistic": LOGISTIC, "psi_m": PSI_M, "psi_s": PSI_S}

cdef struct Split:
    float threshold
    int feature
    int missing_left

cdef struct Tree:
    Split splits[N_SPLITS]
    double values[N_NODES]

# The sums of first and second derivatives of some examples.
cdef struct Sums:
    double g
    double h


cdef inline float to_single(double x) noexcept:
    if x > _LARGEST:
        return _LARGEST
    return -_LARGEST if x < -_LARGEST else <float>x


cdef inline double leaf_value(const Tree* tree, const float* x) noexcept:
    """Return what a tree adds to the score of an example."""
    cdef Py_ssize_t node = 0
    cdef int depth
    cdef const Split* split
    cdef float value
    for depth in range(DEPTH):
        split = &tree.splits[node]
        value = x[split.feature]
        node = 2 * node + 1 + (
            value > split.threshold or (value != value and not split.missing_left)
        )
    return tree.values[node]


cdef inline unsigned char digitize(float x, const float* edges) noexcept:
    """Return the number of edges that are less than x."""
    cdef int below = 0, step = (N_EDGES + 1) // 2
    if x != x:
        return MISSING
    while step:
        below += step * (edges[below + step - 1] < x)
        step //= 2
    return below


cdef class _Buffer:
    """The latest examples of a class; see `rankers.class_buffer`."""

    cdef Py_ssize_t limit, start, stop
    cdef double total
    cdef float[:, ::1] rows
    cdef unsigned char[:, ::1] codes
    cdef double[::1] weights, scores

    def __init__(self, state, limit):
        self.limit = min(limit, 2**62)
        self.total = state["total"]
        self.start, self.stop = 0, len(state["rows"])
        self._set_arrays(
            np.array(state["rows"]), np.empty(state["rows"].shape, np.uint8),
            np.array(state["weights"]), np.array(state["scores"]),
        )

    cdef int _set_arrays(
        self, float[:, ::1] rows, unsigned char[:, ::1] codes, double[::1] weights,
        double[::1] scores,
    ) except -1:
        if not len(rows) == len(codes) == len(weights) == len(scores):
            raise ValueError("the arrays of examples are of different lengths")
        if rows.shape[1] != codes.shape[1]:
            raise ValueError("the arrays of examples are of different widths")
        self.rows, self.codes, self.weights, self.scores = rows, codes, weights, scores
        return 0

    cdef int make_room(self) except -1:
        """Make room for one more example."""
        if self.stop < self.rows.shape[0]:
            return 0
        cdef Py_ssize_t n = self.stop - self.start
        self._set_arrays(
            self._with_room(self.rows), self._with_room(self.codes), self._with_room(self.weights),
            self._with_room(self.scores),
        )
        self.start, self.stop = 0, n
        return 0

    cdef _with_room(self, array):
        """Return a longer copy of one of the arrays, which starts with the oldest example."""
        stored = np.asarray(array)[self.start : self.stop]
        n = len(stored)
        longer = np.zeros((n + max(16, n // 4), *stored.shape[1:]), stored.dtype)
        longer[:n] = stored
        return longer

    cdef void digitize(self, Py_ssize_t row, const float[:, ::1] edges) noexcept:
        cdef Py_ssize_t j
        for j in range(edges.shape[0]):
            self.codes[row, j] = digitize(self.rows[row, j], &edges[j, 0])

    cdef void add(
        self, const float* x, double weight, double score, const float[:, ::1] edges
    ) noexcept:
        """Add an example, for which there is room; the oldest goes if there are too many."""
        memcpy(&self.rows[self.stop, 0], x, edges.shape[0] * sizeof(float))
        self.digitize(self.stop, edges)
        self.weights[self.stop], self.scores[self.stop] = weight, score
        self.start += self.stop - self.start == self.limit
        self.stop += 1
        self.total += weight

    cdef void follow(self, const Tree* new, const Tree* oldest) noexcept:
        """Change the scores by a new tree; the oldest, if given, goes."""
        cdef Py_ssize_t i
        cdef double score
        cdef const float* x
        for i in range(self.start, self.stop):
            x = &self.rows[i, 0]
            score = self.scores[i]
            if oldest is not NULL:
                score -= leaf_value(oldest, x)
            self.scores[i] = _KEEP * score + leaf_value(new, x)

    def array(self, name):
        """Return a view of the examples, their weights or their scores."""
        arrays = {"rows": self.rows, "weights": self.weights, "scores": self.scores}
        return np.asarray(arrays[name])[self.start : self.stop]

    def get_state(self):
        names = ("rows", "weights", "scores")
        return {name: self.array(name).copy() for name in names} | {"total": self.total}


cdef class TreeRanker:
    """A sum of trees, each grown on what those before still get wrong on the stored examples."""

    # A numpy ranker that has learned nothing.
    cdef object ranker
    cdef object rng, statistics
    cdef int loss
    cdef long long n_learned, next_tree, next_binning
    cdef float[:, ::1] edges
    cdef float[::1] x
    cdef _Buffer negative, positive
    cdef Py_ssize_t n_trees
    cdef Tree trees[MAX_TREES]
    cdef _Grower grower

    def __init__(self, ranker):
        self.ranker = boosting.TreeRanker(ranker.loss, ranker.buffer_size, 0)
        self.loss = _LOSSES[ranker.loss]
        self.grower = _Grower()
        self._load(ranker)

    cdef int _load(self, ranker) except -1:
        """Take over the state of a numpy ranker."""
        state = ranker.get_state()
        cdef float[:, ::1] edges = state["edges"]
        x = np.empty(len(edges), np.float32)
        negative, positive = (_Buffer(each, ranker.buffer_size) for each in state["buffers"])
        for buffer in (negative, positive):
            if (<_Buffer>buffer).rows.shape[1] != len(edges):
                raise ValueError("examples and bins are of different widths")
        trees = state["trees"]
        cdef long long[:, ::1] features = trees["features"], missing_left = trees["missing_left"]
        cdef double[:, ::1] thresholds = trees["thresholds"], values = trees["values"]
        cdef Py_ssize_t n_trees = len(values), t, node
        if n_trees > MAX_TREES or any(len(array) != n_trees for array in trees.values()):
            raise ValueError("the arrays of trees do not belong together")
        if (
            not features.shape[1] == missing_left.shape[1] == thresholds.shape[1] == N_SPLITS
            or values.shape[1] != N_NODES
            or edges.shape[1] != N_EDGES
        ):
            raise ValueError("trees or bins are of another size")
        if n_trees and not 0 <= trees["features"].min() <= trees["features"].max() < len(edges):
            raise ValueError("trees have features that there are not")
        self.rng, self.statistics, self.n_learned = ranker._rng, ranker.statistics, ranker.n_learned
        self.next_tree, self.next_binning = state["next_tree"], state["next_binning"]
        self.negative, self.positive, self.x = negative, positive, x
        self._set_edges(edges)
        for t in range(n_trees):
            for node in range(N_SPLITS):
                self.trees[t].splits[node].feature = <int>features[t, node]
                self.trees[t].splits[node].threshold = <float>thresholds[t, node]
                self.trees[t].splits[node].missing_left = missing_left[t, node] != 0
            for node in range(N_NODES):
                self.trees[t].values[node] = values[t, node]
        self.n_trees = n_trees
        return 0

    cdef void _set_edges(self, float[:, ::1] edges) noexcept:
        cdef Py_ssize_t i
        self.edges = edges
        for i in range(self.negative.start, self.negative.stop):
            self.negative.digitize(i, edges)
        for i in range(self.positive.start, self.positive.stop):
            self.positive.digitize(i, edges)

    @property
    def n_features(self):
        return self.edges.shape[0]

    def score(self, const double[::1] x not None):
        return self._score(x)

    cdef double _score(self, const double[::1] x) except? -1.0:
        """Return the score of an example, which is then in `self.x`."""
        if x.shape[0] < self.x.shape[0]:
            raise ValueError(f"the example has {x.shape[0]} features, not {self.x.shape[0]}")
        cdef Py_ssize_t i
        cdef float* single = &self.x[0]
        for i in range(self.x.shape[0]):
            single[i] = to_single(x[i])
        cdef double score = 0.0
        for i in range(self.n_trees):
            score += leaf_value(&self.trees[i], single)
        return score

    def logit(self, double score, bint empirical):
        return self.statistics.logit(score, 0.0, empirical)

    def learn(self, const double[::1] x not None, bint positive, double weight):
        if x.shape[0] > self.x.shape[0]:
            self._widen(x.shape[0])
        cdef double score = self._score(x)
        cdef _Buffer buffer = self.positive if positive else self.negative
        statistics = self.statistics.updated(score, positive, weight)
        buffer.make_room()
        self.statistics = statistics
        buffer.add(&self.x[0], weight, score, self.edges)
        self.n_learned += 1
        if (
            self.n_learned >= self.next_tree
            and self.negative.stop > self.negative.start
            and self.positive.stop > self.positive.start
        ):
            self._boost()
        return score

    cdef int _widen(self, Py_ssize_t n_features) except -1:
        """Make room for more features, which have been 0 so far."""
        ranker = self.ranker
        ranker.set_state(StateReader(self.get_state(), "OTAUC"))
        ranker.reindex(np.arange(ranker.n_features), n_features)
        self._load(ranker)
        return 0

    cdef int _boost(self) except -1:
        """Add a tree, and let the others fade; choose the bins if it is time to."""
        cdef long long n = self.n_learned, next_binning = self.next_binning
        edges = np.asarray(self.edges)
        if n >= next_binning:
            edges, next_binning = self._choose_edges(), n + boosting.binning_wait(n)
        cdef long long next_tree = n + boosting.tree_wait(n)
        features = boosting.draw_features(edges, self.rng)
        cdef double start = self.rng.random()
        self.grower.make_room(
            self.negative.stop - self.negative.start, self.positive.stop - self.positive.start,
            features,
        )
        # From here on, no Python code runs.
        if next_binning != self.next_binning:
            self._set_edges(edges)
        self.next_binning, self.next_tree = next_binning, next_tree
        cdef Tree tree
        if not len(features):
            return 0
        self.grower.read(self.negative, self.positive, start)
        self.grower.derive(self.loss, self.negative.total / self.positive.total)
        if self.grower.grow(&tree, self.edges):
            self._add(&tree)
        return 0

    cdef _choose_edges(self):
        samples = []
        for buffer in (self.negative, self.positive):
            rows = buffer.array("rows")
            samples.append(rows[boosting.sample(len(rows), boosting.BINNING_SAMPLE, 0.5)])
        return numpy_twin.choose_edges(np.concatenate(samples))

    cdef void _add(self, const Tree* tree) noexcept:
        cdef Py_ssize_t t, node
        cdef const Tree* oldest = &self.trees[0] if self.n_trees == MAX_TREES else NULL
        self.negative.follow(tree, oldest)
        self.positive.follow(tree, oldest)
        if oldest is not NULL:
            self.n_trees -= 1
            memmove(&self.trees[0], &self.trees[1], self.n_trees * sizeof(Tree))
        for t in range(self.n_trees):
            for node in range(N_NODES):
                self.trees[t].values[node] *= _KEEP
        self.trees[self.n_trees] = tree[0]
        self.n_trees += 1

    def get_state(self):
        cdef Py_ssize_t t, node
        features, missing_left = np.empty((2, self.n_trees, N_SPLITS), dtype=np.int64)
        thresholds = np.empty((self.n_trees, N_SPLITS))
        values = np.empty((self.n_trees, N_NODES))
        cdef long long[:, ::1] feature = features, left = missing_left
        cdef double[:, ::1] threshold = thresholds, value = values
        for t in range(self.n_trees):
            for node in range(N_SPLITS):
                feature[t, node] = self.trees[t].splits[node].feature
                threshold[t, node] = self.trees[t].splits[node].threshold
                left[t, node] = self.trees[t].splits[node].missing_left
            for node in range(N_NODES):
                value[t, node] = self.trees[t].values[node]
        return {
            "trees": {
                "features": features,
                "thresholds": thresholds,
                "missing_left": missing_left,
                "values": values,
            },
            "buffers": [self.negative.get_state(), self.positive.get_state()],
            "edges": np.array(self.edges),
            "statistics": self.statistics.get_state(),
            "next_tree": self.next_tree,
            "next_binning": self.next_binning,
            "rng": self.rng.getstate(),
        }


cdef class _Grower:
    """Grows a tree on a sample of the examples, the negatives first."""

    cdef Py_ssize_t n, n_columns
    # Of the negatives and of the positives.
    cdef Py_ssize_t counts[2]
    cdef long long[::1] features
    # Bins, scores, weights and derivatives of the examples.
    cdef unsigned char[::1] codes
    cdef double[::1] scores, weights
    cdef Sums[::1] sums
    # The examples, those of a node side by side; and room for those that go to the right.
    cdef int[::1] order, right
    # By depth, column and bin.
    cdef Sums[:, ::1] histograms
    # By column: whether values are unknown, and the largest gain.
    cdef unsigned char[::1] has_missing
    cdef double[::1] gains

    def __init__(self):
        self._allocate(0, 0)

    cdef int _allocate(self, Py_ssize_t n, Py_ssize_t n_columns) except -1:
        pair = np.dtype([("g", "f8"), ("h", "f8")])
        codes, scores, weights = np.empty(n * n_columns, np.uint8), np.empty(n), np.empty(n)
        sums, order, right = np.empty(n, pair), np.empty(n, np.intc), np.empty(n, np.intc)
        histograms = np.empty((DEPTH, n_columns * N_CELLS), pair)
        has_missing, gains = np.empty(n_columns, np.uint8), np.empty(n_columns)
        self.codes, self.scores, self.weights, self.sums = codes, scores, weights, sums
        self.order, self.right, self.histograms = order, right, histograms
        self.has_missing, self.gains = has_missing, gains
        return 0

    cdef int make_room(self, Py_ssize_t n_negative, Py_ssize_t n_positive, features) except -1:
        """Make room for a tree on these features of a sample of this size."""
        self.features = features
        self.n_columns = len(features)
        self.counts[0] = min(n_negative, _MAX_SAMPLE)
        self.counts[1] = min(n_positive, _MAX_SAMPLE)
        self.n = self.counts[0] + self.counts[1]
        if (
            self.n > self.order.shape[0]
            or self.n_columns > self.gains.shape[0]
            or self.n * self.n_columns > self.codes.shape[0]
        ):
            self._allocate(self.n + self.n // 4, self.n_columns)
        return 0

    cdef void read(self, _Buffer negative, _Buffer positive, double start) noexcept:
        """Take bins, scores and weights of a sample of each class."""
        memset(&self.has_missing[0], 0, self.n_columns)
        self._read_class(negative, 0, self.counts[0], start)
        self._read_class(positive, self.counts[0], self.counts[1], start)

    cdef void _read_class(
        self, _Buffer buffer, Py_ssize_t first, Py_ssize_t n, double start
    ) noexcept:
        cdef Py_ssize_t i, k, row, n_stored = buffer.stop - buffer.start
        cdef const unsigned char* codes
        cdef unsigned char* chosen
        for i in range(n):
            row = i
            if n < n_stored:
                row = min(<Py_ssize_t>((i + start) * n_stored / n), n_stored - 1)
            row += buffer.start
            self.scores[first + i] = buffer.scores[row]
            self.weights[first + i] = buffer.weights[row]
            codes = &buffer.codes[row, 0]
            chosen = &self.codes[(first + i) * self.n_columns]
            for k in range(self.n_columns):
                chosen[k] = codes[self.features[k]]
                self.has_missing[k] |= chosen[k] == MISSING

    cdef void derive(self, int loss, double odds) noexcept:
        """Compute the derivatives of the loss; see `rankers.boosting_losses`."""
        if loss == LOGISTIC:
            self._derive_logistic(odds)
        else:
            self._derive_pairwise(loss)

    cdef double _total(self, bint positive) noexcept:
        cdef Py_ssize_t i, first = self.counts[0] if positive else 0
        cdef double total = 0.0
        for i in range(first, first + self.counts[positive]):
            total += self.weights[i]
        return total

    cdef void _derive_logistic(self, double odds) noexcept:
        cdef double scale = odds * self._total(True) / self._total(False), shift = log(odds)
        cdef double logit, decay, p, w
        cdef Py_ssize_t i
        for i in range(self.n):
            logit = self.scores[i] - shift
            decay = exp(-fabs(logit))
            p = (1.0 if logit >= 0.0 else decay) / (1.0 + decay)
            w = self.weights[i] if i >= self.counts[0] else scale * self.weights[i]
            self.sums[i].g = w * (p - (i >= self.counts[0]))
            self.sums[i].h = w * fmax(p * (1.0 - p), _MIN_CURVATURE)

    cdef void _derive_pairwise(self, int loss) noexcept:
        cdef double totals[2]
        cdef double means[2]
        cdef double variances[2]
        cdef double pulls[2]
        cdef double spreads[2]
        cdef Py_ssize_t i
        cdef bint own
        cdef double share, sign, b, r, pull, spread, curvature, size
        for own in range(2):
            totals[own] = self._total(own)
            means[own] = variances[own] = pulls[own] = spreads[own] = 0.0
        size = 2.0 / (1.0 / totals[0] + 1.0 / totals[1]) / 8.0
        for i in range(self.n):
            own = i >= self.counts[0]
            means[own] += self.weights[i] / totals[own] * self.scores[i]
        for i in range(self.n):
            own = i >= self.counts[0]
            b = self.scores[i] - means[own]
            variances[own] += self.weights[i] / totals[own] * (b * b)
        for i in range(self.n):
            own = i >= self.counts[0]
            sign = 1.0 if own else -1.0
            b = 1.0 - sign * (self.scores[i] - means[not own])
            pull, spread, curvature = b, 1.0, 1.0
            if loss == PSI_M:
                r = sqrt(b * b + variances[not own])
                pull, spread, curvature = 0.5, 0.0, 0.0
                if r > 0.0:
                    pull = variances[not own] / (r * (r - b)) if b < 0.0 else 1.0 + b / r
                    pull *= 0.5
                    spread = 0.5 / r
                    curvature = spread * variances[not own] / (r * r)
            self.sums[i].g, self.sums[i].h = pull, curvature
            pulls[own] += self.weights[i] / totals[own] * pull
            spreads[own] += self.weights[i] / totals[own] * spread
        for i in range(self.n):
            own = i >= self.counts[0]
            sign = 1.0 if own else -1.0
            share = size * (self.weights[i] / totals[own])
            b = spreads[not own] * (self.scores[i] - means[own])
            self.sums[i].g = share * (b - sign * (self.sums[i].g + pulls[not own]))
            self.sums[i].h = share * (self.sums[i].h + spreads[not own])

    cdef bint grow(self, Tree* tree, const float[:, ::1] edges) noexcept:
        """Grow a tree; return False if nothing splits."""
        cdef Py_ssize_t node, i
        cdef double weights[N_NODES]
        cdef double share
        cdef Sums all
        memset(tree, 0, sizeof(Tree))
        memset(&weights[0], 0, sizeof(weights))
        for node in range(N_SPLITS):
            tree.splits[node].threshold, tree.splits[node].missing_left = _LARGEST, True
        all.g = all.h = 0.0
        for i in range(self.n):
            self.order[i] = <int>i
            all.g += self.sums[i].g
            all.h += self.sums[i].h
        self._fill(0, 0, self.n)
        self._grow_node(tree, weights, edges, 0, 0, 0, 0, self.n, all)
        if tree.splits[0].threshold == _LARGEST and tree.splits[0].missing_left:
            return False
        for node in reversed(range(N_SPLITS)):
            weights[node] = weights[2 * node + 1] + weights[2 * node + 2]
            share = weights[2 * node + 2] / weights[node] if weights[node] else 0.0
            tree.values[node] = tree.values[2 * node + 1]
            tree.values[node] += share * (tree.values[2 * node + 2] - tree.values[2 * node + 1])
        return True

    cdef void _grow_node(
        self, Tree* tree, double* weights, const float[:, ::1] edges, Py_ssize_t node, int depth,
        int slot, Py_ssize_t begin, Py_ssize_t end, Sums sums,
    ) noexcept:
        """Split a node and those below it. Histograms up to `depth` are taken."""
        cdef Py_ssize_t column = 0, middle
        cdef int edge = 0, level
        cdef bint missing_left = True, left_is_smaller
        cdef Sums left, right
        cdef Split* split
        if depth == DEPTH or not self._find_split(slot, sums, &column, &edge, &missing_left):
            # All examples go to the leaf on the left.
            for level in range(depth, DEPTH):
                node = 2 * node + 1
            tree.values[node] = _RATE * fmin(
                fmax(-sums.g / (sums.h + _LEAF_L2), -_MAX_LEAF), _MAX_LEAF
            )
            weights[node] = sums.h
            return
        split = &tree.splits[node]
        split.feature = <int>self.features[column]
        split.threshold = edges[split.feature, edge]
        split.missing_left = missing_left
        middle = self._partition(begin, end, column, edge, missing_left, &left, &right)
        left_is_smaller = middle - begin < end - middle
        if depth + 1 < DEPTH:
            if left_is_smaller:
                self._fill(depth + 1, begin, middle)
            else:
                self._fill(depth + 1, middle, end)
            self._subtract(slot, depth + 1)
        # First the child whose histogram is the new one: the other's is in the slot of the parent.
        if left_is_smaller:
            self._grow_node(
                tree, weights, edges, 2 * node + 1, depth + 1, depth + 1, begin, middle, left
            )
            self._grow_node(tree, weights, edges, 2 * node + 2, depth + 1, slot, middle, end, right)
        else:
            self._grow_node(
                tree, weights, edges, 2 * node + 2, depth + 1, depth + 1, middle, end, right
            )
            self._grow_node(
                tree, weights, edges, 2 * node + 1, depth + 1, slot, begin, middle, left
            )

    cdef void _fill(self, int slot, Py_ssize_t begin, Py_ssize_t end) noexcept:
        """Add up the derivatives of some examples in each bin of each column."""
        cdef Sums* histogram = &self.histograms[slot, 0]
        cdef Py_ssize_t i, k, row, n_columns = self.n_columns
        cdef const unsigned char* codes
        cdef Sums* cell
        cdef double g, h
        memset(histogram, 0, n_columns * N_CELLS * sizeof(Sums))
        for i in range(begin, end):
            row = self.order[i]
            g, h = self.sums[row].g, self.sums[row].h
            codes = &self.codes[row * n_columns]
            for k in range(n_columns):
                cell = &histogram[k * N_CELLS + codes[k]]
                cell.g += g
                cell.h += h

    cdef void _subtract(self, int slot, int smaller) noexcept:
        cdef double* histogram = <double*>&self.histograms[slot, 0]
        cdef const double* other = <double*>&self.histograms[smaller, 0]
        cdef Py_ssize_t i
        for i in range(2 * self.n_columns * N_CELLS):
            histogram[i] -= other[i]

    cdef bint _find_split(
        self, int slot, Sums sums, Py_ssize_t* column, int* edge, bint* missing_left
    ) noexcept:
        """Find the first of the best splits; return False if there is none."""
        cdef double best = -1.0
        cdef Py_ssize_t k
        if sums.h < 2.0 * _MIN_SIDE:
            return False
        for k in range(self.n_columns):
            self.gains[k] = self._search(slot, k, sums, -1.0, edge, missing_left)
            best = fmax(best, self.gains[k])
        if not best - sums.g * sums.g / (sums.h + _LEAF_L2) > _MIN_GAIN:
            return False
        best *= 1.0 - _TIE
        for k in range(self.n_columns):
            if self.gains[k] >= best:
                column[0] = k
                self._search(slot, k, sums, best, edge, missing_left)
                return True
        return False

    cdef double _search(
        self, int slot, Py_ssize_t column, Sums sums, double enough, int* edge, bint* missing_left
    ) noexcept:
        """Return the largest gain of a split by a column, or the first that is enough, if above 0.

        It is -1 if no split has enough examples on both sides.
        """
        cdef const Sums* bins = &self.histograms[slot, column * N_CELLS]
        cdef bint has_missing = self.has_missing[column], side
        cdef double g_known = 0.0, h_known = 0.0, g, h, gain, best = -1.0
        cdef int i
        for i in range(N_EDGES):
            g_known += bins[i].g
            h_known += bins[i].h
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

    cdef Py_ssize_t _partition(
        self, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t column, int edge, bint missing_left,
        Sums* left, Sums* right,
    ) noexcept:
        """Put the examples on the left first, in the same order, and add up both sides."""
        cdef Py_ssize_t i, middle = begin, n_right = 0
        cdef int row
        cdef unsigned char code
        left.g = left.h = right.g = right.h = 0.0
        for i in range(begin, end):
            row = self.order[i]
            code = self.codes[row * self.n_columns + column]
            if (missing_left if code == MISSING else code <= edge):
                self.order[middle] = row
                middle += 1
                left.g += self.sums[row].g
                left.h += self.sums[row].h
            else:
                self.right[n_right] = row
                n_right += 1
                right.g += self.sums[row].g
                right.h += self.sums[row].h
        memcpy(&self.order[middle], &self.right[0], n_right * sizeof(int))
        return middle
