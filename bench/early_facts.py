"""Early facts that the summary memory keeps on generated conversations: early_facts.py [FIRST_SEED [COUNT]]"""

import statistics
import sys

import harmony_mem as hm
from harmony_mem.simulate import Report, generate, replay

given = [int(a) for a in sys.argv[1:]]
first, count = (*given, *[1000, 40][len(given) :])
runs = [
    Report([replay(generate(seed), hm.create_memory("summary"), budget=4096)]).as_dict()
    for seed in range(first, first + count)
]
kept = [100 * r["facts_final"] for r in runs]
tokens = statistics.fmean(r["mean_tokens"] for r in runs)
print(f"seeds {first}-{first + count - 1}: early facts {statistics.fmean(kept):.1f} %, worst {min(kept):.1f} %")
print(f"{tokens:.0f} tokens a request")
