/* view.c - reading a planned prompt: its records in order, their handles, their content. frame.c plans it. */
#include "store_internal.h"

#include <string.h>

/* The next shown one of the records that stand apart, or NULL. */
static inline const hm_record *next_apart(const hm_store *s, const hm_view *view, size_t *i)
{
    while (*i < s->kept_count) {
        const hm_record *r = hm_kept_record(s, (*i)++);
        if (hm_shown(r) && (r->seq != view->without || hm_is_pinned(r)))
            return r;
    }
    return NULL;
}

/* The same for the window, from position *p on. */
static inline const hm_record *next_in_window(const hm_store *s, const hm_view *view, uint64_t *p)
{
    while (*p < s->end) {
        const uint64_t at = (*p)++;
        const hm_record *r = hm_at(s, at);
        if (hm_shown(r) && (at >= view->first || hm_protected(s, r)))
            return r;
    }
    return NULL;
}

const hm_record *hm_store_next(const hm_store *s, const hm_view *view, uint64_t *cursor)
{
    if (*cursor < s->kept_count) {
        size_t i = (size_t)*cursor;
        const hm_record *r = next_apart(s, view, &i);
        *cursor = i;
        if (r)
            return r;
    }
    uint64_t p = s->start + (*cursor - s->kept_count);
    const hm_record *r = next_in_window(s, view, &p);
    *cursor = p - s->start + s->kept_count;
    return r;
}

size_t hm_store_hosts(const hm_store *store, const hm_view *view, void **out)
{
    const hm_store copy = *store, *s = &copy; /* out may not alias it: its fields stay in registers */
    size_t n = 0, i = 0;
    uint64_t p = s->start;
    for (const hm_record *r; (r = next_apart(s, view, &i)) != NULL; out[n++] = r->host)
        if ((r->flags & HM_DEAD) || !r->host)
            return SIZE_MAX;
    for (const hm_record *r; (r = next_in_window(s, view, &p)) != NULL; out[n++] = r->host)
        if ((r->flags & HM_DEAD) || !r->host)
            return SIZE_MAX;
    return n;
}

size_t hm_store_packed(const hm_store *s, hm_view *view, size_t *bytes)
{
    size_t n = 0, sum = 0, i = 0, from = 0, to = 0;
    uint64_t p = s->start;
    for (const hm_record *r; (r = next_apart(s, view, &i)) != NULL; n++, sum += r->length)
        if ((r->flags & HM_DEAD) || r->host)
            return SIZE_MAX;
    const size_t apart = sum;
    for (const hm_record *r; (r = next_in_window(s, view, &p)) != NULL; n++, sum += r->length) {
        if ((r->flags & HM_DEAD) || r->host)
            return SIZE_MAX;
        if (sum == apart)
            from = r->offset;
        to = r->offset + r->length;
    }
    /* Contents lie in the arena in order: where as many bytes lie between the first one and the end of the last one as
     * they have, they lie in one piece. */
    view->piece = to > from && to - from == sum - apart ? from : SIZE_MAX;
    view->piece_length = sum - apart;
    *bytes = sum;
    return n;
}

size_t hm_store_gather_size(const hm_store *s, const hm_view *view)
{
    size_t sum = 0;
    uint64_t cursor = 0;
    for (const hm_record *r; (r = hm_store_next(s, view, &cursor)) != NULL;)
        sum += r->length;
    return sum;
}

void hm_store_gather(const hm_store *s, const hm_view *view, uint8_t *out)
{
    size_t i = 0;
    for (const hm_record *r; (r = next_apart(s, view, &i)) != NULL; out += r->length)
        if (r->length)
            memcpy(out, hm_store_bytes(s, r), r->length);
    if (view->piece != SIZE_MAX) {
        memcpy(out, s->arena + view->piece, view->piece_length);
        return;
    }
    uint64_t p = s->start;
    size_t from = 0, to = 0;
    for (const hm_record *r; (r = next_in_window(s, view, &p)) != NULL;) {
        if (r->offset != to && r->length) {
            if (to != from)
                memcpy(out, s->arena + from, to - from);
            out += to - from;
            from = to = r->offset;
        }
        to += r->length;
    }
    if (to != from)
        memcpy(out, s->arena + from, to - from);
}
