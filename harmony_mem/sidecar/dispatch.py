"""The methods: what each takes, how it is checked, and what it does. Plain values in, plain values or Encoded out.

Errors are raised; the server turns them into answers. A method sees its peer as two facts: the namespace it speaks
for, and whether it is privileged (the sidecar's own uid, or root).
"""

from __future__ import annotations

import os

from harmony_mem.errors import HarmonyMemError, HistoryError, SidecarError, nearest
from harmony_mem.sidecar.codec import Encoded
from harmony_mem.sidecar.sessions import Session, Sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class Peer(Protocol):
        namespace: str
        privileged: bool
        watching: set[Any]

    class Control(Protocol):
        version: str

        def stop(self) -> None: ...

        def counters(self) -> dict[str, Any]: ...

        def notify(self, peers: set[Any], method: str, params: dict[str, Any]) -> None: ...

    Params = dict[str, Any]
    Kind = tuple[Callable[[Any], bool], str]


__all__ = ["METHODS", "NOTIFICATIONS", "PROTOCOL", "Dispatcher"]

PROTOCOL = 1
# What this sidecar can do beyond the methods of protocol 1's first form; a client asks here before it relies on one.
FEATURES = ["layered", "notify", "recall", "summary"]
# What listeners are told, and the parameters of each.
NOTIFICATIONS = {
    "evicted": ("user", "session", "count", "last_seq"),
    "summarized": ("user", "session", "covered", "tokens"),
}

_STYLES = ("plain", "chatml")
DEFAULT_RECALLED = 5
MOST_RECALLED = 1000
_MAX = 1 << 62  # a count beyond this is a mistake, and would not fit the core's numbers

# Kinds of parameters: a test, and what to say after "must be".
TEXT: Kind = (lambda v: type(v) is str, "a text")
NAME: Kind = (lambda v: type(v) is str and v != "", "a text that is not empty")
ARCHITECTURE: Kind = (lambda v: type(v) is str and 0 < len(v) <= 64, "the name of a memory")
FLAG: Kind = (lambda v: type(v) is bool, "true or false")
COUNT: Kind = (lambda v: type(v) is int and 0 <= v <= _MAX, "an integer of at least 0")
TIME: Kind = (lambda v: type(v) is int and 0 <= v <= _MAX, "milliseconds since 1970, an integer of at least 0")
MAP: Kind = (lambda v: type(v) is dict, "a map")
LIST: Kind = (lambda v: type(v) is list, "a list")
STYLE: Kind = (lambda v: v in _STYLES, '"plain" or "chatml"')
HITS: Kind = (lambda v: type(v) is int and 1 <= v <= MOST_RECALLED, f"an integer from 1 to {MOST_RECALLED}")
SCOPE: Kind = (lambda v: v == "session", '"session"')

_TYPE_NAMES = {
    str: "a text",
    bool: "true or false",
    int: "an integer",
    float: "a number",
    dict: "a map",
    list: "a list",
    type(None): "nil",
}


def _unknown(what: str, name: str, allowed: list[str]) -> str:
    """`unknown parameter 'mesage' of add; did you mean ...`, at bounded cost however long the name is."""
    short = name if len(name) <= 64 else name[:61] + "..."
    return f"unknown {what} {short!r}{nearest(short, allowed)}"


def _shown(value: Any) -> str:
    if type(value) is int:
        return str(value)
    if type(value) is str and len(value) <= 32:
        return repr(value)
    return _TYPE_NAMES[type(value)]


def check(where: str, params: Params, required: dict[str, Kind], optional: dict[str, Kind], *, names: int) -> None:
    """Raises SidecarError(bad_params) unless every parameter is known, of its kind, and none that is required lacks.

    nil stands for an optional parameter that is not given.
    """
    for name, value in params.items():
        kind = required.get(name)
        if kind is None:
            kind = optional.get(name)
            if kind is None:
                known = sorted({**required, **optional})
                raise SidecarError(f"{where}: {_unknown('parameter', name, known)}", code="bad_params")
            if value is None:
                continue
        if not kind[0](value):
            raise SidecarError(f"{where}: {name} must be {kind[1]}, not {_shown(value)}", code="bad_params")
        if kind is NAME and len(value) > names:
            raise SidecarError(
                f"{where}: {name} has {len(value)} characters, the limit is {names} (limits.name_chars)",
                code="bad_params",
            )
    for name in required:
        if name not in params:
            raise SidecarError(f"{where}: {name} is missing", code="bad_params")


class Dispatcher:
    """Calls methods on the sessions of one sidecar."""

    def __init__(self, sessions: Sessions, limits: dict[str, int], control: Control) -> None:
        self._sessions = sessions
        self._limits = limits
        self._control = control
        self._names = limits["name_chars"]
        self._heard: Session | None = None  # the session of the call that runs, when somebody listens to it

    def call(self, peer: Peer, method: str, params: Params) -> Any:
        """The result of a method. Raises HarmonyMemError for every mistake of the caller; anything else is a fault.

        What the call made happen in a session that somebody listens to goes to control.notify(), also when it failed:
        a batch that could not be taken back has evicted, a prompt beyond its budget may have been condensed before.
        """
        entry = METHODS.get(method)
        if entry is None:
            raise SidecarError(_unknown("method", method, sorted(METHODS)), code="unknown_method")
        run, required, optional = entry
        check(method, params, required, optional, names=self._names)
        try:
            return run(self, peer, params)
        finally:
            if self._heard is not None:
                heard, self._heard = self._heard, None
                if heard.listeners:  # else it was closed just now
                    for name, news in heard.look():
                        self._control.notify(heard.listeners, name, news)

    def _session(self, peer: Peer, params: Params) -> Session:
        found = self._sessions.get(peer.namespace, params["user"], params["session"])
        if found.listeners:
            self._heard = found
        return found

    def _memory(self, peer: Peer, params: Params) -> Any:
        return self._session(peer, params).memory

    def _rewind(self, memory: Any, after_seq: int) -> None:
        """Messages go in and out of the window until it stands again: that is no news."""
        memory.rewind(after_seq)
        if self._heard is not None:
            self._heard.look()

    def left(self, peer: Peer) -> None:
        """The peer is gone."""
        self._sessions.forget(peer)

    # ------------------------------------------------------------------------------------------ the connection
    def hello(self, peer: Peer, params: Params) -> Any:
        if params["protocol"] != PROTOCOL:
            raise SidecarError(
                f"protocol {params['protocol']} is not spoken here; this sidecar speaks {PROTOCOL}", code="version"
            )
        return {
            "protocol": PROTOCOL,
            "server": f"harmony_mem {self._control.version}",
            "limits": self._limits,
            "features": FEATURES,
        }

    def ping(self, peer: Peer, params: Params) -> Any:
        return {}

    def shutdown(self, peer: Peer, params: Params) -> Any:
        self._privileged(peer, "shutdown")
        self._control.stop()
        return {}

    def stats(self, peer: Peer, params: Params) -> Any:
        user, session = params.get("user"), params.get("session")
        if user is not None and session is not None:
            return self._memory(peer, params).stats()
        if user is not None or session is not None:
            raise SidecarError("stats: give both user and session, or neither", code="bad_params")
        self._privileged(peer, "stats of the whole sidecar")
        return {
            "version": self._control.version,
            "pid": os.getpid(),
            "sessions": len(self._sessions),
            **self._control.counters(),
        }

    def _privileged(self, peer: Peer, what: str) -> None:
        if not peer.privileged:
            raise SidecarError(f"{what}: for the sidecar's own uid and root only", code="forbidden")

    # ------------------------------------------------------------------------------------------ one session
    def open(self, peer: Peer, params: Params) -> Any:
        found, created = self._sessions.open(
            peer.namespace,
            params["user"],
            params["session"],
            params.get("architecture"),
            params.get("options") or {},
        )
        memory = found.memory
        if params.get("notify") is not None:
            found.listen(peer, params["notify"])
        return {"created": created, "last_seq": memory.last_seq, "token_count": memory.stored_tokens}

    def configure(self, peer: Peer, params: Params) -> Any:
        found = self._session(peer, params)
        self._sessions.configure(found, params.get("architecture"), params.get("options") or {})
        return {"architecture": found.memory.architecture, "token_count": found.memory.stored_tokens}

    def add(self, peer: Peer, params: Params) -> Any:
        memory = self._memory(peer, params)
        before = memory.evicted_count
        seq = memory.add(
            params["message"], id=params.get("id"), time=params.get("time"), pinned=params.get("pinned") or False
        )
        return {"seq": seq, "token_count": memory.stored_tokens, "evicted": memory.evicted_count - before}

    def add_many(self, peer: Peer, params: Params) -> Any:
        memory = self._memory(peer, params)
        items = params["messages"]
        for index, item in enumerate(items):
            if type(item) is not dict:
                raise SidecarError(f"add_many: messages[{index}] must be a map with message", code="bad_params")
            check(f"add_many: messages[{index}]", item, _ITEM, _ITEM_OPTIONAL, names=self._names)
        before, last = memory.evicted_count, memory.last_seq
        seqs: list[int] = []
        for index, item in enumerate(items):
            try:
                seq = memory.add(
                    item["message"], id=item.get("id"), time=item.get("time"), pinned=item.get("pinned") or False
                )
            except Exception as error:
                # All or nothing: what the batch had stored is set aside again, its ids are free.
                if memory.last_seq > last:
                    self._take_back(memory, last, index, error)
                if isinstance(error, HarmonyMemError):
                    error.args = (f"messages[{index}]: {error}; nothing of the batch was stored",)
                raise
            seqs.append(seq)
        return {"seqs": seqs, "token_count": memory.stored_tokens, "evicted": memory.evicted_count - before}

    def _take_back(self, memory: Any, last: int, index: int, error: Exception) -> None:
        try:
            self._rewind(memory, last)
        except HistoryError:
            raise SidecarError(
                f"messages[{index}]: {error}; the {index} before it stay stored: what they evicted has left memory "
                "(option history_bytes)",
                code="history",
            ) from error

    def messages(self, peer: Peer, params: Params) -> Any:
        data, count, exact, parts = self._memory(peer, params).encoded_messages(
            params.get("query"), fixed_tokens=params.get("fixed_tokens")
        )
        return Encoded.map(
            {
                "messages": Encoded(data),
                "token_count": count,
                "exact": exact,
                "parts": [part.as_dict() for part in parts],
            }
        )

    def build_prompt(self, peer: Peer, params: Params) -> Any:
        memory = self._memory(peer, params)
        query, fixed = params.get("query"), params.get("fixed_tokens")
        text = memory.build_prompt(params.get("style") or "plain", query, fixed_tokens=fixed)
        return {"prompt": text, "token_count": memory.prompt(query, fixed_tokens=fixed).token_count}

    def recall(self, peer: Peer, params: Params) -> Any:
        memory = self._memory(peer, params)
        if not hasattr(memory, "recall"):
            raise SidecarError(
                f"recall: the session has the architecture {memory.architecture!r}, and only 'layered' recalls: change "
                "it with configure",
                code="bad_params",
            )
        return {"items": memory.recall(params["query"], params.get("k") or DEFAULT_RECALLED)}

    def rewind(self, peer: Peer, params: Params) -> Any:
        memory = self._memory(peer, params)
        self._rewind(memory, params["after_seq"])
        return {"token_count": memory.stored_tokens}

    def unpin(self, peer: Peer, params: Params) -> Any:
        memory = self._memory(peer, params)
        memory.unpin(params["seq"])
        return {"token_count": memory.stored_tokens}

    def close(self, peer: Peer, params: Params) -> Any:
        self._sessions.close(peer.namespace, params["user"], params["session"])
        return {}


_SESSION: dict[str, Kind] = {"user": NAME, "session": NAME}
_VIEW: dict[str, Kind] = {"query": TEXT, "fixed_tokens": COUNT}
_ITEM: dict[str, Kind] = {"message": MAP}
_ITEM_OPTIONAL: dict[str, Kind] = {"id": NAME, "time": TIME, "pinned": FLAG}
_SETTINGS: dict[str, Kind] = {"architecture": ARCHITECTURE, "options": MAP}

# name: (what it runs, required parameters, optional ones)
METHODS: dict[str, tuple[Callable[[Dispatcher, Peer, Params], Any], dict[str, Kind], dict[str, Kind]]] = {
    "hello": (Dispatcher.hello, {"protocol": COUNT}, {"client": TEXT, "token": TEXT}),
    "open": (Dispatcher.open, _SESSION, {**_SETTINGS, "notify": FLAG}),
    "add": (Dispatcher.add, {**_SESSION, **_ITEM}, _ITEM_OPTIONAL),
    "add_many": (Dispatcher.add_many, {**_SESSION, "messages": LIST}, {}),
    "messages": (Dispatcher.messages, _SESSION, _VIEW),
    "build_prompt": (Dispatcher.build_prompt, _SESSION, {**_VIEW, "style": STYLE}),
    "recall": (Dispatcher.recall, {**_SESSION, "query": TEXT}, {"k": HITS, "scope": SCOPE}),
    "rewind": (Dispatcher.rewind, {**_SESSION, "after_seq": COUNT}, {}),
    "unpin": (Dispatcher.unpin, {**_SESSION, "seq": COUNT}, {}),
    "configure": (Dispatcher.configure, _SESSION, _SETTINGS),
    "stats": (Dispatcher.stats, {}, _SESSION),
    "close": (Dispatcher.close, _SESSION, {}),
    "ping": (Dispatcher.ping, {}, {}),
    "shutdown": (Dispatcher.shutdown, {}, {}),
}
