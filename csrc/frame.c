/* frame.c - what of a message store a prompt shows: marks, eviction, views. The memory under it is ring.c's; what changes
 * records that are already there is edit.c's. */
#include "store_internal.h"

#include <string.h>

/* ------------------------------------------------------------------------------------------------ marks */

typedef struct load {
    uint64_t tokens, messages, turns;
} load;

static bool over(const load *l, const hm_policy *p, uint64_t mark)
{
    return l->tokens > mark || l->messages > p->max_messages || l->turns > p->max_turns;
}

static uint64_t low_mark(const hm_store *s, const hm_policy *p)
{
    const uint64_t taken = p->fixed + s->totals.head_tokens + s->totals.pinned_tokens;
    const uint64_t room = p->high > taken ? p->high - taken : 0;
    return p->high - (p->overlap < room / 2 ? p->overlap : room / 2);
}

static load current_load(const hm_store *s, const hm_policy *p)
{
    return (load){hm_prompt_tokens(s, p->fixed), s->totals.messages, s->totals.turns};
}

/* What the prompt no longer carries once the window has moved past this record. */
static void leave(const hm_store *s, load *l, const hm_record *r)
{
    if (!hm_shown(r) || r->seq == s->anchor_seq)
        return;
    if (r->role == HM_USER)
        l->turns--;
    if (hm_protected(s, r))
        return;
    l->tokens -= r->tokens;
    if (!hm_is_pinned(r))
        l->messages--;
}

/* The same for the user record that stands apart for the window's first turn. */
static void leave_partial(const hm_store *s, load *l)
{
    const hm_record *r = hm_store_find(s, s->partial_seq);
    l->turns--;
    if (hm_is_pinned(r))
        return;
    l->tokens -= r->tokens;
    l->messages--;
}

/* Whether no turn begins between `at` and the newest turn: what stands there is the turn before the newest. */
static bool last_older(const hm_store *s, uint64_t at, uint64_t newest)
{
    for (at++; at < newest; at++)
        if (hm_opens_turn(hm_at(s, at)))
            return false;
    return true;
}

/* Where the window would start. Changes nothing. */
static uint64_t plan(const hm_store *s, const hm_policy *p, load *l)
{
    uint64_t at = s->start;
    if (!over(l, p, p->high))
        return at;
    const uint64_t low = low_mark(s, p);
    const uint64_t newest = s->newest_pos != HM_NONE ? s->newest_pos : s->end;

    /* Older turns, each whole: a turn without its user message would be read as another one's answer. The one before the
     * newest goes only when it must: for the margin alone, an answer just given is too dear. */
    const uint64_t turn = s->anchor_pos != HM_NONE && s->anchor_pos >= at ? s->anchor_pos : at;
    bool partial = s->partial_seq != 0;
    while (at < turn) {
        if (!over(l, p, low) || (!over(l, p, p->high) && last_older(s, at, turn)))
            return at;
        if (partial)
            leave_partial(s, l);
        partial = false;
        do
            leave(s, l, hm_at(s, at++));
        while (at < turn && !hm_opens_turn(hm_at(s, at)));
    }
    /* Rounds of the newest turn. They go only when they must, never for the margin alone. */
    if (!over(l, p, p->high + p->slack))
        return at;
    while (at < newest && over(l, p, low + p->slack)) {
        do
            leave(s, l, hm_at(s, at++));
        while (at < newest && !hm_opens_group(hm_at(s, at)));
    }
    return at;
}

/* ------------------------------------------------------------------------------------------------ moving the window */

static void list_kept(hm_store *s, uint64_t position)
{
    hm_record *r = hm_at(s, position);
    r->where = HM_LISTED;
    hm_kept *k = &s->kept[s->kept_count++];
    k->record.where = HM_LISTED;
    k->bytes = NULL;
    k->position = position;
    s->totals.kept_tokens += hm_shown(r) ? r->tokens : 0;
    s->totals.kept_records += hm_shown(r);
}

static void lower_stable(hm_store *s, uint64_t tokens)
{
    if (tokens < s->stable_tokens)
        s->stable_tokens = tokens;
}

/* The user record that has to stand apart for a window that starts here, or 0. */
static uint64_t partial_of(const hm_store *s, uint64_t start)
{
    while (start != s->end && !hm_shown(hm_at(s, start)))
        start++;
    if (start == s->end)
        return 0;
    const hm_record *r = hm_at(s, start);
    const uint64_t user = r->in_turn ? r->seq - r->turn : 0;
    return user == r->seq || user == s->anchor_seq ? 0 : user;
}

/* An owned entry leaves the prompt, and memory with it. */
static void let_go(hm_store *s, hm_kept *entry)
{
    if (hm_shown(&entry->record)) {
        s->gone_records++;
        s->gone_tokens += entry->record.tokens;
    }
    hm_release_kept(s, entry);
}

/* The window's first turn leaves, and with it its user record that stood apart. */
static void drop_partial(hm_store *s)
{
    const uint64_t seq = s->partial_seq;
    s->partial_seq = 0;
    s->totals.turns--;
    hm_kept *k = &s->kept[s->kept_count - 1]; /* what is listed behind it would be pinned and so keep it */
    const hm_record *r = hm_kept_record(s, s->kept_count - 1);
    if (r->seq != seq || hm_is_pinned(r))
        return;
    s->totals.kept_tokens -= r->tokens;
    s->totals.kept_records--;
    s->totals.messages--;
    s->totals.evicted_records++;
    s->totals.evicted_tokens += r->tokens;
    lower_stable(s, s->totals.head_tokens + s->totals.kept_tokens);
    hm_count_outside(s, r, 1);
    if (k->record.where == HM_OWNED)
        let_go(s, k);
    else
        hm_at(s, k->position)->where = HM_IN_RING;
    s->kept_count--;
}

/* `partial`: the user record that has to stand apart for a window that starts at `start`, or 0. */
static void move_start(hm_store *s, uint64_t start, uint64_t partial)
{
    if (s->partial_seq && s->partial_seq != partial && s->start != start)
        drop_partial(s);
    s->partial_seq = partial;
    bool same = true; /* everything passed so far stays in the prompt, in its place */
    for (; s->start != start; s->start++) {
        hm_record *r = hm_at(s, s->start);
        s->totals.history_bytes += hm_weight(r);
        if (hm_shown(r)) {
            s->totals.window_tokens -= r->tokens;
            s->totals.window_records--;
            if (r->role == HM_USER && r->seq != s->anchor_seq && r->seq != s->partial_seq)
                s->totals.turns--;
        }
        if (hm_protected(s, r)) {
            list_kept(s, s->start);
            continue;
        }
        if (!hm_shown(r))
            continue;
        if (same)
            lower_stable(s, s->totals.head_tokens + s->totals.kept_tokens);
        same = false;
        if (hm_is_pinned(r))
            s->totals.pinned_tokens -= r->tokens;
        else
            s->totals.messages--;
        s->totals.evicted_records++;
        s->totals.evicted_tokens += r->tokens;
        hm_count_outside(s, r, 1);
    }
}

void hm_move_start(hm_store *s, uint64_t start)
{
    move_start(s, start, 0); /* eviction takes older turns whole: nothing is cut but the anchor's turn */
}

void hm_advance_start(hm_store *s, uint64_t start)
{
    move_start(s, start, partial_of(s, start));
}

void hm_demote_anchor(hm_store *s)
{
    if (!s->anchor_seq || (s->anchor_pos != HM_NONE && s->anchor_pos >= s->start))
        return;
    s->partial_seq = s->anchor_seq;
    if (!s->totals.window_records)
        drop_partial(s); /* all that the window holds of its turn is hidden */
}

void hm_reframe(hm_store *s, uint64_t start)
{
    s->partial_seq = partial_of(s, start);
    size_t n = 0;
    for (size_t i = 0; i < s->kept_count; i++) {
        hm_kept *k = &s->kept[i];
        if (k->record.where == HM_LISTED)
            hm_at(s, k->position)->where = HM_IN_RING;
        else if ((k->record.flags & HM_HEAD) || hm_protected(s, &k->record))
            s->kept[n++] = *k;
        else
            let_go(s, k);
    }
    s->kept_count = n;
    hm_totals *t = &s->totals;
    t->head_tokens = t->head_records = t->kept_tokens = t->kept_records = 0;
    t->outside_records = s->gone_records;
    t->outside_tokens = s->gone_tokens;
    t->window_tokens = t->window_records = t->pinned_tokens = t->messages = t->turns = t->history_bytes = 0;
    s->protected_in_ring = 0;
    for (size_t i = 0; i < n; i++) {
        const hm_record *r = &s->kept[i].record;
        const uint64_t tokens = hm_shown(r) ? r->tokens : 0;
        if (i < s->head_count) {
            t->head_tokens += tokens;
            t->head_records++;
            continue;
        }
        if (!hm_shown(r))
            continue;
        t->kept_tokens += tokens;
        t->kept_records++;
        if (r->seq == s->anchor_seq || r->seq == s->partial_seq)
            t->turns++;
        if (hm_is_pinned(r))
            t->pinned_tokens += tokens;
        else
            t->messages++;
    }
    s->start = start;
    for (uint64_t p = s->base; p != s->end; p++) {
        const hm_record *r = hm_at(s, p);
        const bool in_window = p >= start, apart = r->seq == s->anchor_seq || r->seq == s->partial_seq;
        if (hm_is_pinned(r))
            s->protected_in_ring++;
        if (!in_window) {
            t->history_bytes += hm_weight(r);
            if (!hm_protected(s, r)) {
                hm_count_outside(s, r, 1);
                continue;
            }
            list_kept(s, p);
        } else if (hm_shown(r)) {
            t->window_tokens += r->tokens;
            t->window_records++;
        }
        if (!hm_shown(r))
            continue;
        if (r->role == HM_USER && (in_window || apart))
            t->turns++;
        if (hm_is_pinned(r))
            t->pinned_tokens += r->tokens;
        else
            t->messages++;
    }
    lower_stable(s, t->head_tokens);
}

/* ------------------------------------------------------------------------------------------------ settle, refill */

/* Share of this prompt that lies in the common start with the one before the last append. */
static void note_reuse(hm_store *s, const hm_policy *p)
{
    const uint64_t total = hm_prompt_tokens(s, p->fixed);
    if (s->had_prompt) {
        /* A prompt above the budget is shown with shortened texts: only its head is sure to be the same. */
        const bool cut = total > p->high + p->slack;
        const uint64_t shown = cut ? p->high + p->slack : total;
        const uint64_t common = p->fixed + (cut ? s->totals.head_tokens : s->stable_tokens);
        s->totals.reuse_count++;
        s->totals.reuse_share += common < shown ? (double)(int64_t)common / (double)(int64_t)shown : 1.0;
    }
    s->had_prompt = true;
    s->stable_tokens = total - p->fixed;
}

/* Nothing is pinned or stands apart, and the anchor is in the window: whole turns go, and nothing else changes. False, and
 * nothing done, when that is not so or does not suffice. */
static bool evict_turns(hm_store *s, const hm_policy *p)
{
    if (s->protected_in_ring || s->kept_count != s->head_count || s->anchor_pos == HM_NONE || s->anchor_pos < s->start)
        return false;
    const uint64_t low = low_mark(s, p), turn = s->anchor_pos;
    const load all = current_load(s, p);
    load l = all;
    uint64_t at = s->start, weight = 0;
    while (at != turn && over(&l, p, low) && (over(&l, p, p->high) || !last_older(s, at, turn))) {
        const hm_record *r = hm_at(s, at);
        l.turns -= hm_opens_turn(r);
        do {
            l.tokens -= hm_shown(r) ? r->tokens : 0;
            l.messages -= hm_shown(r);
            weight += (uint64_t)r->length + r->weight;
            r = hm_at(s, ++at);
        } while (at != turn && !hm_opens_turn(r));
    }
    if (over(&l, p, p->high))
        return false;
    hm_totals *t = &s->totals;
    const uint64_t tokens = all.tokens - l.tokens, shown = all.messages - l.messages;
    t->history_bytes += weight + (at - s->start) * HM_RECORD_WEIGHT;
    t->window_tokens -= tokens;
    t->window_records -= shown;
    t->messages = l.messages;
    t->turns = l.turns;
    t->evicted_records += shown;
    t->evicted_tokens += tokens;
    t->outside_records += shown;
    t->outside_tokens += tokens;
    s->start = at;
    if (shown)
        lower_stable(s, t->head_tokens);
    return true;
}

__attribute__((noinline)) static void evict(hm_store *s, const hm_policy *p)
{
    if (!evict_turns(s, p)) {
        load l = current_load(s, p);
        const uint64_t start = plan(s, p, &l);
        if (start != s->start)
            hm_move_start(s, start);
    }
}

uint64_t hm_store_settle(hm_store *s, const hm_policy *p)
{
    const uint64_t before = s->totals.evicted_records;
    const load l = current_load(s, p);
    if (over(&l, p, p->high))
        evict(s, p);
    if (s->totals.history_bytes > s->config.history_bytes)
        hm_drop_history(s);
    if (s->start != s->end)
        hm_at(s, s->end - 1)->start_seq = hm_at(s, s->start)->seq;
    if (s->appended) {
        s->appended = false;
        note_reuse(s, p);
    }
    return s->totals.evicted_records - before;
}

/* The position where the next larger window would start, or `start` when there is none in memory. */
static uint64_t step_back(const hm_store *s, uint64_t start)
{
    const uint64_t own = partial_of(s, start);
    const uint64_t user = own ? own : s->anchor_seq; /* whose turn the window starts in, if it starts inside one */
    const bool inside = start != s->end && !hm_opens_turn(hm_at(s, start));
    for (uint64_t p = start; p != s->base;) {
        const hm_record *r = hm_at(s, --p);
        if (!r->in_turn && s->anchor_seq)
            return start;
        const bool same_turn = inside && (!s->anchor_seq || r->seq - r->turn == user);
        if (hm_opens_turn(r) || (same_turn && hm_opens_group(r)))
            return p;
    }
    return start;
}

void hm_store_refill(hm_store *s, const hm_policy *p)
{
    load l = current_load(s, p);
    const uint64_t low = low_mark(s, p);
    uint64_t start = s->start;
    for (;;) {
        const uint64_t next = step_back(s, start);
        if (next == start)
            break;
        for (uint64_t i = next; i != start; i++) {
            const hm_record *r = hm_at(s, i);
            if (!hm_shown(r) || r->seq == s->anchor_seq || r->seq == s->partial_seq)
                continue;
            l.turns += r->role == HM_USER;
            if (!hm_protected(s, r))
                l.tokens += r->tokens;
            l.messages += !hm_is_pinned(r);
        }
        if (over(&l, p, low))
            break;
        start = next;
    }
    if (start != s->start)
        hm_reframe(s, start);
    (void)hm_store_settle(s, p);
}

/* ------------------------------------------------------------------------------------------------ views */

hm_view hm_store_view(const hm_store *s, const hm_policy *p)
{
    load l = current_load(s, p);
    const uint64_t first = over(&l, p, p->high) ? plan(s, p, &l) : s->start;
    return (hm_view){.first = first, .without = first != s->start ? s->partial_seq : 0, .tokens = l.tokens,
                     .most = s->kept_count + (size_t)(s->end - s->start), .piece = SIZE_MAX,
                     .fits = l.tokens <= p->high + p->slack};
}

bool hm_store_exceeds(const hm_store *s, const hm_notice *n)
{
    const hm_totals *t = &s->totals;
    return t->kept_tokens + t->window_tokens - t->pinned_tokens > n->recent_tokens || t->messages > n->recent_messages ||
           t->evicted_records >= n->evicted_records;
}

void hm_store_totals(const hm_store *s, hm_totals *out)
{
    *out = s->totals;
    out->history_records = s->start - s->base;
    out->last_seq = s->last_seq;
    out->anchor_seq = s->anchor_seq;
    out->newest_seq = s->newest_pos != HM_NONE ? hm_at(s, s->newest_pos)->seq : 0;
    out->first_seq = s->base != s->end ? hm_at(s, s->base)->seq : 0;
    out->start_seq = s->start != s->end ? hm_at(s, s->start)->seq : 0;
    out->reuse_share = s->totals.reuse_count ? s->totals.reuse_share / (double)s->totals.reuse_count : 1.0;
}
