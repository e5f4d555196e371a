"""The pull of the losses of sparse scores on a score, and the statistics that they need."""

from libc.math cimport exp, fmin, hypot, log, sqrt

cdef extern from *:
    """
    #define PAIRWISE_SHARE 0.25
    """
    const double PAIRWISE_SHARE


cdef inline double sigmoid(double logit) noexcept:
    return 1.0 / (1.0 + exp(-logit)) if logit > -700.0 else 0.0


cdef inline double psi_m_pull(double margin, double variance) noexcept:
    """Return the first coefficient of the gradient of ψ_M, as `losses.psi_m_gradient`."""
    cdef double b = 1.0 - margin, r = hypot(b, sqrt(variance))
    if r == 0.0:
        return 0.5
    return 0.5 * variance / r / (r - b) if b < 0.0 else 0.5 + 0.5 * b / r


cdef inline void pull_of(
    const double* scores, double score, bint positive, double weight, double* pull,
    double* curvature,
) noexcept:
    """Find how far the losses pull a score, as `sparse.pull_of`."""
    cdef const double* own = scores + 3 * positive
    cdef const double* other = scores + 3 * (not positive)
    cdef double sign = 1.0 if positive else -1.0, ratio, pairwise, logistic
    pull[0] = curvature[0] = 0.0
    if other[0]:
        ratio = other[0] / (own[0] + weight)
        pairwise = psi_m_pull(sign * (score - other[1]), other[2] / other[0])
        logistic = sigmoid(log(ratio) - sign * score)
        pull[0] = PAIRWISE_SHARE * fmin(1.0, ratio) * pairwise + (1.0 - PAIRWISE_SHARE) * logistic
        pull[0] *= sign * weight
        curvature[0] = weight * logistic * (1.0 - logistic)


cdef inline void add_score(double* scores, double score, bint positive, double weight) noexcept:
    """Add a score to count, mean and scatter of its class, as `sparse.update_scores`."""
    cdef double* own = scores + 3 * positive
    cdef double n = own[0] + weight, gap = score - own[1]
    own[1] += weight / n * gap
    own[2] += weight * (own[0] / n) * gap * gap
    own[0] = n
