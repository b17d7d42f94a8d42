"""How far the counters that need no vocabulary are from a real one.

    python bench/estimate_error.py --vocab qwen3=tokenizer.json --corpus chat=chat.txt --corpus code=code.txt

For each vocabulary and corpus, texts of 20, 100, 500 and 2,000 characters are cut at even distances and counted both
ways. A cell is the mean error and the 95th percentile of the absolute error, in per cent of the true count:
"+1.2/ 8.4".

A vocabulary is a Hugging Face tokenizer.json; a text is only text, so its added tokens are left out. A corpus is a
UTF-8 text file. `--blocks rest` takes texts from every second block of 10,000 characters only, the ones that the prices
in csrc/estimate.c were not fitted to; `--blocks fit` takes the others. Needs the package tokenizers.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

LENGTHS = (20, 100, 500, 2000)
BLOCK = 10_000
Count = Callable[[str], int]


def stop(reason: str) -> NoReturn:
    sys.exit(f"estimate_error: {reason}")


def load_vocabulary(path: Path) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        stop("the package tokenizers is missing: pip install tokenizers")
    try:
        spec = json.loads(path.read_text(encoding="utf-8"))
        spec["added_tokens"], spec["post_processor"] = [], None
        return Tokenizer.from_str(json.dumps(spec))
    except OSError as error:
        stop(f"vocabulary {path}: {error.strerror}")
    except Exception as error:  # tokenizers raises Exception itself
        stop(f"vocabulary {path} is not a tokenizer.json: {error}")


def load_corpus(path: Path, cap: int) -> str:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read(cap)
    except OSError as error:
        stop(f"corpus {path}: {error.strerror}")
    except UnicodeDecodeError as error:
        stop(f"corpus {path} is not UTF-8: {error}")


def load_rules() -> dict[str, Count]:
    try:
        from harmony_mem import TokenCounter
    except ImportError as error:
        stop(f"harmony_mem cannot be imported ({error}): pip install -e . in the repository")
    return {
        "estimate": TokenCounter.named("estimate").count,
        "chars/2": TokenCounter.named("chars/2").count,
        "chars/4": lambda text: -(-len(text) // 4),
    }


def cut(text: str, length: int, samples: int, blocks: str) -> list[str]:
    """At most `samples` texts at even distances, each inside one block unless `blocks` is "all"."""
    step = max(length, len(text) // samples if blocks == "all" else len(text) // (2 * samples))
    starts = list(range(0, len(text) - length + 1, step))
    if blocks != "all":
        odd = blocks == "rest"
        starts = [s for s in starts if s // BLOCK % 2 == odd and (s + length - 1) // BLOCK == s // BLOCK]
    return [text[s : s + length] for s in starts]


def percentile(values: list[float], share: float) -> float:
    """By linear interpolation between the closest ranks."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def cell(estimates: list[int], truths: list[int]) -> str:
    errors = [100 * (e - t) / t for e, t in zip(estimates, truths, strict=True)]
    return f"{sum(errors) / len(errors):+6.1f}/{percentile([abs(e) for e in errors], 0.95):5.1f}"


def named_path(argument: str) -> tuple[str, Path]:
    name, mark, path = argument.partition("=")
    if not (name and mark and path):
        raise argparse.ArgumentTypeError(f"{argument!r} is not NAME=PATH")
    return name, Path(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocab", action="append", required=True, type=named_path, metavar="NAME=PATH")
    parser.add_argument("--corpus", action="append", required=True, type=named_path, metavar="NAME=PATH")
    parser.add_argument("--samples", type=int, default=1000, help="texts of each length, at most (default 1000)")
    parser.add_argument("--cap", type=int, default=3_000_000, help="characters read of a corpus (default 3,000,000)")
    parser.add_argument("--blocks", choices=("all", "fit", "rest"), default="all")
    options = parser.parse_args()
    if options.samples < 1 or options.cap < 1:
        stop("--samples and --cap must be at least 1")

    rules = load_rules()
    texts = {name: load_corpus(path, options.cap) for name, path in options.corpus}
    for vocabulary, path in options.vocab:
        tokenizer = load_vocabulary(path)
        print(f"\n{vocabulary}: bias / 95th percentile of the absolute error, %")
        print(f"{'corpus':<16} {'rule':<9}" + "".join(f"{f'{n:,} chars':>16}" for n in LENGTHS))
        for name, text in texts.items():
            samples = {n: cut(text, n, options.samples, options.blocks) for n in LENGTHS}
            truths = {n: [len(e.ids) for e in tokenizer.encode_batch(s)] for n, s in samples.items()}
            for rule, count in rules.items():
                cells = [cell([count(t) for t in samples[n]], truths[n]) if samples[n] else "-" for n in LENGTHS]
                print(f"{name:<16} {rule:<9}" + "".join(f"{c:>16}" for c in cells), flush=True)


if __name__ == "__main__":
    main()
