#!/usr/bin/env bash
# Builds a wheel, installs it into an empty venv, and uses it from there, away from the sources.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf dist && make --no-print-directory wheel
wheel=$(ls dist/*.whl)
"$python" - "$wheel" <<'PY'
import sys, zipfile
names = zipfile.ZipFile(sys.argv[1]).namelist()
bad = [n for n in names if n.split("/")[0] in ("tests", "bench", "cross", "docs") or n.endswith((".c", ".pyx", ".pxd"))]
assert not bad, f"the wheel carries {bad}"
for wanted in ("harmony_mem/py.typed", "harmony_mem/_core.pyi", "harmony_mem/simulate/customer_zh.jsonl"):
    assert wanted in names, f"the wheel lacks {wanted}"
PY
"$python" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "$wheel"
cd "$work"
venv/bin/python -c '
import harmony_mem as hm
memory = hm.create_memory("sliding", max_tokens=200)
for i in range(50):
    memory.add({"role": "user", "content": f"第{i}个问题"})
assert memory.token_count <= 200 and memory.messages()[-1]["content"] == "第49个问题"
print("installed:", hm.__version__, memory)'
venv/bin/harmony-mem --version
venv/bin/harmony-mem demo --max-tokens 2048
