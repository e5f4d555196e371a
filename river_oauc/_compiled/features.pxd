"""What the compiled functions of records share."""

cimport numpy as cnp

cdef struct Prior:
    double negative
    double positive
    double log_odds

cdef enum:
    N_KNOWN, N_STRINGS, N_TEXTS, IS_COUNTED, HAS_FRACTIONS, IS_MOSTLY_KNOWN, IS_ID, IS_TIME, N_FACTS
    N_COUNTS = 4

cdef Prior prior_of(cnp.ndarray class_weights) except *
cdef double log_odds(double negative, double positive, const Prior* prior) noexcept
cdef bint is_text(const cnp.int64_t* facts, object categories) noexcept
cdef bint is_category(const cnp.int64_t* facts, object categories) noexcept
cdef Py_ssize_t row_of(object categories, object category) except -2
