/* test_store_random.c - random calls on the message store against the plain model in store_model.h.
 *
 *   store_random            all seeds
 *   store_random SEED [OPS] one seed, with the calls printed
 *
 * After each call everything that the store tells is compared: totals, the prompt with its contents, a prompt under
 * other marks, look-ups. Without a byte limit the model says exactly what is still in memory; with one it follows the
 * store in what was dropped, and checks that this was history and that the limit holds. */
#include "store_kit.h"
#include "store_model.h"

enum { SEEDS = 240, OPERATIONS = 2000 };

typedef struct run {
    bench b;
    model m;
    hm_policy policy;
    uint64_t random, limit, history;
    uint32_t longest;
    bool verbose, bad;
    entry prompt_then[MOST_RECORDS]; /* the prompt at the last settle that followed an append */
    size_t prompt_then_count;
    bool had_prompt, appended, edited;
    double share; /* sum of shares that the store has told so far */
    uint64_t shares;
} run;

static uint64_t draw(run *r, uint64_t below)
{
    r->random ^= r->random << 13;
    r->random ^= r->random >> 7;
    r->random ^= r->random << 17;
    return (r->random * 0x2545F4914F6CDD1Du >> 33) % below;
}

static bool chance(run *r, uint64_t percent) { return draw(r, 100) < percent; }

#define EXPECT(condition) \
    do { \
        if (!CHECK(condition)) \
            r->bad = true; \
    } while (0)

static hm_policy draw_policy(run *r)
{
    hm_policy p = {draw(r, 600), 0, draw(r, 4) ? 0 : draw(r, 50), UINT64_MAX, UINT64_MAX, 0};
    if (chance(r, 70))
        p.overlap = draw(r, p.high + 20);
    if (chance(r, 25))
        p.max_messages = draw(r, 14);
    if (chance(r, 25))
        p.max_turns = draw(r, 6);
    return p;
}

/* ------------------------------------------------------------------------------------------------ comparing */
static bool same_record(const run *r, size_t i, const hm_record *found)
{
    const entry *e = &r->m.e[i];
    const bool in_turn = e->user != NO_INDEX;
    const unsigned flags = (unsigned)found->flags;
    return found->seq == e->seq && found->host == e->host && found->time == (int64_t)(e->seq * 1000) &&
           found->length == e->length && found->weight == e->weight && found->tokens == e->tokens &&
           found->fingerprint == e->fingerprint && found->role == e->role && (found->in_turn != 0) == in_turn &&
           found->turn == (in_turn ? e->seq - r->m.e[e->user].seq : 0) && !(flags & HM_PINNED) == !e->pinned &&
           !(flags & HM_HEAD) == !e->head && !(flags & HM_DEAD) == !e->dead && !(flags & HM_HIDDEN) == !e->hidden &&
           !(flags & HM_JOIN) == !e->joins && content_ok(hm_store_bytes(r->b.store, found), e->seq, e->length);
}

static void compare_view(run *r, const hm_policy *p, size_t start)
{
    const sums t = compose(&r->m, start);
    const hm_view view = hm_store_view(r->b.store, p);
    uint64_t cursor = 0;
    size_t n = 0, bytes = 0;
    for (const hm_record *found; (found = hm_store_next(r->b.store, &view, &cursor)) != NULL; n++) {
        if (n >= r->m.shown_count || !same_record(r, r->m.shown[n], found)) {
            EXPECT(!"the prompt has the model's records");
            return;
        }
        bytes += found->length;
    }
    EXPECT(n == r->m.shown_count);
    EXPECT(view.tokens == prompt_tokens(&t, p) && view.fits == (view.tokens <= p->high));
    EXPECT(hm_store_gather_size(r->b.store, &view) == bytes);
    if (!chance(r, 10))
        return;
    uint8_t *const out = malloc(bytes + 1), *at = out; /* the contents in one piece; one byte more is left alone */
    NEED(out);
    out[bytes] = 0x5A;
    hm_store_gather(r->b.store, &view, out);
    for (size_t i = 0; i < n; at += r->m.e[r->m.shown[i++]].length)
        EXPECT(content_ok(at, r->m.e[r->m.shown[i]].seq, r->m.e[r->m.shown[i]].length));
    EXPECT(out[bytes] == 0x5A);
    free(out);
}

static void compare_lookups(run *r)
{
    const model *m = &r->m;
    for (size_t i = 0; i < m->count && !r->bad; i++) {
        const hm_record *found = hm_store_find(r->b.store, m->e[i].seq);
        EXPECT(m->e[i].gone ? !found : found && same_record(r, i, found));
        if (r->bad && r->verbose)
            printf("  record %llu, flags %u, gone %d, found %d\n", (unsigned long long)m->e[i].seq,
                   found ? found->flags : 0u, m->e[i].gone, found != NULL);
        EXPECT(!m->e[i].gone || handle_released(m->e[i].host));
        EXPECT(!found || m->e[i].head || (found->flags & HM_TURN_PINNED) == 0 || m->e[i].user_of_pinned);
        const hm_record *from = hm_store_from(r->b.store, m->e[i].seq);
        size_t k = i;
        while (k < m->count && (m->e[k].head || m->e[k].out))
            k++;
        EXPECT(k == m->count ? !from : from && from->seq == m->e[k].seq);
    }
    EXPECT(!hm_store_find(r->b.store, m->last_seq + 1) && !hm_store_find(r->b.store, 0));
    EXPECT(!hm_store_from(r->b.store, m->last_seq + 1));
}

static void compare(run *r)
{
    model *m = &r->m;
    const hm_totals t = totals_of(r->b.store);
    compare_view(r, &NO_MARKS, m->start);
    const sums s = compose(m, m->start);
    EXPECT(t.head_tokens == s.head_tokens && t.head_records == s.head_records);
    EXPECT(t.kept_tokens == s.kept_tokens && t.kept_records == s.kept_records);
    EXPECT(t.window_tokens == s.window_tokens && t.window_records == s.window_records);
    EXPECT(t.pinned_tokens == s.pinned_tokens);
    EXPECT(t.messages == s.messages);
    EXPECT(t.turns == s.turns);
    EXPECT(t.evicted_records == m->evicted_records && t.evicted_tokens == m->evicted_tokens);
    EXPECT(t.dropped_records == m->dropped);
    uint64_t outside = 0, outside_tokens = 0; /* all that this session showed once and does not now */
    for (size_t i = 0, k = 0; i < m->count; i++) {
        const bool in_prompt = k < m->shown_count && m->shown[k] == i;
        k += in_prompt;
        if (!in_prompt && !m->e[i].hidden) {
            outside++;
            outside_tokens += m->e[i].tokens;
        }
    }
    EXPECT(t.outside_records == outside && t.outside_tokens == outside_tokens);
    const size_t oldest = oldest_in_ring(m), anchor = anchor_of(m);
    EXPECT(t.history_records == m->start - (oldest < m->start ? oldest : m->start));
    EXPECT(t.history_bytes == history_weight(m));
    EXPECT(t.last_seq == m->last_seq);
    EXPECT(t.anchor_seq == (anchor == NO_INDEX ? 0 : m->e[anchor].seq));
    EXPECT(t.newest_seq == (m->newest == NO_INDEX ? 0 : m->e[m->newest].seq));
    EXPECT(t.first_seq == (oldest < m->count ? m->e[oldest].seq : 0));
    EXPECT(t.start_seq == (m->start < m->count ? m->e[m->start].seq : 0));
    EXPECT(t.bytes == r->b.heap.in_use && !r->b.heap.bad);
    EXPECT(!r->limit || t.bytes <= r->limit);
    EXPECT(handles_wrong == 0);
    if (chance(r, 30)) {
        const hm_policy other = draw_policy(r);
        compare_view(r, &other, model_plan(m, &other));
    }
    if (chance(r, 4))
        compare_lookups(r);
}

/* With a byte limit: what the store dropped is history, and enough of it; the model follows. */
static void follow(run *r, bool settled)
{
    model *m = &r->m;
    if (!r->limit)
        return;
    const size_t before = oldest_in_ring(m);
    size_t enough = before; /* where settling has to stop */
    for (uint64_t sum = history_weight(m); enough < m->start && sum > r->history; enough++)
        sum -= weigh(&m->e[enough]);
    const uint64_t first = totals_of(r->b.store).first_seq;
    for (size_t i = before; i < m->count && (!first || m->e[i].seq < first); i++)
        m->e[i].out = true;
    const size_t after = oldest_in_ring(m);
    EXPECT(after <= m->start);
    EXPECT(!settled || after <= enough);
    /* Less is dropped only where a copy of what stands apart would pass the limit. */
    const size_t anchor = anchor_of(m), partial = partial_of(m, m->start);
    EXPECT(!settled || after == enough || (m->e[after].length && (held(&m->e[after]) || stands_apart(m, after, anchor, partial))));
    sweep(m);
}

/* The share of this prompt that the one before begins with, against what the store has counted. */
static void compare_share(run *r)
{
    model *m = &r->m;
    const sums s = compose(m, m->start);
    const uint64_t total = prompt_tokens(&s, &r->policy);
    const hm_totals t = totals_of(r->b.store);
    if (r->had_prompt) {
        uint64_t common = r->policy.fixed;
        for (size_t i = 0; i < m->shown_count && i < r->prompt_then_count; i++) {
            if (m->e[m->shown[i]].seq != r->prompt_then[i].seq)
                break;
            common += m->e[m->shown[i]].tokens;
        }
        const bool cut = total > r->policy.high;
        const uint64_t size = cut ? r->policy.high : total;
        if (cut)
            common = r->policy.fixed + s.head_tokens;
        const double exact = size ? (double)(common < size ? common : size) / (double)size : 1.0;
        if (r->verbose)
            printf("  common %llu of %llu\n", (unsigned long long)common, (unsigned long long)size);
        const double told = t.reuse_share * (double)t.reuse_count - r->share;
        EXPECT(t.reuse_count == r->shares + 1);
        EXPECT(t.reuse_share >= 0.0 && t.reuse_share <= 1.0);
        EXPECT(told > -1e-6 && told < exact + 1e-6); /* never claims too much */
        EXPECT(r->edited || told > exact - 1e-6);
    }
    r->had_prompt = true;
    r->edited = false;
    r->prompt_then_count = m->shown_count;
    for (size_t i = 0; i < m->shown_count; i++)
        r->prompt_then[i] = m->e[m->shown[i]];
    r->share = t.reuse_count ? t.reuse_share * (double)t.reuse_count : 0.0;
    r->shares = t.reuse_count;
}

/* ------------------------------------------------------------------------------------------------ calls */
static void settle(run *r)
{
    const uint64_t evicted = hm_store_settle(r->b.store, &r->policy);
    EXPECT(evicted == model_settle(&r->m, &r->policy));
    follow(r, true);
    if (r->appended)
        compare_share(r);
    r->appended = false;
}

static void append(run *r, hm_role role, unsigned flags)
{
    model *m = &r->m;
    NEED(m->count < MOST_RECORDS);
    entry e = {.role = role, .joins = flags & HM_JOIN, .hidden = flags & HM_HIDDEN, .pinned = flags & HM_PINNED};
    e.tokens = (uint32_t)(draw(r, 8) ? draw(r, 40) : 0);
    e.length = (uint32_t)(draw(r, 4) ? draw(r, r->longest) : draw(r, 3));
    if (!draw(r, 150))
        e.length = r->longest * 5;
    const uint64_t seq = m->last_seq + 1;
    e.weight = (uint32_t)(seq % 5);
    e.fingerprint = (uint32_t)seq;
    const hm_status status = put(&r->b, role, e.tokens, e.length, flags);
    if (r->verbose)
        printf("  append %u, role %d, flags %u, %u tokens, %u bytes: %d\n", (unsigned)seq, (int)role, flags,
               (unsigned)e.tokens, (unsigned)e.length, (int)status);
    e.host = &handle_state[handles_given - 1];
    if (status == HM_OK) {
        /* A pin that spreads over a group is an edit, and so is a session's first user record where something stands
         * apart: what the store tells of shares is a lower bound then. */
        r->edited |= (e.joins && e.pinned && !m->e[m->newest].pinned) || (role == HM_USER && anchor_of(m) == NO_INDEX);
        EXPECT(model_append(m, &e) == r->b.seq);
        r->appended = true;
    } else {
        EXPECT(status == HM_ELIMIT && r->limit);
    }
    follow(r, false);
    if (chance(r, 85))
        settle(r);
}

static void append_any(run *r)
{
    const uint64_t kind = draw(r, 100);
    const unsigned pin = chance(r, 6) ? HM_PINNED : 0;
    if (kind < 3 || (r->m.last_seq < 3 && kind < 60))
        append(r, HM_SYSTEM, pin);
    else if (kind < 28)
        append(r, HM_USER, pin);
    else if (kind < 36)
        append(r, (hm_role)draw(r, 4), HM_HIDDEN | pin);
    else if (kind < 66 || r->m.newest == NO_INDEX || r->m.e[r->m.newest].role != HM_ASSISTANT)
        append(r, HM_ASSISTANT, pin);
    else
        append(r, HM_TOOL, HM_JOIN | pin);
}

static size_t draw_record(run *r) { return r->m.count ? (size_t)draw(r, r->m.count) : NO_INDEX; }

static void set_cost(run *r)
{
    model *m = &r->m;
    const size_t i = draw_record(r);
    if (i == NO_INDEX)
        return;
    entry *e = &m->e[i];
    const uint32_t tokens = (uint32_t)draw(r, 50);
    /* A whole group, or a result of one, may be hidden and shown again; never a user record, nor the newest group. */
    const bool alone = i + 1 < m->count && !m->e[i + 1].joins && !m->e[i + 1].hidden && i != m->newest;
    const bool may_flip = !e->head && e->role != HM_USER && (e->joins || (e->role == HM_ASSISTANT && alone));
    bool hidden = e->hidden;
    if (may_flip && (m->newest == NO_INDEX || i < m->newest) && chance(r, 60))
        hidden = !hidden;
    const bool dead = chance(r, 50);
    const hm_status status = hm_store_set_cost(r->b.store, e->seq, tokens, 77, (dead ? HM_DEAD : 0u) |
                                               (hidden ? HM_HIDDEN : 0u) | HM_HEAD | HM_PINNED);
    if (r->verbose)
        printf("  cost of %u: %u tokens, hidden %d: %d\n", (unsigned)e->seq, (unsigned)tokens, hidden, (int)status);
    /* In the window a record is not shown again when the user record that would stand before it has left memory. */
    const bool orphan = !e->gone && e->hidden && !hidden && i >= m->start && e->user != NO_INDEX && m->e[e->user].gone;
    EXPECT(status == (e->gone || orphan ? HM_ENOENT : HM_OK));
    if (status != HM_OK)
        return;
    e->tokens = tokens;
    e->fingerprint = 77;
    e->dead = dead;
    e->hidden = hidden;
    sweep(m);
    r->edited = true;
}

static void pin(run *r)
{
    model *m = &r->m;
    const size_t i = draw_record(r);
    if (i == NO_INDEX)
        return;
    const entry *e = &m->e[i];
    const bool pinned = chance(r, 25); /* more unpins than pins: pinned groups are few */
    const hm_status status = hm_store_pin(r->b.store, e->seq, pinned);
    if (r->verbose)
        printf("  %s %u: %d\n", pinned ? "pin" : "unpin", (unsigned)e->seq, (int)status);
    hm_status expected = HM_OK;
    if (e->gone || e->hidden)
        expected = HM_ENOENT;
    else if (e->head)
        expected = HM_EINVAL;
    else if (pinned && !e->pinned && (m->e[group_of(m, i)].gone || (e->user != NO_INDEX && m->e[e->user].gone)))
        expected = HM_ENOENT; /* what would have to stay with it is no longer there */
    EXPECT(status == expected || (r->limit && pinned && expected == HM_OK && status == HM_ELIMIT));
    if (status != HM_OK)
        return;
    model_pin(m, i, pinned);
    r->edited = true;
}

static void rewind_store(run *r)
{
    model *m = &r->m;
    const uint64_t back = draw(r, 5) ? draw(r, 8) : draw(r, m->last_seq + 2);
    const uint64_t after = back > m->last_seq ? 0 : m->last_seq - back;
    const hm_status status = hm_store_rewind(r->b.store, after);
    if (r->verbose)
        printf("  rewind to %llu: %d\n", (unsigned long long)after, (int)status);
    EXPECT(status == (model_rewind(m, after) ? HM_OK : HM_ENOENT));
    r->edited = true;
    if (chance(r, 70))
        settle(r);
}

static void refused(run *r)
{
    const hm_message bad[] = {
        {.role = (hm_role)4}, {.role = (hm_role)-1}, {.flags = HM_DEAD}, {.flags = HM_HEAD}, {.flags = 1u << 9},
        {.role = HM_USER, .flags = HM_JOIN}, {.role = HM_TOOL, .flags = HM_JOIN | HM_HIDDEN}, {.length = 1},
    };
    uint64_t seq = 99;
    const hm_status status = hm_store_append(r->b.store, &bad[draw(r, sizeof bad / sizeof *bad)], &seq);
    EXPECT(status == HM_EINVAL && seq == 99);
}

static void step(run *r)
{
    const uint64_t kind = draw(r, 1000);
    if (kind < 800) {
        append_any(r);
    } else if (kind < 850) {
        set_cost(r);
    } else if (kind < 900) {
        pin(r);
    } else if (kind < 940) {
        rewind_store(r);
    } else if (kind < 965) {
        r->policy = draw_policy(r);
        hm_store_refill(r->b.store, &r->policy);
        model_refill(&r->m, &r->policy);
        follow(r, true);
        r->appended = false;
        r->had_prompt = false;
        r->edited = true;
    } else if (kind < 980) {
        EXPECT(hm_store_trim(r->b.store) == HM_OK);
    } else if (kind < 985) {
        r->history = draw(r, 2) ? draw(r, 6000) : 0;
        r->m.history_limit = r->limit ? UINT64_MAX : r->history;
        hm_store_set_limits(r->b.store, (size_t)r->limit, (size_t)r->history);
    } else if (kind < 988) {
        hm_store_clear(r->b.store);
        model_clear(&r->m);
        r->had_prompt = false;
    } else {
        refused(r);
    }
}

static bool one_seed(run *r, uint64_t seed, unsigned operations)
{
    const bool verbose = r->verbose;
    memset(r, 0, sizeof *r);
    r->verbose = verbose;
    r->random = seed * 0x9E3779B97F4A7C15u + 1;
    for (int i = 0; i < 8; i++)
        (void)draw(r, 2);
    static const uint32_t lengths[] = {2, 40, 300, 3000};
    r->longest = lengths[seed % 4];
    const uint64_t histories[] = {0, 300, 5000, UINT64_MAX / 2};
    r->history = histories[seed / 4 % 4];
    r->limit = seed / 16 % 3 == 2 ? 2500 + draw(r, 20000) : 0;
    NEED(open_bench(&r->b, (size_t)r->limit, (size_t)r->history) == HM_OK);
    model_init(&r->m, r->limit ? UINT64_MAX : r->history);
    r->policy = draw_policy(r);
    unsigned done = 0;
    for (; done < operations && !r->bad; done++) {
        if (r->verbose)
            printf("operation %u, %zu records, window from %zu\n", done, r->m.count, r->m.start);
        step(r);
        if (!r->bad)
            compare(r);
    }
    if (r->bad)
        fprintf(stderr, "seed %llu failed at operation %u\n", (unsigned long long)seed, done - 1);
    close_bench(&r->b);
    return !r->bad;
}

int main(int argc, char **argv)
{
    static run r;
    if (argc > 1) {
        const unsigned operations = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : OPERATIONS;
        r.verbose = true;
        (void)one_seed(&r, strtoull(argv[1], NULL, 10), operations);
        return report("store_random");
    }
    unsigned bad = 0;
    for (uint64_t seed = 1; seed <= SEEDS && bad < 5; seed++)
        bad += !one_seed(&r, seed, OPERATIONS);
    return report("store_random");
}
