"""The borders between the rooms: who may import whom, and what may stand in csrc/."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "harmony_mem"

# room -> rooms that it may import at any level; a room is the first name below the package
ALLOWED = {
    "_version": set(),
    "errors": set(),
    "types": set(),
    "_core": {"errors", "types"},
    "tokens": {"_core", "types", "errors"},
    "window": {"_core", "types", "errors", "tokens"},
    "memory": {"window", "tokens", "types", "errors"},
    "summarizers": {"tokens", "types", "errors"},
    "recall": {"tokens", "types", "errors"},
    "create": {"memory", "tokens", "summarizers", "recall"},
    "sidecar.codec": {"errors"},
    "sidecar.dispatch": {"sidecar", "types", "errors", "_version"},
    "sidecar": {"sidecar", "create", "types", "errors", "_version"},
    "simulate": {"simulate", "create", "errors", "types", "sidecar"},
    "__init__": {"_version", "create", "errors", "memory", "tokens", "types"},
}
ANYTHING = {"cli", "__main__"}
# What an idle library or sidecar must not load: each costs a board resident memory (docs/architecture.md).
HEAVY = {"asyncio", "ssl", "logging", "typing", "dataclasses", "re", "subprocess", "argparse", "hashlib", "inspect"}


def room_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    if parts[0] == "sidecar" and len(parts) > 1 and f"sidecar.{parts[1]}" in ALLOWED:
        return f"sidecar.{parts[1]}"
    return parts[0]


def imports_of(path: Path) -> set[str]:
    """Rooms of the package that a file imports, wherever the import stands, type-only imports apart."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(n)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and isinstance(branch.test, ast.Name) and branch.test.id == "TYPE_CHECKING"
        for n in ast.walk(branch)
    }
    package = ("harmony_mem", *path.relative_to(PACKAGE).parent.parts)
    found = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom) and node.level:
            below = tuple(node.module.split(".")) if node.module else ()
            base = package[: len(package) - node.level + 1] + below
            names = [".".join(base)] if len(base) > 1 else [f"harmony_mem.{a.name}" for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
            if node.module == "harmony_mem":
                names = [f"harmony_mem.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        else:
            continue
        found |= {n.split(".")[1] if "." in n else "__init__" for n in names if n.split(".")[0] == "harmony_mem"}
        found |= {n.split(".")[0] for n in names if n.split(".")[0] in ("tests", "bench", "cross")}
    return found


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_run_one_way(path: Path) -> None:
    room = room_of(path)
    if room in ANYTHING:
        return
    own = room.split(".")[0] if room in ("window", "memory", "summarizers", "recall", "sidecar", "simulate") else None
    extra = imports_of(path) - ALLOWED[room] - {own}
    assert not extra, f"{room} imports {sorted(extra)}"


def test_only_two_rooms_touch_the_binding() -> None:
    users = {room_of(p) for p in PACKAGE.rglob("*.py") if "_core" in imports_of(p)}
    assert users == {"tokens", "window"}


def test_the_core_is_free_of_python_and_stdio() -> None:
    for path in (ROOT / "csrc").glob("*.[ch]"):
        text = path.read_text(encoding="utf-8")
        includes = set(re.findall(r'#include [<"]([^>"]+)[>"]', text))
        assert not includes & {"Python.h", "stdio.h", "locale.h"}, path.name
        assert includes <= {"hmem.h", "store_internal.h", "codepoint.h", "grapheme_table.h"} | {
            "stdbool.h",
            "stddef.h",
            "stdint.h",
            "stdlib.h",
            "string.h",
        }, f"{path.name} includes {includes}"


def test_text_and_store_never_meet() -> None:
    for name in ("estimate.c", "grapheme.c", "codepoint.h"):
        assert "store_internal.h" not in (ROOT / "csrc" / name).read_text(encoding="utf-8")


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys; before = set(sys.modules); import harmony_mem; print(*sorted(set(sys.modules) - before))"
    run = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = set(run.stdout.split())
    assert not loaded & HEAVY
    assert not any(name.startswith(("harmony_mem.sidecar", "harmony_mem.cli")) for name in loaded)


def test_public_names_are_sorted_and_there() -> None:
    import harmony_mem

    assert harmony_mem.__all__ == sorted(harmony_mem.__all__)
    for name in harmony_mem.__all__:
        assert hasattr(harmony_mem, name)


def test_files_stay_readable() -> None:
    """One idea a file: about 500 lines at most. Generated tables apart."""
    long = {}
    for pattern in ("harmony_mem/**/*.py*", "csrc/*.[ch]", "tests/**/*.py", "tests/c/*.c", "bench/*"):
        for path in ROOT.glob(pattern):
            if path.suffix in (".py", ".pyx", ".c", ".h") and "table" not in path.name and path.name != "_core.c":
                lines = len(path.read_text(encoding="utf-8").splitlines())
                # _core.pyx is the one binding by design; everything else has to stay readable in one go.
                if lines > (700 if path.suffix == ".pyx" else 560):
                    long[str(path.relative_to(ROOT))] = lines
    assert not long
