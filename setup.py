"""Builds the one extension module from csrc/ and harmony_mem/_core.pyx; everything else is in pyproject.toml.

Switches, all optional: HARMONY_MEM_WERROR=1 (strict warnings are errors: for our CI, never for a user's build),
HARMONY_MEM_SANITIZE=address,undefined.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

ROOT = Path(__file__).parent
os.chdir(ROOT)

# csrc/ is compiled with strict warnings in tests/c/Makefile; here generated code comes along.
flags = ["-std=c11", "-O2", "-fvisibility=hidden"]
link = []
if os.environ.get("HARMONY_MEM_WERROR"):
    flags += ["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wno-missing-field-initializers"]
if sanitize := os.environ.get("HARMONY_MEM_SANITIZE"):
    flags += [f"-fsanitize={sanitize}", "-fno-omit-frame-pointer", "-g", "-O1"]
    link += [f"-fsanitize={sanitize}"]

core = Extension(
    "harmony_mem._core",
    sources=["harmony_mem/_core.pyx", *sorted(str(p) for p in Path("csrc").glob("*.c"))],
    include_dirs=["csrc"],
    depends=sorted(str(p) for p in Path("csrc").glob("*.h")),
    extra_compile_args=flags,
    extra_link_args=link,
)

setup(
    ext_modules=cythonize(
        [core],
        compiler_directives={
            "language_level": 3,
            "boundscheck": False,
            "wraparound": False,
            "initializedcheck": False,
            "embedsignature": True,
            "binding": True,
        },
    )
)
