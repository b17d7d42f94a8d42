"""The simulation: replay a long conversation against a memory and see what the model would have been given.

    import harmony_mem as hm
    from harmony_mem.simulate import Report, replay, shipped

    for architecture in hm.ARCHITECTURES:
        run = replay(shipped(), hm.create_memory(architecture, max_tokens=4096), budget=4096)
        print(architecture, Report([run]).as_dict())

`replay` takes a memory of this process or a session of the sidecar. Conversations come from `shipped()`, `read(path)`
or `generate(seed)`. `harmony-mem demo` runs it through the sidecar and prints a table; docs/simulation.md has the rest.
"""

from __future__ import annotations

from .conversation import Conversation, ConversationError, Fact, read, read_lines, shipped, write
from .generate import generate
from .run import Report, Run, SimulationError, replay

__all__ = [
    "Conversation",
    "ConversationError",
    "Fact",
    "Report",
    "Run",
    "SimulationError",
    "generate",
    "read",
    "read_lines",
    "replay",
    "shipped",
    "write",
]
