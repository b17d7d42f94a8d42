/* hmem.h - the C core of harmony_mem: a message store for conversations, token estimates, grapheme boundaries.
 *
 * The only public header. C11, no Python, no stdio, no locale, no global state. Nothing here locks: a store belongs to
 * one thread at a time; the text functions are pure and may run anywhere.
 *
 * Words. A *record* is one message with its cached token count. A *group* is a run of records that stand or fall
 * together (a call and its results); a record appended with HM_JOIN belongs to the group before it. A *turn* is a user
 * record and all that follows up to the next user record. The *window* is the run of newest records that a prompt shows
 * word for word. The *anchor* is the newest user record. A *position* is private to the store; callers name records by
 * seq, which grows by one per append and is never used again.
 *
 * Ownership. The store copies the bytes that it is given. A `host` handle is an opaque pointer that it keeps for the
 * caller and gives back exactly once, through hm_store_config.release, when the record leaves memory.
 */
#ifndef HMEM_H
#define HMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Results. The numbers are part of the interface: none is ever reused. */
typedef enum hm_status {
    HM_OK = 0,
    HM_ENOMEM = 1, /* an allocation failed; the store is as it was before the call */
    HM_EINVAL = 2, /* an argument is outside its documented range */
    HM_ELIMIT = 3, /* the store's byte limit, or a 32-bit size, would be passed */
    HM_ENOENT = 4, /* no record with that seq is in memory */
} hm_status;

/* ------------------------------------------------------------------------------------------------ allocator
 * Every allocation of a store goes through the allocator it was made with. `size` and `old_size` are always what was
 * asked for, so that an allocator can count without headers. alloc may return NULL; release is never given NULL. */
typedef struct hm_allocator {
    void *(*alloc)(void *context, size_t size);
    void (*release)(void *context, void *block, size_t size);
    void *context;
} hm_allocator;

/* malloc and free. */
extern const hm_allocator hm_default_allocator;

/* ------------------------------------------------------------------------------------------------ records */
typedef enum hm_role { HM_SYSTEM = 0, HM_USER = 1, HM_ASSISTANT = 2, HM_TOOL = 3 } hm_role;

enum {
    /* given to hm_store_append */
    HM_JOIN = 1u << 0,   /* belongs to the newest group */
    HM_HIDDEN = 1u << 1, /* numbered and kept, never shown: costs nothing (a result that no call waits for) */
    HM_PINNED = 1u << 2, /* its group never leaves; the user record of its turn stays with it */
    /* kept by the store or set through hm_store_set_cost */
    HM_DEAD = 1u << 3,       /* a call that is no longer open: the host shows it in another form */
    HM_HEAD = 1u << 4,       /* a leading system record */
    HM_TURN_PINNED = 1u << 5 /* a user record that stays because a group of its turn is pinned */
};

/* What the store keeps for one message: 64 bytes beside its content. Read-only for callers; a pointer to a record is
 * good until the next call that changes the store. */
typedef struct hm_record {
    uint64_t seq;
    int64_t time;         /* ms since epoch, UTC; carried, never compared */
    uint64_t start_seq;   /* first record of the window just after this one was settled */
    void *host;           /* the caller's handle, or NULL */
    size_t offset;        /* private: where the content lies */
    uint32_t length;      /* bytes of content */
    uint32_t weight;      /* bytes that the handle keeps alive elsewhere, as the caller estimates them */
    uint32_t tokens;      /* cost as shown */
    uint32_t fingerprint; /* of the counter that made `tokens` */
    uint32_t turn;        /* seq minus the seq of the turn's user record; 0 on that record itself */
    uint8_t role;         /* hm_role */
    uint8_t flags;        /* HM_... above */
    uint8_t in_turn;      /* 0: before the session's first user record */
    uint8_t where;        /* private: kept apart, moved out of the ring */
} hm_record;

/* What hm_store_append takes. */
typedef struct hm_message {
    int64_t time;
    const void *bytes; /* may be NULL when length is 0 */
    size_t length;
    void *host;
    uint32_t weight;
    uint32_t tokens;
    uint32_t fingerprint;
    hm_role role;
    unsigned flags; /* HM_JOIN, HM_HIDDEN, HM_PINNED */
} hm_message;

/* ------------------------------------------------------------------------------------------------ the store */
typedef struct hm_store hm_store;

typedef struct hm_store_config {
    hm_allocator allocator;
    size_t limit_bytes;   /* allocated bytes stay within this (a block on the move counts once); 0 = no limit */
    size_t history_bytes; /* what left the window is kept, oldest dropped first, while it weighs no more than this */
    void (*release)(void *context, void *host); /* may be NULL; must not call into the store */
    void *release_context;
} hm_store_config;

/* The marks of an eviction. Costs are tokens. A prompt costs fixed + head + pinned + anchor + window. */
typedef struct hm_policy {
    uint64_t high;         /* eviction starts above this */
    uint64_t overlap;      /* and goes on down to high - overlap, but gives up at most half of the room that is not
                              taken by fixed, head and pinned records */
    uint64_t fixed;        /* in every prompt, whatever it shows */
    uint64_t max_messages; /* shown records, head and pinned ones apart; UINT64_MAX = any */
    uint64_t max_turns;    /* UINT64_MAX = any */
    uint64_t slack;        /* rounds of the newest turn go only above high + slack; 0 = as older turns */
} hm_policy;

/* A prompt, as a range over a store: the records that stand apart, then the window from `first`. */
typedef struct hm_view {
    uint64_t first;  /* private: position of the first window record */
    uint64_t without; /* private: seq of a record kept apart that this view leaves out, or 0 */
    uint64_t tokens; /* policy->fixed included */
    size_t most;     /* it shows no more records than this */
    size_t piece, piece_length; /* private: where the window's contents lie when they lie in one piece, else SIZE_MAX */
    bool fits;       /* tokens <= the budget it was planned for */
} hm_view;

typedef struct hm_totals {
    uint64_t head_tokens, head_records;
    uint64_t kept_tokens, kept_records;     /* apart from the ring and older than the window: pinned, anchor */
    uint64_t window_tokens, window_records; /* shown records of the window */
    uint64_t pinned_tokens;                 /* of kept and window: what is pinned or stays for a pinned group */
    uint64_t messages, turns;               /* as hm_policy counts them */
    uint64_t evicted_records, evicted_tokens; /* since the store was made */
    uint64_t outside_records, outside_tokens; /* of the session's messages, those that are out of the window now */
    uint64_t dropped_records;                 /* left memory for good */
    uint64_t history_records, history_bytes;  /* evicted and still here */
    uint64_t last_seq;                        /* of the newest append ever; 0 before the first */
    uint64_t anchor_seq, newest_seq;          /* newest user record; first record of the newest shown group; 0 = none */
    uint64_t first_seq;                       /* oldest record still in memory, head and kept ones apart; 0 = none */
    uint64_t start_seq;                       /* first record of the window; 0 = empty */
    uint64_t bytes;                           /* allocated now */
    uint64_t reuse_count;                     /* appends that had a prompt before them */
    double reuse_share;                       /* mean share of a prompt that lies in the common start with the one before */
} hm_totals;

/* Makes an empty store.
 * owns: the caller, until hm_store_close. fails: HM_ENOMEM, HM_EINVAL (no allocator), HM_ELIMIT; *out is NULL then. */
hm_status hm_store_open(const hm_store_config *config, hm_store **out);

/* Releases every handle and all memory. NULL is allowed. */
void hm_store_close(hm_store *store);

/* Appends one message behind the newest one; *seq is its number.
 * A system record before any other record joins the head. A shown user record becomes the anchor; the first one of a
 * session takes what precedes it (system records apart) out of the window. O(1) amortised; no allocation while the
 * store's size is steady. The policy is not applied here: call hm_store_settle.
 * owns: takes over `host` on HM_OK only. fails: HM_ENOMEM, HM_ELIMIT, HM_EINVAL (HM_JOIN with no group); unchanged,
 * except that at the byte limit history may have been dropped to make room. */
hm_status hm_store_append(hm_store *store, const hm_message *message, uint64_t *seq);

/* Evicts down to the low mark when the prompt is above the high mark: older turns first, each whole (the one before
 * the newest only down to the high mark), then the oldest groups of the newest turn; the anchor and the newest group stay. Then drops history beyond history_bytes.
 * Returns the number of shown records that left the window. O(1) each; never fails, and allocates only to copy what stands
 * apart out of history that is dropped. */
uint64_t hm_store_settle(hm_store *store, const hm_policy *policy);

/* Extends the window backwards over what is still in memory, whole turns, while the prompt stays within
 * high - overlap (and the other marks), then settles. For a budget that grew. Never fails. */
void hm_store_refill(hm_store *store, const hm_policy *policy);

/* Moves the window's start forward to the record `seq`, which opens a group of the window: what stands before it has been
 * condensed elsewhere and leaves as by eviction; pinned groups, the anchor, and the user record of a turn that is cut stay.
 * fails: HM_ENOENT (not in the window), HM_EINVAL (opens no group, or lies behind the newest group's begin); unchanged. */
hm_status hm_store_advance(hm_store *store, uint64_t seq);

/* Records from `seq` on are not dropped for history_bytes (at the byte limit they still are); 0 = none are held. */
void hm_store_hold(hm_store *store, uint64_t seq);

/* When hm_store_exceeds says yes: the recent part (kept and window, pinned records apart) is above a limit, or so many
 * records have been evicted since the store was made. UINT64_MAX = never. */
typedef struct hm_notice {
    uint64_t recent_tokens, recent_messages, evicted_records;
} hm_notice;
bool hm_store_exceeds(const hm_store *store, const hm_notice *notice);

/* Plans a prompt for another budget without changing anything. */
hm_view hm_store_view(const hm_store *store, const hm_policy *policy);

/* The shown records of a view in prompt order. Start with *cursor = 0; NULL after the last one. */
const hm_record *hm_store_next(const hm_store *store, const hm_view *view, uint64_t *cursor);

/* The record with this seq, or NULL. O(log n). */
const hm_record *hm_store_find(const hm_store *store, uint64_t seq);

/* The oldest record in memory whose seq is >= seq and that is in the ring (shown or not), or NULL. O(log n). */
const hm_record *hm_store_from(const hm_store *store, uint64_t seq);

/* The content of a record; valid until the next call that changes the store. */
const uint8_t *hm_store_bytes(const hm_store *store, const hm_record *record);

/* The handles of a view's records in prompt order into `out`, which has room for view->most; returns how many. SIZE_MAX
 * when one of them is HM_DEAD or has no handle: what `out` holds means nothing then. */
size_t hm_store_hosts(const hm_store *store, const hm_view *view, void **out);

/* How many records a view shows, and in *bytes the sum of their content lengths. SIZE_MAX when one of them is HM_DEAD or has
 * a handle: its content is not what the prompt shows. A hm_store_gather of the same view is faster after it. */
size_t hm_store_packed(const hm_store *store, hm_view *view, size_t *bytes);

/* Sum of the content lengths of a view, and the contents one after the other into `out`, which has room for them. */
size_t hm_store_gather_size(const hm_store *store, const hm_view *view);
void hm_store_gather(const hm_store *store, const hm_view *view, uint8_t *out);

/* Gives a record another cost and sets or clears HM_DEAD and HM_HIDDEN (flags outside these are ignored).
 * fails: HM_ENOENT, also when the user record that would have to stand before a record shown again has left memory. */
hm_status hm_store_set_cost(hm_store *store, uint64_t seq, uint32_t tokens, uint32_t fingerprint, unsigned flags);

/* Pins or unpins the group of a record, and with it the user record of its turn. Unpinning what is older than the
 * window evicts it. fails: HM_ENOENT (also when a part of what would stay has left memory), HM_EINVAL (head record),
 * HM_ENOMEM, HM_ELIMIT; unchanged. */
hm_status hm_store_pin(hm_store *store, uint64_t seq, bool pinned);

/* Sets aside every record with a seq greater than `after_seq`; the window goes back to where it stood then, as far as
 * the records are still in memory. Seqs are not reused. Handles of what is set aside are released.
 * fails: HM_ENOENT when the records that the prompt would need then are no longer in memory; unchanged. */
hm_status hm_store_rewind(hm_store *store, uint64_t after_seq);

/* Lets everything go; numbering goes on. */
void hm_store_clear(hm_store *store);

/* Gives unused capacity back. fails: HM_ENOMEM; unchanged. */
hm_status hm_store_trim(hm_store *store);

/* Other limits from now on; they act at the next append or settle. */
void hm_store_set_limits(hm_store *store, size_t limit_bytes, size_t history_bytes);

void hm_store_totals(const hm_store *store, hm_totals *out);

/* ------------------------------------------------------------------------------------------------ text
 * Text comes as code points in units of `width` bytes, native order: 1 (Latin-1), 2 (UCS-2: no surrogate pairs) or 4 -
 * the forms that a Python str has in memory, so that nothing is transcoded. Pure functions; any input is allowed. */

/* A deterministic estimate of the tokens that a modern byte-level BPE vocabulary makes of the text: no vocabulary, no
 * memory, one pass. Never 0 for a text that is not empty. docs/token-counting.md states its measured error. */
size_t hm_estimate(const void *text, size_t length, unsigned width);

/* The greatest extended grapheme cluster boundary (UAX #29) at or before `position`, and the least one at or behind it;
 * position <= length. */
size_t hm_grapheme_floor(const void *text, size_t length, unsigned width, size_t position);
size_t hm_grapheme_ceil(const void *text, size_t length, unsigned width, size_t position);

/* True when the text holds a surrogate code point, which no UTF-8 can carry. */
bool hm_has_surrogate(const void *text, size_t length, unsigned width);

#ifdef __cplusplus
}
#endif
#endif
