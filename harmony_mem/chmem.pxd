# What the binding uses of csrc/hmem.h. Declarations only; the header is the manual.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t


cdef extern from "hmem.h" nogil:
    ctypedef enum hm_status:
        HM_OK
        HM_ENOMEM
        HM_EINVAL
        HM_ELIMIT
        HM_ENOENT

    ctypedef struct hm_allocator:
        pass
    const hm_allocator hm_default_allocator

    ctypedef enum hm_role:
        HM_SYSTEM
        HM_USER
        HM_ASSISTANT
        HM_TOOL

    enum:
        HM_JOIN
        HM_HIDDEN
        HM_PINNED
        HM_DEAD
        HM_HEAD
        HM_TURN_PINNED

    ctypedef struct hm_record:
        uint64_t seq
        int64_t time
        uint64_t start_seq
        void *host
        uint32_t length
        uint32_t tokens
        uint32_t fingerprint
        uint32_t turn
        uint8_t role
        uint8_t flags
        uint8_t in_turn

    ctypedef struct hm_message:
        int64_t time
        const void *bytes
        size_t length
        void *host
        uint32_t weight
        uint32_t tokens
        uint32_t fingerprint
        hm_role role
        unsigned flags

    ctypedef struct hm_store:
        pass

    ctypedef struct hm_store_config:
        hm_allocator allocator
        size_t limit_bytes
        size_t history_bytes
        void (*release)(void *context, void *host) noexcept
        void *release_context

    ctypedef struct hm_policy:
        uint64_t high
        uint64_t overlap
        uint64_t fixed
        uint64_t max_messages
        uint64_t max_turns
        uint64_t slack

    ctypedef struct hm_view:
        uint64_t first
        uint64_t without
        uint64_t tokens
        size_t most
        bint fits

    ctypedef struct hm_totals:
        uint64_t head_tokens, head_records
        uint64_t kept_tokens, kept_records
        uint64_t window_tokens, window_records
        uint64_t pinned_tokens
        uint64_t messages, turns
        uint64_t evicted_records, evicted_tokens
        uint64_t outside_records, outside_tokens
        uint64_t dropped_records
        uint64_t history_records, history_bytes
        uint64_t last_seq
        uint64_t anchor_seq, newest_seq
        uint64_t first_seq
        uint64_t start_seq
        uint64_t bytes
        uint64_t reuse_count
        double reuse_share

    hm_status hm_store_open(const hm_store_config *config, hm_store **out)
    void hm_store_close(hm_store *store)
    hm_status hm_store_append(hm_store *store, const hm_message *message, uint64_t *seq)
    uint64_t hm_store_settle(hm_store *store, const hm_policy *policy)
    void hm_store_refill(hm_store *store, const hm_policy *policy)
    hm_status hm_store_advance(hm_store *store, uint64_t seq)
    void hm_store_hold(hm_store *store, uint64_t seq)

    ctypedef struct hm_notice:
        uint64_t recent_tokens, recent_messages, evicted_records
    bint hm_store_exceeds(const hm_store *store, const hm_notice *notice)
    hm_view hm_store_view(const hm_store *store, const hm_policy *policy)
    size_t hm_store_hosts(const hm_store *store, const hm_view *view, void **out)
    const hm_record *hm_store_next(const hm_store *store, const hm_view *view, uint64_t *cursor)
    const hm_record *hm_store_find(const hm_store *store, uint64_t seq)
    const hm_record *hm_store_from(const hm_store *store, uint64_t seq)
    const uint8_t *hm_store_bytes(const hm_store *store, const hm_record *record)
    size_t hm_store_packed(const hm_store *store, hm_view *view, size_t *bytes)
    void hm_store_gather(const hm_store *store, const hm_view *view, uint8_t *out)
    hm_status hm_store_set_cost(hm_store *store, uint64_t seq, uint32_t tokens, uint32_t fingerprint, unsigned flags)
    hm_status hm_store_pin(hm_store *store, uint64_t seq, bint pinned)
    hm_status hm_store_rewind(hm_store *store, uint64_t after_seq)
    void hm_store_clear(hm_store *store)
    hm_status hm_store_trim(hm_store *store)
    void hm_store_set_limits(hm_store *store, size_t limit_bytes, size_t history_bytes)
    void hm_store_totals(const hm_store *store, hm_totals *out)

    size_t hm_estimate(const void *text, size_t length, unsigned width)
    size_t hm_grapheme_floor(const void *text, size_t length, unsigned width, size_t position)
    size_t hm_grapheme_ceil(const void *text, size_t length, unsigned width, size_t position)
    bint hm_has_surrogate(const void *text, size_t length, unsigned width)
