#!/usr/bin/env bash
# Builds the extension under ASan and UBSan into a folder of its own and runs the Python suite on it.
# usage: tests/asan.sh PYTHON [pytest arguments]
set -euo pipefail
python=$(realpath -s "$1"); shift
cd "$(dirname "$0")/.."
cc=${CC:-cc}
rm -rf build/asan && mkdir -p build/asan
HARMONY_MEM_SANITIZE=address,undefined "$python" setup.py --quiet build_ext --force --build-lib build/asan --build-temp build/asan/tmp
cp -r harmony_mem build/asan/copy
rm -f build/asan/copy/*.so
mv build/asan/harmony_mem/_core*.so build/asan/copy/
rm -rf build/asan/harmony_mem && mv build/asan/copy build/asan/harmony_mem
cp -r tests docs bench csrc ./*.md pyproject.toml build/asan/
# The interpreter itself is not instrumented: its own leaks are not ours, and the runtime has to be loaded first.
cd build/asan
export LD_PRELOAD="$("$cc" -print-file-name=libasan.so) $("$cc" -print-file-name=libubsan.so)"
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export PYTHONPATH="$PWD" PYTHONMALLOC=malloc HARMONY_MEM_EXPECT="$PWD"
# What drives the extension; the rest is Python over it. The 100,000 messages of one test are its own business.
suite=(tests/test_{memory,window_model,sendable,bad_input,mixed,layered,summary_discipline,estimate,grapheme,render}.py
       tests/sidecar/test_sidecar_{methods,memories}.py)
exec "$python" -P -m pytest -p no:cacheprovider -m 'not slow' -k 'not hundred_thousand' "${suite[@]}" "$@"
