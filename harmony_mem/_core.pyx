"""The one binding to the C core: text functions, and the message store as the base class of every window.

This module is the sole owner of C handles. Only `tokens` and `window` import it. It holds the two hot paths, `add` of a
plain message and `messages`; whatever is not plain is handed to the methods of the subclass in `window`, in Python.

Threads: one guard per window. The hot paths run without taking it, since between their last Python call and their end
nothing else can run; they only look whether another thread holds it.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_Copy
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF, Py_XINCREF, PyObject
from libc.stdint cimport INT64_MAX, UINT32_MAX, UINT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset
from posix.time cimport clock_gettime, timespec

from harmony_mem.chmem cimport *

import _thread

from .errors import ClosedError, CounterError, HistoryError, LimitError

cdef extern from "<time.h>":
    int CLOCK_REALTIME_COARSE

cdef extern from "Python.h":
    int PyDict_Next(object mapping, Py_ssize_t *position, PyObject **key, PyObject **value)
    int PyUnicode_KIND(object text)
    void *PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    Py_ssize_t PyDict_GET_SIZE(object mapping)
    PyObject *PyDict_GetItemWithError(object mapping, object key) except? NULL
    unsigned long PyThread_get_thread_ident()
    PyObject *PyObject_CallOneArg(object function, object argument)
    Py_ssize_t PyLong_AsSsize_t(object value) noexcept
    void PyErr_Clear()
    void Py_SET_SIZE(object sequence, Py_ssize_t size)
    ctypedef struct PyListObject:
        PyObject **ob_item
    int64_t PyLong_AsLongLongAndOverflow(object number, int *overflow)

# Flags and roles as window.* writes them.
JOIN = HM_JOIN
HIDDEN = HM_HIDDEN
PINNED = HM_PINNED
DEAD = HM_DEAD
HEAD = HM_HEAD
TURN_PINNED = HM_TURN_PINNED
ROLES = ("system", "user", "assistant", "tool")

cdef str K_ROLE = "role", K_CONTENT = "content"
cdef str R_SYSTEM = "system", R_USER = "user", R_ASSISTANT = "assistant"
cdef enum:
    COUNT_CALLABLE = 0
    COUNT_ESTIMATE = 1
    COUNT_HALF = 2
    MAX_LENGTH = 1 << 29  # characters; beyond it a weight is cut to 32 bits
    DICT_WEIGHT = 256  # bytes that a small dict and its str header take beside the characters


cdef int check(hm_status status, str doing) except -1:
    """The one table from the core's status to exceptions."""
    if status == HM_OK:
        return 0
    if status == HM_ENOMEM:
        raise MemoryError(f"{doing}: no memory")
    if status == HM_ELIMIT:
        raise LimitError(f"{doing}: the memory's byte limit would be passed (option limit_bytes), "
                         "or one message is 4 GiB or larger")
    if status == HM_ENOENT:
        raise HistoryError(f"{doing}: not in memory (never added, set aside, or dropped; option history_bytes)")
    raise SystemError(f"{doing}: the core refused its arguments (status {<int>status})")


# ---------------------------------------------------------------------------------------------------- text
def estimate(str text not None) -> int:
    """Estimated number of tokens of a text; see docs/token-counting.md for its error."""
    return hm_estimate(PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text), PyUnicode_KIND(text))


def has_surrogate(str text not None) -> bool:
    """True when the text holds a surrogate code point, which UTF-8 cannot carry."""
    return hm_has_surrogate(PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text), PyUnicode_KIND(text))


cdef size_t position_in(str text, position) except? 0:
    cdef Py_ssize_t at = position
    if at < 0 or at > PyUnicode_GET_LENGTH(text):
        raise ValueError(f"position {at} is outside 0..{len(text)}")
    return at


def grapheme_floor(str text not None, position) -> int:
    """The last grapheme cluster boundary (UAX #29) at or before `position`, an index into the text."""
    return hm_grapheme_floor(PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text), PyUnicode_KIND(text),
                             position_in(text, position))


def grapheme_ceil(str text not None, position) -> int:
    """The first grapheme cluster boundary (UAX #29) at or behind `position`, an index into the text."""
    return hm_grapheme_ceil(PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text), PyUnicode_KIND(text),
                            position_in(text, position))


# ---------------------------------------------------------------------------------------------------- guard
cdef class Guard:
    """A re-entrant lock that the hot paths can look at without taking it."""

    cdef object lock
    cdef unsigned long owner
    cdef int depth

    def __cinit__(self):
        self.lock = _thread.RLock()

    def __enter__(self):
        self.lock.acquire()
        self.owner = PyThread_get_thread_ident()
        self.depth += 1

    def __exit__(self, *exc):
        self.depth -= 1
        self.lock.release()

    cdef inline bint free_for_me(self):
        return self.depth == 0 or self.owner == PyThread_get_thread_ident()


# ---------------------------------------------------------------------------------------------------- window
cdef class WindowCore:
    """A message store with its marks and its counter. `window.Window` completes it; nobody makes one directly."""

    cdef hm_store *store
    cdef hm_policy policy
    cdef readonly Guard guard
    cdef int counting           # COUNT_...
    cdef object counter         # the callable, for COUNT_CALLABLE
    cdef uint32_t fingerprint
    cdef int64_t per_message
    cdef object clock           # a callable that gives ms since epoch, or None for the system's
    cdef public bint plain      # nothing asks for the slow path: no packing, no refusal of oversize messages
    cdef public bint decorated  # prompts carry more than the store's records: messages() is the subclass's
    cdef public object open_calls  # ids of calls that wait for a result: list of str, or None
    cdef hm_notice notice       # when to call _noticed after an add
    cdef bint watching
    cdef int64_t quiet_until    # ms since epoch by the system's clock: not before
    cdef PyObject **trash       # handles that the store let go; released once it is consistent again
    cdef size_t trash_count, trash_capacity

    def __cinit__(self, *args, **kwargs):
        cdef hm_store_config config
        self.guard = Guard()
        config.allocator = hm_default_allocator
        config.limit_bytes = config.history_bytes = 0
        config.release = release_host
        config.release_context = <void *>self
        check(hm_store_open(&config, &self.store), "opening a memory")
        self.policy = hm_policy(UINT64_MAX, 0, 0, UINT64_MAX, UINT64_MAX, 0)

    def __dealloc__(self):
        hm_store_close(self.store)
        self.store = NULL
        self.empty_trash()
        free(self.trash)

    cdef int alive(self) except -1:
        if self.store is NULL:
            raise ClosedError("this memory was closed")
        return 0

    cdef void empty_trash(self) noexcept:
        # Releasing may run any code, this memory's own methods included: take each handle out before it goes.
        cdef PyObject *item
        while self.trash_count:
            self.trash_count -= 1
            item = self.trash[self.trash_count]
            Py_XDECREF(item)

    cdef Py_ssize_t count_text(self, str text) except -1:
        cdef Py_ssize_t length = PyUnicode_GET_LENGTH(text)
        if self.counting == COUNT_ESTIMATE:
            return <Py_ssize_t>hm_estimate(PyUnicode_DATA(text), length, PyUnicode_KIND(text))
        if self.counting == COUNT_HALF:
            return (length + 9) // 2
        return checked_count(self.counter, text)

    # ------------------------------------------------------------------------------------------------ hot paths
    def add(self, message, *, id=None, time=None, pinned=False):
        """Adds one OpenAI-format message and returns its seq.

        `id` is the caller's own name for it: adding the same id again is a no-op that returns the first seq, and raises
        IdConflictError when the content differs. `time` is ms since epoch, UTC (default: the clock). `pinned=True`
        keeps its group in every prompt until unpin(seq). Never waits for a model. The dict is copied, one level deep.

        Raises MessageError, OversizeError, IdConflictError, CounterError, LimitError, ClosedError; nothing is stored then.
        """
        cdef PyObject *role = NULL
        cdef PyObject *content = NULL
        cdef Py_ssize_t tokens, length
        cdef int width
        cdef int64_t now
        cdef int overflow = 0
        cdef hm_message m
        cdef hm_status status
        cdef uint64_t seq
        if (self.plain and id is None and pinned is False and type(message) is dict
                and PyDict_GET_SIZE(message) == 2 and (time is None or type(time) is int)):
            # What is read, counted and kept is the copy: whatever code runs meanwhile has no hold on it.
            copied = PyDict_Copy(message)
            find_plain(copied, &role, &content)
            m.role = plain_role(role)
            if m.role != HM_TOOL and content is not NULL and type(<object>content) is str:
                length = PyUnicode_GET_LENGTH(<object>content)
                width = PyUnicode_KIND(<object>content)
                if width == 1 or not hm_has_surrogate(PyUnicode_DATA(<object>content), length, width):
                    if self.counting == COUNT_ESTIMATE:
                        tokens = <Py_ssize_t>hm_estimate(PyUnicode_DATA(<object>content), length, width)
                    elif self.counting == COUNT_HALF:
                        tokens = (length + 9) >> 1
                    else:
                        tokens = checked_count(self.counter, <object>content)
                    tokens += self.per_message
                    if time is not None:
                        now = PyLong_AsLongLongAndOverflow(time, &overflow)
                    elif self.clock is None:
                        now = system_ms()
                    else:
                        now = self.now()
                    # From here on no Python code runs until the store is settled.
                    if (self.store is not NULL and self.open_calls is None and self.guard.free_for_me()
                            and tokens <= <Py_ssize_t>UINT32_MAX and now >= 0):  # -1: too large
                        m.time = now
                        m.bytes = NULL
                        m.length = 0
                        m.host = <void *>copied
                        m.weight = <uint32_t>(length * width + DICT_WEIGHT) if length < MAX_LENGTH else UINT32_MAX
                        m.tokens = <uint32_t>tokens
                        m.fingerprint = self.fingerprint
                        m.flags = 0
                        status = hm_store_append(self.store, &m, &seq)
                        if status != HM_OK:
                            check(status, "add")
                        Py_INCREF(copied)
                        hm_store_settle(self.store, &self.policy)
                        if self.trash_count:
                            self.empty_trash()
                        if self.watching:
                            self.look()
                        return seq
        return self._add(message, id, time, pinned)

    cdef int look(self) except -1:
        if hm_store_exceeds(self.store, &self.notice) and (self.clock is not None or system_ms() >= self.quiet_until):
            self._noticed()
        return 0

    def messages(self, query=None, *, fixed_tokens=None, copy=True):
        """The prompt as a list of OpenAI-format dicts, ready to send, within the budget. Asking changes nothing.

        `query` is for memories that recall; `fixed_tokens` is the cost of tool schemas and the like for this call alone.
        The dicts are copies, one level deep; with copy=False they are the memory's own, to be read only, which is
        several times faster. Raises BudgetError, ClosedError.
        """
        cdef hm_view view
        if not self.decorated and fixed_tokens is None and self.guard.free_for_me():
            self.alive()
            view = hm_store_view(self.store, &self.policy)
            if view.fits and self.plain and (out := self.list_messages(&view, copy)) is not None:
                return out
        return self._messages(query, fixed_tokens, copy)

    cdef list list_messages(self, hm_view *view, bint copy):
        """The view's dicts, or None when a repaired call is among them, whose shown form the subclass has."""
        cdef Py_ssize_t i, count
        cdef PyObject **items
        cdef list out = PyList_New(<Py_ssize_t>view.most)
        # No copy before the list is whole: making one may run the garbage collector, and that any code.
        items = (<PyListObject *>out).ob_item
        count = <Py_ssize_t>hm_store_hosts(self.store, view, <void **>items)
        if count < 0:  # SIZE_MAX
            Py_SET_SIZE(out, 0)
            return None
        for i in range(count):
            Py_XINCREF(items[i])  # takes the pointer as it is; Py_INCREF would hold each dict a second time
        Py_SET_SIZE(out, count)
        return [PyDict_Copy(m) for m in out] if copy else out

    # ------------------------------------------------------------------------------------------------ for window.py
    cdef int64_t now(self) except? -1:
        if self.clock is None:
            return system_ms()
        return int(self.clock())

    def _now(self):
        return self.now()

    def _count(self, str text not None):
        return self.count_text(text)

    def _set_counter(self, str native, counter, uint32_t fingerprint, int64_t per_message):
        """`native` names a counter in C ("estimate", "chars/2"); None calls `counter`."""
        self.counting = {"estimate": COUNT_ESTIMATE, "chars/2": COUNT_HALF, None: COUNT_CALLABLE}[native]
        self.counter = counter
        self.fingerprint = fingerprint
        self.per_message = per_message

    def _set_clock(self, clock):
        self.clock = clock

    def _set_policy(self, high, overlap, fixed, max_messages, max_turns, slack=0):
        self.policy = hm_policy(high, overlap, fixed, UINT64_MAX if max_messages is None else max_messages,
                                UINT64_MAX if max_turns is None else max_turns, slack)

    def _set_limits(self, size_t limit_bytes, size_t history_bytes):
        self.alive()
        hm_store_set_limits(self.store, limit_bytes, history_bytes)

    def _append(self, dict message not None, int role, unsigned flags, tokens, time, bytes packed, weight):
        """Appends and settles. With `packed` the store keeps these bytes, else the dict itself."""
        cdef hm_message m
        cdef uint64_t seq
        self.alive()
        if tokens > UINT32_MAX:
            raise LimitError(f"add: the message costs {tokens} tokens; at most {UINT32_MAX} are allowed")
        m.time = time
        m.bytes = NULL
        m.length = 0
        m.host = NULL
        if packed is None:
            m.host = <void *>message
        else:
            m.bytes = PyBytes_AS_STRING(packed)
            m.length = len(packed)
        m.weight = min(weight, UINT32_MAX)
        m.tokens = tokens
        m.fingerprint = self.fingerprint
        m.role = <hm_role>role
        m.flags = flags
        check(hm_store_append(self.store, &m, &seq), "add")
        if packed is None:
            Py_INCREF(message)
        hm_store_settle(self.store, &self.policy)
        self.empty_trash()
        return seq

    def _settle(self):
        self.alive()
        hm_store_settle(self.store, &self.policy)
        self.empty_trash()

    def _watch(self, recent_tokens, recent_messages, evicted, int64_t quiet_until):
        """Calls _noticed() after an add that passes one of these limits; None = no limit, all None = never."""
        self.notice.recent_tokens = UINT64_MAX if recent_tokens is None else recent_tokens
        self.notice.recent_messages = UINT64_MAX if recent_messages is None else recent_messages
        self.notice.evicted_records = UINT64_MAX if evicted is None else evicted
        self.quiet_until = quiet_until
        self.watching = not (recent_tokens is None and recent_messages is None and evicted is None)

    def _look(self):
        if self.watching and self.store is not NULL:
            self.look()

    def _advance(self, uint64_t seq):
        self.alive()
        check(hm_store_advance(self.store, seq), f"message {seq}")
        hm_store_settle(self.store, &self.policy)
        self.empty_trash()

    def _hold(self, uint64_t seq):
        self.alive()
        hm_store_hold(self.store, seq)

    def _refill(self):
        self.alive()
        hm_store_refill(self.store, &self.policy)
        self.empty_trash()

    def _set_cost(self, uint64_t seq, tokens, unsigned flags):
        self.alive()
        if tokens > UINT32_MAX:
            raise LimitError(f"message {seq} costs {tokens} tokens; at most {UINT32_MAX} are allowed")
        check(hm_store_set_cost(self.store, seq, tokens, self.fingerprint, flags), f"message {seq}")
        self.empty_trash()

    def _pin(self, uint64_t seq, bint pinned):
        self.alive()
        check(hm_store_pin(self.store, seq, pinned), f"message {seq}")
        self.empty_trash()

    def _rewind(self, uint64_t after_seq):
        self.alive()
        check(hm_store_rewind(self.store, after_seq), f"rewind to {after_seq}")
        self.empty_trash()

    def _clear(self):
        self.alive()
        hm_store_clear(self.store)
        self.empty_trash()

    def _trim(self):
        self.alive()
        check(hm_store_trim(self.store), "trim")

    def _close(self):
        hm_store_close(self.store)
        self.store = NULL
        self.empty_trash()

    @property
    def closed(self):
        """True after close()."""
        return self.store is NULL

    def _totals(self):
        cdef hm_totals t
        self.alive()
        hm_store_totals(self.store, &t)
        return t

    def _last_seq(self):
        cdef hm_totals t
        self.alive()
        hm_store_totals(self.store, &t)
        return t.last_seq

    def _evicted_count(self):
        cdef hm_totals t
        self.alive()
        hm_store_totals(self.store, &t)
        return t.evicted_records

    def _stored_tokens(self):
        cdef hm_totals t
        self.alive()
        hm_store_totals(self.store, &t)
        return self.policy.fixed + t.head_tokens + t.kept_tokens + t.window_tokens

    def _view_tokens(self):
        """Cost of the prompt when it needs no shortening, else None."""
        self.alive()
        cdef hm_view view = hm_store_view(self.store, &self.policy)
        return view.tokens if view.fits else None

    cdef tuple entry(self, const hm_record *r):
        return (r.seq, r.role, r.flags, r.tokens, r.time, r.fingerprint, r.start_seq)

    def _entries(self, fixed, high):
        """(tokens, entries) of a view with another fixed cost and high mark; see `entry` for the tuples."""
        cdef hm_policy policy = self.policy
        cdef hm_view view
        cdef uint64_t cursor = 0
        cdef const hm_record *r
        self.alive()
        policy.fixed = fixed
        policy.high = high
        policy.overlap = policy.slack = 0
        view = hm_store_view(self.store, &policy)
        out = []
        while True:
            r = hm_store_next(self.store, &view, &cursor)
            if r is NULL:
                return view.tokens, out
            out.append(self.entry(r))

    def _lines(self, fixed, high):
        """What a view with another fixed cost and high mark shows, added up: for head, pinned, anchor and window
        (messages, tokens, first seq, last seq)."""
        cdef hm_policy policy = self.policy
        cdef hm_view view
        cdef uint64_t cursor = 0
        cdef uint64_t sums[4][4]
        cdef const hm_record *r
        cdef hm_totals t
        cdef int kind
        self.alive()
        policy.fixed = fixed
        policy.high = high
        policy.overlap = policy.slack = 0
        view = hm_store_view(self.store, &policy)
        hm_store_totals(self.store, &t)
        memset(sums, 0, sizeof(sums))
        while True:
            r = hm_store_next(self.store, &view, &cursor)
            if r is NULL:
                break
            if r.flags & HM_HEAD:
                kind = 0
            elif t.start_seq and r.seq >= t.start_seq:
                kind = 3
            elif r.flags & (HM_PINNED | HM_TURN_PINNED):
                kind = 1
            else:
                kind = 2
            if not sums[kind][0]:
                sums[kind][2] = r.seq
            sums[kind][0] += 1
            sums[kind][1] += r.tokens
            sums[kind][3] = r.seq
        return [(sums[kind][0], sums[kind][1], sums[kind][2], sums[kind][3]) for kind in range(4)]

    def _find(self, uint64_t seq):
        """The entry of one message, or None."""
        self.alive()
        cdef const hm_record *r = hm_store_find(self.store, seq)
        return None if r is NULL else self.entry(r)

    def _from(self, uint64_t seq, uint64_t before=UINT64_MAX):
        """Entries of all messages in the ring from `seq` on, those from `before` on left out, hidden ones included."""
        cdef const hm_record *r
        self.alive()
        out = []
        while True:
            r = hm_store_from(self.store, seq)
            if r is NULL or r.seq >= before:
                return out
            out.append(self.entry(r))
            seq = r.seq + 1

    def _load(self, uint64_t seq):
        """The message as it was added: the dict itself (read only), or its packed bytes."""
        self.alive()
        cdef const hm_record *r = hm_store_find(self.store, seq)
        if r is NULL:
            check(HM_ENOENT, f"message {seq}")
        if r.host is not NULL:
            return <object>r.host
        return PyBytes_FromStringAndSize(<const char *>hm_store_bytes(self.store, r), r.length)

    def _gather(self):
        """The prompt's messages as one MessagePack array of the stored bytes; None when it needs more than that
        (shortened texts, repaired calls, decoration)."""
        cdef hm_view view
        cdef size_t count, size
        cdef uint8_t *out
        self.alive()
        view = hm_store_view(self.store, &self.policy)
        if not view.fits or self.decorated:
            return None
        count = hm_store_packed(self.store, &view, &size)
        if count > UINT32_MAX:  # SIZE_MAX included: a repaired call
            return None
        packed = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>size + 5)
        out = <uint8_t *>PyBytes_AS_STRING(packed)
        out[0] = 0xDD  # array 32
        out[1] = <uint8_t>(count >> 24)
        out[2] = <uint8_t>(count >> 16)
        out[3] = <uint8_t>(count >> 8)
        out[4] = <uint8_t>count
        hm_store_gather(self.store, &view, out + 5)
        return packed


cdef void release_host(void *context, void *host) noexcept:
    """The store lets a handle go. Its dict is released later: releasing may run code that calls into this store."""
    cdef WindowCore self = <WindowCore>context
    cdef size_t capacity
    cdef PyObject **grown
    if self.trash_count == self.trash_capacity:
        capacity = self.trash_capacity * 2 if self.trash_capacity else 64
        grown = <PyObject **>realloc(self.trash, capacity * sizeof(PyObject *))
        if grown is NULL:
            return  # out of memory: the dict stays alive rather than being freed at the wrong moment
        self.trash = grown
        self.trash_capacity = capacity
    self.trash[self.trash_count] = <PyObject *>host
    self.trash_count += 1


cdef inline int find_plain(message, PyObject **role, PyObject **content) except -1:
    """The values of the two keys of a plain message: by identity where the keys are interned, else by looking them up."""
    cdef Py_ssize_t at = 0
    cdef PyObject *key
    cdef PyObject *value
    while PyDict_Next(message, &at, &key, &value):
        if key is <PyObject *>K_ROLE:
            role[0] = value
        elif key is <PyObject *>K_CONTENT:
            content[0] = value
        else:
            role[0] = PyDict_GetItemWithError(message, K_ROLE)
            content[0] = PyDict_GetItemWithError(message, K_CONTENT)
            break
    return 0


cdef inline int64_t system_ms() noexcept:
    """ms since epoch. The coarse clock costs a fifth of the fine one and lags by one tick of the kernel, 1 to 10 ms."""
    cdef timespec ts
    clock_gettime(CLOCK_REALTIME_COARSE, &ts)
    return <int64_t>ts.tv_sec * 1000 + <int64_t>(<uint32_t>ts.tv_nsec // <uint32_t>1000000)


cdef inline hm_role plain_role(PyObject *role) noexcept:
    """The role of a plain message; HM_TOOL for everything that is not plain, results included. By identity where the
    caller's text is a constant, by comparison where it came out of JSON."""
    if role is <PyObject *>R_USER:
        return HM_USER
    if role is <PyObject *>R_ASSISTANT:
        return HM_ASSISTANT
    if role is <PyObject *>R_SYSTEM:
        return HM_SYSTEM
    if role is NULL or type(<object>role) is not str:
        return HM_TOOL
    if <str>role == R_USER:
        return HM_USER
    if <str>role == R_ASSISTANT:
        return HM_ASSISTANT
    return HM_SYSTEM if <str>role == R_SYSTEM else HM_TOOL


cdef Py_ssize_t checked_count(counter, str text) except -1:
    """counter(text). The error paths are apart, so that nothing is set up for them where a plain int comes back."""
    cdef PyObject *raw = PyObject_CallOneArg(counter, text)
    cdef Py_ssize_t count
    if raw is NULL:
        counter_raised(counter)
    got = <object>raw
    Py_DECREF(got)
    if type(got) is int:
        count = PyLong_AsSsize_t(got)
        if 0 <= count <= INT64_MAX // 4:
            return count
        PyErr_Clear()  # larger than 64 bits
    return odd_count(counter, got)


cdef int pending_error() except -1:
    return -1  # the error is the one that the failed call has set


cdef int counter_raised(counter) except -1:
    try:
        pending_error()
    except Exception as error:
        raise CounterError(f"the token counter {name_of(counter)} raised {type(error).__name__}: {error}") from error
    return 0


cdef Py_ssize_t odd_count(counter, got) except -1:
    """A count that is no plain int in range: what has __index__ may still be one."""
    if type(got) is not int:
        try:
            got = got.__index__()
        except AttributeError:
            raise CounterError(f"the token counter {name_of(counter)} returned {got!r}; "
                               "a non-negative int is expected") from None
    if got < 0 or got > INT64_MAX // 4:
        raise CounterError(f"the token counter {name_of(counter)} returned {got}; a non-negative int is expected")
    return got


def checked(counter, str text not None) -> int:
    """counter(text), or CounterError when it raises or returns no count."""
    return checked_count(counter, text)


cdef str name_of(counter):
    return repr(getattr(counter, "__qualname__", None) or type(counter).__name__)
