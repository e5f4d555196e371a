"""Compiled functions, built where there is a C compiler.

With `RIVER_OAUC_COMPILED=1` a failed compilation is an error; with `0` nothing is compiled.
"""

import os
import pathlib
import sys

from setuptools import Extension, setup

WINDOWS, LINUX = sys.platform == "win32", sys.platform == "linux"

DIRECTIVES = {
    "language_level": "3",
    # Sizes are checked where arrays enter.
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
}


def extensions():
    wanted = os.environ.get("RIVER_OAUC_COMPILED")
    if wanted == "0":
        return []
    import numpy as np
    from Cython.Build import cythonize

    modules = [
        Extension(
            ".".join(path.with_suffix("").parts),
            [str(path)],
            include_dirs=[np.get_include()],
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
            # Without fused multiply-adds, a step rounds alike on all processors.
            extra_compile_args=["/O2"] if WINDOWS else ["-O3", "-g0", "-ffp-contract=off"],
            # Without the symbol table, a tenth smaller.
            extra_link_args=["-Wl,-s"] if LINUX else [],
        )
        for path in sorted(pathlib.Path("river_oauc/_compiled").glob("*.pyx"))
    ]
    modules = cythonize(modules, compiler_directives=DIRECTIVES, build_dir="build/cython")
    for module in modules:
        # Not an argument above: cythonize would lose it.
        module.optional = wanted != "1"
    return modules


setup(ext_modules=extensions())
