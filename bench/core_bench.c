/* core_bench.c - what append + evict costs in the C core, against a bare memcpy of the same bytes.
 *
 *   core_bench                  one JSON line for each of 10^2, 10^4, 10^6 live records
 *   core_bench RECORDS          that number of live records only
 *   core_bench RECORDS OPS      no clock: fill, then OPS times append + evict (for an instruction counter)
 *
 * The store holds RECORDS messages of 200 bytes and evicts the oldest turn when one more comes; nothing is kept as history.
 * The bare memcpy writes the same bytes, one message after the other, round an arena as large as the store's own
 * ("memcpy"), and round one that holds exactly RECORDS messages ("memcpy_tight"). Both read the same 64 source messages.
 * A figure is the median over batches of CPU time by operation; store and memcpy batches alternate. "evict_ns" is one message
 * of 64 that are evicted by one call. Every allocation is counted: one in the measured part is a failure (exit status 1). */
#define _POSIX_C_SOURCE 200809L
#include "hmem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LENGTH = 200, SOURCES = 64, BATCHES = 101, OPS = 20000, EVICTED = 64 };

typedef struct counted {
    uint64_t allocations;
    size_t live, largest;
} counted;

static void *count_alloc(void *context, size_t size)
{
    counted *c = context;
    c->allocations++;
    c->live += size;
    return malloc(size);
}

static void count_release(void *context, void *block, size_t size)
{
    counted *c = context;
    c->live -= size;
    free(block);
}

static uint8_t source[SOURCES][LENGTH];

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double wall_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

static void die(const char *what)
{
    fprintf(stderr, "core_bench: %s\n", what);
    exit(1);
}

/* `ops` messages into the store, user and assistant in turn. */
static void store_ops(hm_store *store, const hm_policy *policy, size_t length, uint64_t ops)
{
    hm_message m = {.length = length, .tokens = 55, .fingerprint = 1};
    uint64_t seq = 0;
    for (uint64_t i = 0; i < ops; i++) {
        m.bytes = source[i % SOURCES];
        m.role = i % 2 ? HM_ASSISTANT : HM_USER;
        m.time = (int64_t)i;
        if (hm_store_append(store, &m, &seq) != HM_OK)
            die("append failed");
        hm_store_settle(store, policy);
    }
}

typedef struct arena {
    uint8_t *bytes;
    size_t size, at;
} arena;

static void copy_ops(arena *a, size_t length, uint64_t ops)
{
    for (uint64_t i = 0; i < ops; i++) {
        if (a->size - a->at < length)
            a->at = 0;
        memcpy(a->bytes + a->at, source[i % SOURCES], length);
        a->at += length;
        __asm__ volatile("" ::: "memory");
    }
}

static arena make_arena(size_t size, size_t length)
{
    arena a = {malloc(size), size, 0};
    if (!a.bytes)
        die("no memory for an arena");
    memset(a.bytes, 1, size); /* every page is there before the clock starts */
    copy_ops(&a, length, size / length);
    return a;
}

/* What it costs to evict one message, EVICTED at a time; the clock here is the one that is cheap to read. */
static double evict_ns(hm_store *store, const hm_policy *policy, size_t length)
{
    static double each[BATCHES];
    const hm_policy all = {.high = UINT64_MAX, .max_messages = UINT64_MAX, .max_turns = UINT64_MAX};
    for (int b = 0; b < BATCHES; b++) {
        store_ops(store, &all, length, EVICTED);
        const double start = wall_ns();
        const uint64_t evicted = hm_store_settle(store, policy);
        each[b] = (wall_ns() - start) / (double)evicted;
        if (evicted < EVICTED - 1 || evicted > EVICTED + 1)
            die("evicted another number of messages");
    }
    return median(each, BATCHES);
}

/* The block that grows with the contents: what the store took for `records` messages beyond what it takes for empty ones. */
static size_t arena_size(uint64_t records, const hm_policy *policy)
{
    size_t live[2];
    for (int filled = 0; filled < 2; filled++) {
        counted c = {0};
        const hm_store_config config = {.allocator = {count_alloc, count_release, &c}};
        hm_store *store;
        if (hm_store_open(&config, &store) != HM_OK)
            die("open failed");
        store_ops(store, policy, filled ? LENGTH : 0, records + 2);
        live[filled] = c.live;
        hm_store_close(store);
    }
    return live[1] - live[0];
}

static int run(uint64_t records, uint64_t untimed)
{
    counted c = {0};
    const hm_store_config config = {.allocator = {count_alloc, count_release, &c}};
    const hm_policy policy = {.high = UINT64_MAX, .max_messages = records, .max_turns = UINT64_MAX};
    volatile size_t opaque = LENGTH; /* the compiler must not know how long a message is */
    const size_t length = opaque;
    hm_store *store;
    if (hm_store_open(&config, &store) != HM_OK)
        die("open failed");
    store_ops(store, &policy, length, records * 2 + 1024);
    if (untimed) {
        store_ops(store, &policy, length, untimed);
        hm_store_close(store);
        return 0;
    }
    const uint64_t steady = c.allocations;
    arena same = make_arena(arena_size(records, &policy), length), tight = make_arena(records * length, length);
    static double add[BATCHES], copy[BATCHES], copy_tight[BATCHES];
    for (int b = 0; b < BATCHES; b++) {
        const double t0 = cpu_ns();
        store_ops(store, &policy, length, OPS);
        const double t1 = cpu_ns();
        copy_ops(&same, length, OPS);
        const double t2 = cpu_ns();
        copy_ops(&tight, length, OPS);
        const double t3 = cpu_ns();
        add[b] = (t1 - t0) / OPS;
        copy[b] = (t2 - t1) / OPS;
        copy_tight[b] = (t3 - t2) / OPS;
    }
    const uint64_t allocations = c.allocations - steady;
    const double evict = evict_ns(store, &policy, length);
    hm_totals totals;
    hm_store_totals(store, &totals);
    if (totals.window_records > records || totals.window_records + 1 < records || totals.history_records)
        die("the store does not hold what it should");
    const double a = median(add, BATCHES), m = median(copy, BATCHES), t = median(copy_tight, BATCHES);
    printf("{\"records\": %llu, \"add_evict_ns\": %.2f, \"memcpy_ns\": %.2f, \"memcpy_tight_ns\": %.2f, \"ratio\": %.3f, "
           "\"ratio_tight\": %.3f, \"evict_ns\": %.2f, \"arena_bytes\": %zu, \"allocations\": %llu}\n",
           (unsigned long long)records, a, m, t, a / m, a / t, evict, same.size, (unsigned long long)allocations);
    fflush(stdout);
    free(same.bytes);
    free(tight.bytes);
    hm_store_close(store);
    if (allocations)
        fprintf(stderr, "core_bench: %llu allocations in steady state\n", (unsigned long long)allocations);
    return allocations ? 1 : 0;
}

int main(int argc, char **argv)
{
    for (int i = 0; i < SOURCES; i++)
        memset(source[i], 'a' + i % 26, LENGTH);
    if (argc > 1)
        return run(strtoull(argv[1], NULL, 10), argc > 2 ? strtoull(argv[2], NULL, 10) : 0);
    return run(100, 0) | run(10000, 0) | run(1000000, 0);
}
