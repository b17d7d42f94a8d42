"""The documents are true: their code runs, their links lead somewhere, and what they list is what there is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import harmony_mem as hm
from harmony_mem.memory.options import COMMON, PRESETS

ROOT = Path(__file__).resolve().parent.parent
READMES = ("README.md", "README.zh.md")
DOCS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def blocks(name: str, kind: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S)


@pytest.mark.parametrize("name", READMES)
def test_the_ten_lines_run(name, capsys) -> None:
    (code,) = blocks(name, "python")
    names: dict = {}
    exec(compile(code, name, "exec"), names)
    assert [m["role"] for m in names["messages"]] == ["system", "user", "assistant", "user"]
    assert str(names["memory"].token_count) in capsys.readouterr().out


@pytest.mark.parametrize("name", READMES)
def test_the_sidecar_example_runs(name, tmp_path_factory, capsys) -> None:
    (code,) = blocks(name, "python sidecar")
    path = tmp_path_factory.mktemp("s") / "memory.sock"
    server = subprocess.Popen(
        [sys.executable, "-m", "harmony_mem", "serve", "--socket", str(path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        assert "listening on" in server.stdout.readline()
        exec(compile(code.replace("/tmp/memory.sock", str(path)), name, "exec"), {})
    finally:
        server.terminate()
        assert server.wait(10) == 0
        server.stdout.close()
    assert "家里有老人" in capsys.readouterr().out


@pytest.mark.parametrize("path", DOCS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8")):
        if not target.startswith(("http:", "https:")):
            assert (path.parent / target).exists(), target


def test_every_option_and_preset_is_described() -> None:
    text = (ROOT / "docs/memories.md").read_text(encoding="utf-8")
    own = {name for a in hm.ARCHITECTURES for name in hm.memory.ARCHITECTURES[a].own_options}
    for name in {*COMMON, *own, *PRESETS, *hm.ARCHITECTURES}:
        assert f"`{name}`" in text, name


def test_the_changelog_names_the_version_or_unreleased() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {hm.__version__}" in text or "## Unreleased" in text
