/* store_internal.h - what the files of the message store share. Not for callers: see hmem.h.
 *
 * Layout. Records stand in a ring of a power-of-two capacity and are named by a position that only grows; the slot is
 * position & mask. The ring holds [base, start) = history, [start, end) = window. Contents lie in one byte arena, in the
 * same order, each in one piece. What must outlive the window (head, pinned groups, the anchor of a long turn) is listed
 * in `kept`, ordered by seq: an entry points into the ring while its record is still there, and owns a copy once the
 * record has been dropped from the ring.
 *
 *        base          start                      end
 *         |  history    |        window            |
 *   ring  [ r r K r r r | r r r r r r r r r r r r  ]
 *   kept  [ head | K ]
 */
#ifndef HMEM_STORE_INTERNAL_H
#define HMEM_STORE_INTERNAL_H

#include "hmem.h"

#define HM_NONE UINT64_MAX
#define HM_RECORD_WEIGHT sizeof(hm_record)

enum { HM_IN_RING = 0, HM_LISTED = 1, HM_OWNED = 2 }; /* hm_record.where */

typedef struct hm_kept {
    hm_record record; /* first member: hm_store_bytes goes from the record to the entry; truth when owned */
    uint8_t *bytes;   /* owned copy of the content, or NULL */
    uint64_t position; /* in the ring, while listed only */
} hm_kept;

struct hm_store {
    hm_store_config config;

    hm_record *ring;
    size_t ring_capacity; /* 0 or a power of two */
    uint64_t base, start, end;

    uint8_t *arena;
    size_t arena_capacity, arena_head, arena_tail; /* tail < head: the contents wrap round */
    size_t arena_live;                             /* bytes of content */

    hm_kept *kept;
    size_t kept_count, kept_capacity, head_count;
    size_t protected_in_ring; /* ring records flagged HM_PINNED or HM_TURN_PINNED: room for them is reserved in kept */

    uint64_t last_seq;
    uint64_t hold_seq;          /* records from here on are not dropped for history_bytes; HM_NONE = all may be */
    uint64_t first_dropped_seq; /* oldest record that left memory and is not part of the head; 0 = none */
    uint64_t anchor_seq, anchor_pos; /* anchor_pos is HM_NONE when there is none or it is owned by kept */
    uint64_t partial_seq;            /* user record of the window's first turn when the window starts inside that (older)
                                        turn: it stands apart and leaves with the rest of the turn; 0 = none */
    uint64_t newest_pos;             /* first record of the newest shown group, or HM_NONE */

    hm_totals totals;
    uint64_t gone_records, gone_tokens; /* part of totals.outside_*: evicted and then dropped from memory */
    uint64_t stable_tokens; /* of the last settled prompt, from its start, without `fixed`: still the same */
    bool appended, had_prompt;
};

static inline hm_record *hm_at(const hm_store *s, uint64_t position)
{
    return &s->ring[position & (s->ring_capacity - 1)];
}

static inline bool hm_shown(const hm_record *r) { return !(r->flags & HM_HIDDEN); }
static inline bool hm_is_pinned(const hm_record *r) { return (r->flags & (HM_PINNED | HM_TURN_PINNED)) != 0; }
static inline bool hm_opens_turn(const hm_record *r) { return r->role == HM_USER && hm_shown(r); }
static inline bool hm_opens_group(const hm_record *r) { return hm_shown(r) && !(r->flags & HM_JOIN); }

/* Stays in the prompt when the window has moved past it. What precedes the first user record does not (but for system
 * records): a prompt starts with a user message. */
static inline bool hm_protected(const hm_store *s, const hm_record *r)
{
    if (r->seq == s->anchor_seq || r->seq == s->partial_seq)
        return true;
    return hm_is_pinned(r) && (r->in_turn || s->anchor_seq == 0 || r->role == HM_SYSTEM);
}

static inline const hm_record *hm_kept_record(const hm_store *s, size_t i)
{
    const hm_kept *k = &s->kept[i];
    return k->record.where == HM_OWNED ? &k->record : hm_at(s, k->position);
}

static inline uint64_t hm_weight(const hm_record *r)
{
    return HM_RECORD_WEIGHT + (uint64_t)r->length + (uint64_t)r->weight;
}

static inline uint64_t hm_prompt_tokens(const hm_store *s, uint64_t fixed)
{
    return fixed + s->totals.head_tokens + s->totals.kept_tokens + s->totals.window_tokens;
}

/* memory.c */

/* A block of `size` bytes within the byte limit. `freed` bytes will be given back when this succeeds. */
hm_status hm_take(hm_store *s, size_t size, size_t freed, void **out);
void hm_give_back(hm_store *s, void *block, size_t size);
/* Room for one more record with `length` bytes; *offset is its place. At the byte limit history goes first. */
hm_status hm_make_room(hm_store *s, size_t length, size_t *offset);
/* hm_reserve_kept; at the byte limit history goes first. */
hm_status hm_make_room_apart(hm_store *s, size_t more);

/* How many bytes may be placed at the arena's tail. Where the contents wrap round, one byte before the head stays free, so
 * that head == tail means empty. */
static inline size_t hm_arena_room(const hm_store *s)
{
    return (s->arena_tail >= s->arena_head ? s->arena_capacity : s->arena_head - 1) - s->arena_tail;
}

/* ring.c */

static inline void hm_release_host(hm_store *s, void *host)
{
    if (host && s->config.release)
        s->config.release(s->config.release_context, host);
}


/* Drops the oldest history record from the ring; a listed one moves into kept's own memory.
 * Returns false when there is no history, or that move could not get memory: nothing changed then. */
bool hm_drop_oldest(hm_store *s);
/* Drops history until it weighs no more than config.history_bytes, or there is none. */
void hm_drop_history(hm_store *s);
/* Takes the newest record out of the ring and releases its handle. The caller has unlisted it and fixes the totals. */
void hm_pop_newest(hm_store *s);
/* A shown record is out of the prompt (or, with sign -1, no longer counted there). */
static inline void hm_count_outside(hm_store *s, const hm_record *r, int sign)
{
    if (!hm_shown(r))
        return;
    s->totals.outside_records += (uint64_t)(int64_t)sign;
    s->totals.outside_tokens += sign < 0 ? (uint64_t)0 - r->tokens : r->tokens;
}

/* Releases what an owned kept entry holds. The caller removes the entry. */
void hm_release_kept(hm_store *s, hm_kept *entry);
/* Room for `more` further kept entries. fails: HM_ENOMEM, HM_ELIMIT; unchanged. */
hm_status hm_reserve_kept(hm_store *s, size_t more);
/* First ring position whose record has a seq greater than `seq` (end when none). */
uint64_t hm_position_after(const hm_store *s, uint64_t seq);

/* frame.c */

/* Puts the window's start at `start` and makes kept and all totals anew from the records. O(records in memory). Kept has
 * room for every protected record. Owned entries that nothing protects any more are released. */
void hm_reframe(hm_store *s, uint64_t start);
/* Moves the window's start forward to `start`: what is protected is listed in kept, the rest becomes history.
 * O(1) for each record passed; room in kept is reserved. */
void hm_move_start(hm_store *s, uint64_t start);
/* The same for a start inside an older turn, whose user record then stands apart. */
void hm_advance_start(hm_store *s, uint64_t start);
/* The anchor of the session is about to be replaced: where it stands apart, what the window holds of its turn keeps it. */
void hm_demote_anchor(hm_store *s);
/* edit.c */

/* Pins or unpins the group of a record; room in kept is reserved. */
void hm_pin_group(hm_store *s, const hm_record *record, bool pinned);
/* Makes HM_TURN_PINNED anew from HM_PINNED. */
void hm_refresh_turn_pins(hm_store *s);

#endif
