cimport cython
from libc cimport math

cpdef (double, double) psi_m_pair(double margin, double variance)
cpdef (double, double) psi_s_pair(double margin, double variance)
