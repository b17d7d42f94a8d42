"""The options of every memory: names, defaults, ranges. The one place where an option is defined."""

from __future__ import annotations

from ..errors import OptionError, brief, nearest
from ..tokens import DEFAULT_PART_TOKENS, OVERHEADS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["COMMON", "PRESETS", "resolve"]

COMMON: dict[str, Any] = {
    "max_tokens": 4096,
    "reserve_tokens": 0,
    "counter": "estimate",
    "overhead": "chatml",
    "fixed_tokens": 0,
    "part_tokens": DEFAULT_PART_TOKENS,
    "oversize": "split",
    "pin_system": "leading",
    "clock": None,
    "history_bytes": 256 << 10,
    "limit_bytes": 256 << 20,
}
"""Options of all memories with their defaults; an architecture adds its own or gives another default."""

# Named settings: for a car's short exchanges, for a home that remembers longer, for an assistant with a larger model.
PRESETS: dict[str, dict[str, Any]] = {
    "car": {"max_tokens": 2048, "reserve_tokens": 400, "max_turns": 5, "layered": {"keep_recent": 5}},
    "home": {"max_tokens": 4096, "reserve_tokens": 800, "max_turns": 10, "layered": {"keep_recent": 10}},
    "assistant": {"max_tokens": 8192, "reserve_tokens": 1024},
}

_CHOICES = {
    "overhead": tuple(OVERHEADS),
    "oversize": ("split", "refuse"),
    "pin_system": ("leading", "all"),
    "summary_placement": ("own", "merged"),
}
_LEAST = {
    "max_tokens": 1,
    "reserve_tokens": 0,
    "fixed_tokens": 0,
    "part_tokens": 0,
    "history_bytes": 0,
    "limit_bytes": 1 << 16,
    "overlap_tokens": 0,
    "max_turns": 1,
    "max_messages": 1,
    "max_recent_tokens": 1,
    "summary_token_limit": 0,
    "keep_recent": 1,
    "max_short": 1,
}
_SECONDS = ("cooldown", "timeout", "half_life")
_MAY_BE_NONE = ("overlap_tokens", "max_turns", "max_messages", "clock", "preset", "half_life")
_MOST = 1 << 48


def resolve(architecture: str, own: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """All options of an architecture: its defaults `own` over the common ones, then the preset, then what was given.

    Raises OptionError that names the option, what is wrong with it, and what is allowed.
    """
    known = {**COMMON, "preset": None, **own}
    for name in given:
        if name not in known:
            allowed, near = ", ".join(sorted(known)), nearest(name, sorted(known))
            raise OptionError(f"unknown option {brief(name)} for the {architecture} memory{near}; allowed: {allowed}")
    preset = given.get("preset")
    if preset is not None and (not isinstance(preset, str) or preset not in PRESETS):
        near = nearest(preset, list(PRESETS)) if isinstance(preset, str) else ""
        raise OptionError(f"unknown preset {brief(preset)}{near}; allowed: {', '.join(PRESETS)}")
    settings = PRESETS[preset] if preset else {}
    settings = {k: v for k, v in {**settings, **settings.get(architecture, {})}.items() if k in known}
    options = {**known, **settings, **given}
    for name, value in options.items():
        _check(name, value)
    if "reserve_tokens" not in given and "reserve_tokens" not in settings:
        # A default must not eat a small budget: the article's 800 of 4,096 is meant for budgets of that size.
        options["reserve_tokens"] = min(options["reserve_tokens"], options["max_tokens"] // 2)
    budget = options["max_tokens"] - options["reserve_tokens"]
    if budget <= 0:
        raise OptionError(
            f"reserve_tokens is {options['reserve_tokens']}, "
            f"which leaves nothing of max_tokens {options['max_tokens']}; allowed: 0..{options['max_tokens'] - 1}"
        )
    overlap = options.get("overlap_tokens")
    if overlap is not None and overlap >= budget:
        raise OptionError(
            f"overlap_tokens is {overlap}, which leaves nothing of the budget {budget}; allowed: 0..{budget - 1}"
        )
    return options


def _check(name: str, value: Any) -> None:
    if value is None and name in _MAY_BE_NONE:
        return
    if name in _LEAST:
        least = _LEAST[name]
        if not isinstance(value, int) or isinstance(value, bool):
            raise OptionError(f"{name} is {brief(value)}; allowed: an int, {least} or more")
        if not least <= value <= _MOST:
            raise OptionError(f"{name} is {value}; allowed: {least}..{_MOST}")
    elif name in _CHOICES:
        if not isinstance(value, str) or value not in _CHOICES[name]:
            near = nearest(value, list(_CHOICES[name])) if isinstance(value, str) else ""
            raise OptionError(f"{name} is {brief(value)}{near}; allowed: {', '.join(map(repr, _CHOICES[name]))}")
    elif name in _SECONDS:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e12:
            raise OptionError(f"{name} is {brief(value)}; allowed: seconds, 0 or more")
        if name != "cooldown" and not value:
            raise OptionError(f"{name} is 0; allowed: seconds, more than 0")
    elif name == "recall_tokens" and value != "rest":
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST:
            raise OptionError(f'recall_tokens is {brief(value)}; allowed: "rest", or an int, 0 or more')
    elif name == "clock" and not callable(value):
        raise OptionError(f"clock is {type(value).__name__}; allowed: a callable that returns ms since epoch, or None")
