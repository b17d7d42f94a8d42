/* store_model.h - the rules of a window once more, as an oracle for test_store_random.c: one array, no running totals.
 * Every question is answered by composing a whole prompt and adding it up. It shares no code with the store. */
#ifndef STORE_MODEL_H
#define STORE_MODEL_H

#include "hmem.h"

#include <string.h>

enum { MOST_RECORDS = 4096 };
static const size_t NO_INDEX = SIZE_MAX;

typedef struct entry {
    uint64_t seq, start_seq;
    void *host;
    size_t user; /* index of its turn's user record, or NO_INDEX */
    uint32_t length, weight, tokens, fingerprint;
    hm_role role;
    bool head, joins, hidden, pinned, dead;
    bool out;  /* no longer in the ring: history that was dropped */
    bool gone; /* no longer in memory at all */
    bool user_of_pinned; /* made anew by mark_users */
} entry;

typedef struct model {
    entry e[MOST_RECORDS];
    size_t count, start; /* start: first record of the window */
    size_t newest;       /* first record of the newest group, or NO_INDEX */
    size_t shown[MOST_RECORDS], shown_count; /* the prompt that compose made */
    uint64_t last_seq, history_limit;
    uint64_t evicted_records, evicted_tokens, dropped;
} model;

typedef struct sums {
    uint64_t head_tokens, head_records, kept_tokens, kept_records, window_tokens, window_records, pinned_tokens;
    uint64_t messages, turns;
} sums;

static inline void model_init(model *m, uint64_t history_limit)
{
    memset(m, 0, sizeof *m);
    m->newest = NO_INDEX;
    m->history_limit = history_limit;
}

static inline uint64_t weigh(const entry *e) { return 64 + (uint64_t)e->length + e->weight; }

static inline size_t heads(const model *m)
{
    size_t n = 0;
    while (n < m->count && m->e[n].head)
        n++;
    return n;
}

/* The newest user record, or NO_INDEX. */
static inline size_t anchor_of(const model *m)
{
    for (size_t i = m->count; i > 0; i--)
        if (m->e[i - 1].role == HM_USER && !m->e[i - 1].hidden)
            return i - 1;
    return NO_INDEX;
}

/* The user record of the turn that a window from `start` begins inside of, where it is an older one; or NO_INDEX. */
static inline size_t partial_of(const model *m, size_t start)
{
    for (size_t i = start; i < m->count; i++)
        if (!m->e[i].hidden && !m->e[i].head)
            return m->e[i].user == i || m->e[i].user == anchor_of(m) ? NO_INDEX : m->e[i].user;
    return NO_INDEX;
}

static inline void mark_users(model *m)
{
    for (size_t i = 0; i < m->count; i++)
        m->e[i].user_of_pinned = false;
    for (size_t i = 0; i < m->count; i++)
        if (m->e[i].pinned && !m->e[i].head && !m->e[i].gone && m->e[i].user != NO_INDEX && m->e[i].user != i)
            m->e[m->e[i].user].user_of_pinned = true;
}

static inline bool held(const entry *e) { return e->pinned || e->user_of_pinned; }

/* Stays in the prompt although the window begins behind it. `hidden` ones are held in memory but never shown. */
static inline bool stands_apart(const model *m, size_t i, size_t anchor, size_t partial)
{
    const entry *e = &m->e[i];
    if (e->head || e->gone)
        return false;
    if (i == anchor || i == partial)
        return true;
    return held(e) && (e->user != NO_INDEX || anchor == NO_INDEX || e->role == HM_SYSTEM);
}

/* The prompt of a window from `start` into m->shown, and its sums. */
static inline sums compose(model *m, size_t start)
{
    sums t = {0};
    const size_t anchor = anchor_of(m), partial = partial_of(m, start);
    size_t last_user = NO_INDEX;
    bool anchor_counted = false;
    m->shown_count = 0;
    for (size_t i = 0; i < m->count; i++) {
        const entry *e = &m->e[i];
        const bool in_window = i >= start;
        if (e->hidden || !(e->head || in_window || stands_apart(m, i, anchor, partial)))
            continue;
        m->shown[m->shown_count++] = i;
        if (e->head) {
            t.head_tokens += e->tokens;
            t.head_records++;
            continue;
        }
        if (in_window) {
            t.window_tokens += e->tokens;
            t.window_records++;
            if (e->user != NO_INDEX && e->user != last_user) {
                t.turns++;
                last_user = e->user;
                anchor_counted |= last_user == anchor;
            }
        } else {
            t.kept_tokens += e->tokens;
            t.kept_records++;
        }
        if (held(e))
            t.pinned_tokens += e->tokens;
        else
            t.messages++;
    }
    if (anchor != NO_INDEX && !anchor_counted)
        t.turns++;
    return t;
}

static inline uint64_t prompt_tokens(const sums *t, const hm_policy *p)
{
    return p->fixed + t->head_tokens + t->kept_tokens + t->window_tokens;
}

static inline bool model_over(model *m, size_t start, const hm_policy *p, uint64_t mark)
{
    const sums t = compose(m, start);
    return prompt_tokens(&t, p) > mark || t.messages > p->max_messages || t.turns > p->max_turns;
}

static inline uint64_t model_low(model *m, const hm_policy *p)
{
    const sums t = compose(m, m->start);
    const uint64_t taken = p->fixed + t.head_tokens + t.pinned_tokens;
    const uint64_t most = taken < p->high ? (p->high - taken) / 2 : 0;
    return p->high - (most < p->overlap ? most : p->overlap);
}

/* Where the window begins under these marks. */
static inline size_t model_plan(model *m, const hm_policy *p)
{
    size_t at = m->start;
    if (!model_over(m, at, p, p->high))
        return at;
    const uint64_t low = model_low(m, p);
    const size_t anchor = anchor_of(m);
    if (anchor != NO_INDEX)
        while (at < anchor) { /* older turns, whole */
            if (!model_over(m, at, p, low))
                return at;
            size_t next = at + 1;
            while (next < anchor && (m->e[next].role != HM_USER || m->e[next].hidden))
                next++;
            if (next == anchor && !model_over(m, at, p, p->high)) /* the turn before the newest: only when it must */
                return at;
            for (at++; at < anchor && (m->e[at].role != HM_USER || m->e[at].hidden); at++)
                ;
        }
    if (!model_over(m, at, p, p->high))
        return at;
    const size_t last = m->newest != NO_INDEX ? m->newest : m->count;
    while (at < last && model_over(m, at, p, low)) /* groups of the newest turn */
        for (at++; at < last && (m->e[at].joins || m->e[at].hidden); at++)
            ;
    return at;
}

/* ------------------------------------------------------------------------------------------------ what leaves memory */

/* What has left the ring and that nothing holds any more has left memory. */
static inline void sweep(model *m)
{
    mark_users(m);
    const size_t anchor = anchor_of(m), partial = partial_of(m, m->start);
    for (size_t i = 0; i < m->count; i++)
        if (m->e[i].out && !m->e[i].gone && !stands_apart(m, i, anchor, partial)) {
            m->e[i].gone = true;
            m->dropped++;
        }
}

static inline size_t oldest_in_ring(const model *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (!m->e[i].head && !m->e[i].out)
            return i;
    return m->count;
}

static inline uint64_t history_weight(const model *m)
{
    uint64_t sum = 0;
    for (size_t i = oldest_in_ring(m); i < m->start; i++)
        sum += weigh(&m->e[i]);
    return sum;
}

static inline void drop_history(model *m)
{
    uint64_t sum = history_weight(m);
    for (size_t i = oldest_in_ring(m); i < m->start && sum > m->history_limit; i++) {
        m->e[i].out = true;
        sum -= weigh(&m->e[i]);
    }
    sweep(m);
}

/* Counts what a change of the window took out of the prompt: `before` is the prompt that was. */
static inline uint64_t count_evicted(model *m, const size_t *before, size_t before_count)
{
    uint64_t n = 0;
    (void)compose(m, m->start);
    for (size_t i = 0, k = 0; i < before_count; i++) {
        while (k < m->shown_count && m->shown[k] < before[i])
            k++;
        if (k < m->shown_count && m->shown[k] == before[i])
            continue;
        n++;
        m->evicted_tokens += m->e[before[i]].tokens;
    }
    m->evicted_records += n;
    return n;
}

/* ------------------------------------------------------------------------------------------------ the calls */
static size_t prompt_before[MOST_RECORDS];

static inline size_t save_prompt(model *m)
{
    (void)compose(m, m->start);
    memcpy(prompt_before, m->shown, m->shown_count * sizeof *m->shown);
    return m->shown_count;
}

static inline uint64_t model_settle(model *m, const hm_policy *p)
{
    const size_t n = save_prompt(m);
    m->start = model_plan(m, p);
    const uint64_t evicted = count_evicted(m, prompt_before, n);
    drop_history(m);
    if (m->start < m->count)
        m->e[m->count - 1].start_seq = m->e[m->start].seq;
    return evicted;
}

/* `given` has role, sizes, tokens, joins, hidden, pinned as they are appended. */
static inline uint64_t model_append(model *m, const entry *given)
{
    const size_t n = save_prompt(m), at = m->count++;
    entry *e = &m->e[at];
    *e = *given;
    e->seq = ++m->last_seq;
    e->start_seq = m->start < at ? m->e[m->start].seq : e->seq;
    if (e->hidden) {
        e->tokens = 0;
        e->pinned = false;
    }
    if (e->role == HM_SYSTEM && !e->hidden && heads(m) == at) {
        e->head = e->pinned = true;
        e->user = NO_INDEX;
        m->start = at + 1;
        return e->seq;
    }
    const bool opens_turn = e->role == HM_USER && !e->hidden;
    m->count--;
    const size_t anchor = anchor_of(m);
    m->count++;
    e->user = opens_turn ? at : anchor;
    if (!e->joins && !e->hidden)
        m->newest = at;
    if (e->joins) {
        bool any = false;
        for (size_t i = m->newest; i <= at; i++)
            any |= m->e[i].pinned && (i == m->newest || m->e[i].joins);
        for (size_t i = m->newest; any && i <= at; i++)
            if (i == m->newest || m->e[i].joins)
                m->e[i].pinned = true;
    }
    if (opens_turn && anchor == NO_INDEX)
        m->start = at;
    mark_users(m);
    (void)count_evicted(m, prompt_before, n);
    sweep(m);
    return e->seq;
}

/* First record of the group of a shown record. */
static inline size_t group_of(const model *m, size_t i)
{
    while (i > 0 && (m->e[i].joins || m->e[i].hidden))
        i--;
    return i;
}

static inline void model_pin(model *m, size_t i, bool pinned)
{
    const size_t n = save_prompt(m), first = group_of(m, i);
    for (i = first; i < m->count && (i == first || m->e[i].joins || m->e[i].hidden); i++)
        if (i == first || m->e[i].joins)
            m->e[i].pinned = pinned;
    mark_users(m);
    (void)count_evicted(m, prompt_before, n);
    sweep(m);
}

static inline size_t step_back(const model *m, size_t start)
{
    size_t inside = NO_INDEX; /* the turn that the window begins inside of */
    for (size_t i = start; i < m->count; i++)
        if (!m->e[i].hidden) {
            inside = i == m->e[i].user ? NO_INDEX : m->e[i].user;
            break;
        }
    const bool anchored = anchor_of(m) != NO_INDEX;
    const size_t oldest = oldest_in_ring(m);
    for (size_t i = start; i > oldest; i--) {
        const entry *e = &m->e[i - 1];
        if (e->user == NO_INDEX && anchored)
            return start;
        if (!e->hidden && (e->role == HM_USER || (!e->joins && e->user == inside)))
            return i - 1;
    }
    return start;
}

static inline void model_refill(model *m, const hm_policy *p)
{
    const uint64_t low = model_low(m, p);
    for (;;) {
        const size_t next = step_back(m, m->start);
        if (next == m->start || model_over(m, next, p, low))
            break;
        m->start = next;
    }
    (void)model_settle(m, p);
}

/* False when what the prompt would need then is no longer in the ring (its user record: in memory). */
static inline bool model_rewind(model *m, uint64_t after)
{
    size_t cut = m->count;
    while (cut > 0 && m->e[cut - 1].seq > after)
        cut--;
    size_t last = cut;
    while (last > 0 && (m->e[last - 1].hidden || m->e[last - 1].head || m->e[last - 1].out))
        last--;
    size_t newest = NO_INDEX;
    if (last > 0) {
        newest = group_of(m, --last);
        if (m->e[newest].out || m->e[newest].head || (m->e[newest].user != NO_INDEX && m->e[m->e[newest].user].gone))
            return false;
    } else {
        for (size_t i = 0; i < cut; i++)
            if (m->e[i].out)
                return false;
        last = NO_INDEX;
    }
    for (size_t i = cut; i < m->count; i++)
        m->dropped += !m->e[i].gone;
    m->count = cut;
    m->newest = newest;
    m->start = heads(m);
    if (last != NO_INDEX) {
        const uint64_t seq = m->e[cut - 1].start_seq;
        m->start = oldest_in_ring(m);
        while (m->e[m->start].seq < seq && m->start < newest)
            m->start++;
        /* A window begins at a user record, or at a group whose user record is there to stand before it. */
        const bool anchored = anchor_of(m) != NO_INDEX;
        for (; m->start < newest; m->start++) {
            const entry *e = &m->e[m->start];
            if (!e->hidden && !e->joins && (!anchored || (e->user != NO_INDEX && !m->e[e->user].gone)))
                break;
        }
    } else {
        m->start = oldest_in_ring(m);
    }
    sweep(m);
    return true;
}

static inline void model_clear(model *m)
{
    for (size_t i = 0; i < m->count; i++)
        m->dropped += !m->e[i].gone;
    m->count = m->start = 0;
    m->newest = NO_INDEX;
}

#endif
