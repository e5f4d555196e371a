"""Compiles the hot modules at installation, where there is a C compiler.

Where there is none, or anything fails, all works as Python, and a warning says so.
`RIVER_OAUC_COMPILED=1` makes a failure an error, and `0` does without compiling.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import sys
import sysconfig
import tempfile
import typing

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WANTED = os.environ.get("RIVER_OAUC_COMPILED", "")
# Every operation as it is written, as Python has them; only nobody asks a root for an error number.
FLAGS = ["-ffp-contract=off", "-fno-math-errno", "-g0"]
# Loops over numbers gain by all that a compiler can do; the other modules call these, and take half
# the time to compile without.
LOOPS, OTHERS = "-O3", "-O1"
DIRECTIVES = {
    "annotation_typing": False,
    "auto_pickle": False,
    "autotestdict": False,
    "language_level": 3,
}


def obstacle() -> str:
    """Why nothing can be compiled here; nothing, if it can."""
    if WANTED == "0":
        return "RIVER_OAUC_COMPILED is 0"
    if sys.implementation.name != "cpython":
        return "this is not CPython"
    if "musl" in (sysconfig.get_config_var("SOABI") or ""):
        return "this is musl"
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "").split()
    if sys.platform != "win32" and not (compiler and shutil.which(compiler[0])):
        return "there is no C compiler"
    if not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists():
        return "there are no headers of Python"
    return ""


class CompiledCore(BuildHookInterface[typing.Any]):
    """Compiles beside the sources for an editable installation, and into the wheel otherwise."""

    def dependencies(self) -> list[str]:
        return [] if obstacle() else ["cython>=3.1", "numpy>=2", "setuptools>=70"]

    def initialize(self, version: str, build_data: dict[str, typing.Any]) -> None:
        package = pathlib.Path(self.root, "river_oauc")
        reason = obstacle()
        if version == "editable":
            for library in package.rglob(f"*{sysconfig.get_config_var('EXT_SUFFIX')}"):
                library.unlink()
        if not reason:
            self.directory_of_objects = tempfile.mkdtemp()
            try:
                libraries = compile_modules(package, pathlib.Path(self.directory_of_objects))
            except (Exception, SystemExit) as error:
                reason = f"{type(error).__name__}: {error}"
        if reason:
            if WANTED == "1":
                raise RuntimeError(f"river-oauc cannot be compiled: {reason}")
            if WANTED != "0":
                self.app.display_warning(f"river-oauc is not compiled, and slower: {reason}")
        elif version == "editable":
            for name, library in libraries.items():
                shutil.copy(library, package.parent / name)
        else:
            build_data["pure_python"], build_data["infer_tag"] = False, True
            build_data["force_include"].update(
                {str(path): name for name, path in libraries.items()}
            )

    def finalize(self, version: str, build_data: dict[str, typing.Any], artifact: str) -> None:
        shutil.rmtree(getattr(self, "directory_of_objects", ""), ignore_errors=True)


def compile_modules(package: pathlib.Path, directory: pathlib.Path) -> dict[str, pathlib.Path]:
    """The compiled modules, by the paths that they are to have beside their sources."""
    import numpy
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension

    specification = importlib.util.spec_from_file_location("native", package / "native.py")
    assert specification and specification.loader
    native = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(native)
    extensions = []
    for module in native.MODULES:
        source = package / f"{module}.pyx"
        extensions.append(
            Extension(
                ".".join(["river_oauc", *module.split("/")]),
                [str(source if source.exists() else package / f"{module}.py")],
                include_dirs=[numpy.get_include()],
                define_macros=[
                    ("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION"),
                    ("RIVER_OAUC_DIGEST", f'"{native.digest()}"'),
                ],
                extra_compile_args=[*FLAGS, LOOPS if source.exists() else OTHERS]
                if os.name == "posix"
                else [],
            )
        )
    n_jobs = os.cpu_count() or 1
    extensions = cythonize(
        extensions, nthreads=n_jobs, compiler_directives=DIRECTIVES, build_dir=directory, quiet=True
    )
    command = Distribution({"ext_modules": extensions}).get_command_obj("build_ext")
    command.build_lib, command.build_temp = str(directory / "lib"), str(directory / "temp")
    command.parallel = n_jobs
    command.ensure_finalized()
    command.run()
    return {
        command.get_ext_filename(extension.name): pathlib.Path(
            command.get_ext_fullpath(extension.name)
        )
        for extension in extensions
    }
