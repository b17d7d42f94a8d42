/* store_kit.h - what the tests of the message store share: CHECK, an allocator that counts and can fail, handles that
 * notice a second release, and a dump of all that can be seen of a store. */
#ifndef STORE_KIT_H
#define STORE_KIT_H

#include "hmem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long passed, failed;

static inline bool check(bool ok, const char *text, const char *file, int line)
{
    if (ok) {
        passed++;
    } else if (failed++ < 20) {
        fprintf(stderr, "%s:%d: failed: %s\n", file, line, text);
    }
    return ok;
}
#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)

/* A test that cannot go on: an error of the test's own, not of the store. */
#define NEED(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: cannot go on: %s\n", __FILE__, __LINE__, #condition); \
            exit(2); \
        } \
    } while (0)

static inline int report(const char *name)
{
    printf("%s: %lu passed, %lu failed\n", name, passed, failed);
    return failed != 0;
}

/* ------------------------------------------------------------------------------------------------ allocator */
enum { BEFORE = 16 }; /* bytes in front of each block, for its size */

typedef struct heap {
    size_t in_use, blocks;
    uint64_t allocs, releases; /* calls so far */
    uint64_t fail_at;          /* this call to alloc fails (the first one is 1); 0 = none */
    bool stay_failed;          /* and so do all that follow, until fail_at is set to 0 */
    bool did_fail, bad;        /* bad: a release whose size is not the one that was asked for */
} heap;

static inline void *heap_alloc(void *context, size_t size)
{
    heap *h = context;
    h->allocs++;
    if (h->fail_at && (h->stay_failed ? h->allocs >= h->fail_at : h->allocs == h->fail_at)) {
        h->did_fail = true;
        return NULL;
    }
    unsigned char *block = malloc(BEFORE + size);
    NEED(block);
    memcpy(block, &size, sizeof size);
    memset(block + BEFORE, 0xA5, size); /* nothing may lean on fresh memory being zero */
    h->in_use += size;
    h->blocks++;
    return block + BEFORE;
}

static inline void heap_release(void *context, void *given, size_t size)
{
    heap *h = context;
    h->releases++;
    if (!given) {
        h->bad = true;
        return;
    }
    unsigned char *block = (unsigned char *)given - BEFORE;
    size_t asked;
    memcpy(&asked, block, sizeof asked);
    if (asked != size)
        h->bad = true;
    memset(given, 0xDD, asked);
    h->in_use -= asked;
    h->blocks--;
    free(block);
}

/* ------------------------------------------------------------------------------------------------ handles */
enum { MOST_HANDLES = 1 << 18 };
static unsigned char handle_state[MOST_HANDLES]; /* 0: never given; 1: the store's; 2: released; 3: released again */
static size_t handles_given, handles_wrong;

static inline void *new_handle(void)
{
    NEED(handles_given < MOST_HANDLES);
    handle_state[handles_given] = 1;
    return &handle_state[handles_given++];
}

static inline void release_handle(void *context, void *host)
{
    unsigned char *state = host;
    (void)context;
    if (state < handle_state || state >= handle_state + MOST_HANDLES || *state != 1)
        handles_wrong++;
    else
        *state = 2;
}

static inline bool handle_released(const void *host) { return *(const unsigned char *)host == 2; }

/* The append failed: the handle is still the caller's. */
static inline void take_back_handle(void *host)
{
    if (*(unsigned char *)host != 1)
        handles_wrong++;
    *(unsigned char *)host = 2;
}

static inline size_t handles_left(void)
{
    size_t left = 0;
    for (size_t i = 0; i < handles_given; i++)
        left += handle_state[i] == 1;
    return left;
}

static inline void forget_handles(void)
{
    memset(handle_state, 0, handles_given);
    handles_given = handles_wrong = 0;
}

/* ------------------------------------------------------------------------------------------------ a store in a test */
typedef struct bench {
    heap heap;
    hm_store *store;
    uint64_t seq; /* of the last append */
} bench;

static const hm_policy NO_MARKS = {UINT64_MAX / 2, 0, 0, UINT64_MAX, UINT64_MAX, 0};

static inline hm_status open_bench(bench *b, size_t limit_bytes, size_t history_bytes)
{
    const hm_store_config config = {{heap_alloc, heap_release, &b->heap}, limit_bytes, history_bytes, release_handle, NULL};
    b->seq = 0;
    return hm_store_open(&config, &b->store);
}

#define OPEN(b, history) \
    bench b = {.store = NULL}; \
    NEED(open_bench(&b, 0, history) == HM_OK)

/* All memory is back, each handle was released once. */
static inline void close_bench(bench *b)
{
    hm_store_close(b->store);
    b->store = NULL;
    CHECK(b->heap.in_use == 0 && b->heap.blocks == 0 && !b->heap.bad);
    CHECK(handles_left() == 0 && handles_wrong == 0);
    forget_handles();
}

/* The content of a record is made from its seq and length alone. */
static inline uint8_t content_byte(uint64_t seq, size_t i) { return (uint8_t)(seq * 131 + i * 7 + (i >> 8) + 1); }

static inline bool content_ok(const uint8_t *bytes, uint64_t seq, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i] != content_byte(seq, i))
            return false;
    return true;
}

static inline uint64_t last_seq(const hm_store *s)
{
    hm_totals t;
    hm_store_totals(s, &t);
    return t.last_seq;
}

static inline hm_totals totals_of(const hm_store *s)
{
    hm_totals t;
    hm_store_totals(s, &t);
    return t;
}

/* Appends a message with made-up content and a handle. Time, weight and fingerprint follow from the seq. */
static inline hm_status put(bench *b, hm_role role, uint32_t tokens, size_t length, unsigned flags)
{
    const uint64_t seq = last_seq(b->store) + 1;
    uint8_t *bytes = malloc(length + 1);
    NEED(bytes);
    for (size_t i = 0; i < length; i++)
        bytes[i] = content_byte(seq, i);
    const hm_message m = {.time = (int64_t)(seq * 1000), .bytes = length ? bytes : NULL, .length = length,
                          .host = new_handle(), .weight = (uint32_t)(seq % 5), .tokens = tokens,
                          .fingerprint = (uint32_t)seq, .role = role, .flags = flags};
    const hm_status status = hm_store_append(b->store, &m, &b->seq);
    free(bytes);
    if (status != HM_OK)
        take_back_handle(m.host);
    return status;
}

#define PUT(b, ...) NEED(put(&(b), __VA_ARGS__) == HM_OK)

static inline hm_policy marks(uint64_t high, uint64_t overlap)
{
    return (hm_policy){high, overlap, 0, UINT64_MAX, UINT64_MAX, 0};
}

/* A user record and `rounds` answers, each of 10 tokens and `length` bytes. */
static inline void turn(bench *b, unsigned rounds, size_t length)
{
    PUT(*b, HM_USER, 10, length, 0);
    while (rounds--)
        PUT(*b, HM_ASSISTANT, 10, length, 0);
}

/* ------------------------------------------------------------------------------------------------ dump */
enum { MOST_DUMP = 4096 };

typedef struct seen {
    uint64_t seq, start_seq;
    int64_t time;
    void *host;
    uint32_t length, weight, tokens, fingerprint, turn;
    uint8_t role, flags, in_turn, content_is_right;
} seen;

typedef struct dump {
    hm_totals totals;
    size_t in_prompt, count;
    seen records[MOST_DUMP]; /* the prompt without marks, then the ring */
} dump;

static inline void dump_record(dump *d, const hm_store *s, const hm_record *r)
{
    NEED(d->count < MOST_DUMP);
    seen *e = &d->records[d->count++];
    memset(e, 0, sizeof *e); /* padding too: dumps are compared with memcmp */
    e->seq = r->seq;
    e->start_seq = r->start_seq;
    e->time = r->time;
    e->host = r->host;
    e->length = r->length;
    e->weight = r->weight;
    e->tokens = r->tokens;
    e->fingerprint = r->fingerprint;
    e->turn = r->turn;
    e->role = r->role;
    e->flags = r->flags;
    e->in_turn = r->in_turn;
    e->content_is_right = content_ok(hm_store_bytes(s, r), r->seq, r->length);
}

static inline dump *new_dump(const hm_store *s)
{
    dump *d = calloc(1, sizeof *d);
    NEED(d);
    hm_store_totals(s, &d->totals);
    d->totals.bytes = 0; /* capacity may have grown in a call that failed later */
    const hm_view view = hm_store_view(s, &NO_MARKS);
    uint64_t cursor = 0;
    for (const hm_record *r; (r = hm_store_next(s, &view, &cursor)) != NULL;)
        dump_record(d, s, r);
    d->in_prompt = d->count;
    for (const hm_record *r = hm_store_from(s, 0); r; r = hm_store_from(s, r->seq + 1))
        dump_record(d, s, r);
    return d;
}

static inline bool same_dump(const dump *a, const dump *b)
{
    return memcmp(&a->totals, &b->totals, sizeof a->totals) == 0 && a->count == b->count && a->in_prompt == b->in_prompt &&
           memcmp(a->records, b->records, a->count * sizeof *a->records) == 0;
}

/* True when every content in the dump is the one that was appended. */
static inline bool contents_right(const dump *d)
{
    for (size_t i = 0; i < d->count; i++)
        if (!d->records[i].content_is_right)
            return false;
    return true;
}

/* The seqs of a view in text, such as "1 4 5". */
static inline const char *seqs_of(const hm_store *s, const hm_view *view)
{
    static char text[1024];
    size_t at = 0;
    uint64_t cursor = 0;
    text[0] = 0;
    for (const hm_record *r; (r = hm_store_next(s, view, &cursor)) != NULL && at + 24 < sizeof text;)
        at += (size_t)snprintf(text + at, sizeof text - at, at ? " %llu" : "%llu", (unsigned long long)r->seq);
    return text;
}

static inline bool prompt_is(const hm_store *s, const char *expected)
{
    const hm_view view = hm_store_view(s, &NO_MARKS);
    const char *found = seqs_of(s, &view);
    if (strcmp(found, expected) == 0)
        return true;
    fprintf(stderr, "prompt is [%s], expected [%s]\n", found, expected);
    return false;
}
#define PROMPT(b, expected) CHECK(prompt_is((b).store, expected))

#endif
