/* text/models/bpe.c - byte-pair encoding by ranked merges, as Hugging Face's BPE model does it.
 * source  Sennrich, Haddow, Birch 2016, arXiv:1508.07909 */
#include "base/error.h"
#include "base/memory.h"
#include "text/base/pattern_json.h"
#include "text/base/unicode.h"
#include "text/models/model.h"

#include <stdlib.h>
#include <string.h>

enum { MERGES_LIMIT = 1 << 24 };

typedef struct merge {
    int32_t left, right, id; /* id -1: an empty slot */
    uint32_t rank;
} merge;

typedef struct bpe {
    merge *slots; /* open addressing by (left, right) */
    size_t slot_count, merge_count, rank;
    int32_t unknown, bytes[256];
    int32_t first, end; /* the model's own ids; others of the vocabulary are added tokens */
    bool fuse_unknown, byte_fallback, ignore_merges;
    char *prefix, *suffix;
    size_t prefix_size, suffix_size;
    tsri_bytes joined; /* of the merge that is added */
} bpe;

static size_t slot_of(const merge *slots, size_t slot_count, int32_t left, int32_t right) {
    uint64_t h = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9E3779B97F4A7C15u;
    size_t slot = (h ^ h >> 32) & (slot_count - 1);
    while (slots[slot].id >= 0 && (slots[slot].left != left || slots[slot].right != right))
        slot = (slot + 1) & (slot_count - 1);
    return slot;
}

static tsr_status more_slots(bpe *m) {
    const size_t slot_count = m->slot_count ? 2 * m->slot_count : 1024;
    merge *slots = NULL;
    TRY(tsri_base_new(slot_count, sizeof *slots, &slots));
    for (size_t i = 0; i < slot_count; i++)
        slots[i].id = -1;
    for (size_t i = 0; i < m->slot_count; i++)
        if (m->slots[i].id >= 0)
            slots[slot_of(slots, slot_count, m->slots[i].left, m->slots[i].right)] = m->slots[i];
    free(m->slots);
    m->slots = slots;
    m->slot_count = slot_count;
    return TSR_OK;
}

static void destroy(void *model) {
    bpe *m = model;
    free(m->slots);
    free(m->prefix);
    free(m->suffix);
    tsri_base_bytes_clear(&m->joined);
    free(m);
}

tsr_status tsri_text_bpe_new(const tsri_text_bpe_options *options,
                             const tsri_text_vocabulary *vocabulary, void **model) {
    bpe *m = NULL;
    TRY(tsri_base_new(1, sizeof *m, &m));
    m->unknown = options->unknown;
    m->end = INT32_MAX;
    m->fuse_unknown = options->fuse_unknown;
    m->byte_fallback = options->byte_fallback;
    m->ignore_merges = options->ignore_merges;
    m->prefix_size = options->prefix ? strlen(options->prefix) : 0;
    m->suffix_size = options->suffix ? strlen(options->suffix) : 0;
    tsri_text_vocabulary_byte_ids(vocabulary, m->bytes);
    tsr_status status = more_slots(m);
    if (status == TSR_OK && m->prefix_size &&
        !(m->prefix = tsri_base_copy_text(options->prefix, m->prefix_size)))
        status = TSR_E_HOST_MEMORY;
    if (status == TSR_OK && m->suffix_size &&
        !(m->suffix = tsri_base_copy_text(options->suffix, m->suffix_size)))
        status = TSR_E_HOST_MEMORY;
    if (status != TSR_OK)
        destroy(m);
    else
        *model = m;
    return status;
}

static int shown(size_t n) {
    return (int)(n < 60 ? n : 60);
}

static int32_t own_id(const bpe *m, const tsri_text_vocabulary *vocabulary, const char *piece,
                      size_t n) {
    const int32_t id = tsri_text_vocabulary_find_own(vocabulary, piece, n);
    return id >= m->first && id < m->end ? id : -1;
}

static tsr_status set_merge(bpe *m, merge next) {
    if (2 * (m->merge_count + 1) > m->slot_count)
        TRY(more_slots(m));
    merge *slot = &m->slots[slot_of(m->slots, m->slot_count, next.left, next.right)];
    m->merge_count += slot->id < 0;
    *slot = next; /* of a pair that is given twice, the later rank counts */
    return TSR_OK;
}

tsr_status tsri_text_bpe_add(void *model, const tsri_text_vocabulary *vocabulary, const char *a,
                             size_t na, const char *b, size_t nb) {
    bpe *m = model;
    if (m->rank >= MERGES_LIMIT)
        return tsri_base_fail(TSR_E_FORMAT, "merges: more than %d", MERGES_LIMIT);
    const int32_t left = tsri_text_vocabulary_find(vocabulary, a, na),
                  right = tsri_text_vocabulary_find(vocabulary, b, nb);
    if (left < 0 || right < 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "merges: number %zu joins \"%.*s\", which is not in the vocabulary",
                              m->rank, left < 0 ? shown(na) : shown(nb), left < 0 ? a : b);
    if (nb < m->prefix_size)
        return tsri_base_fail(
            TSR_E_FORMAT,
            "merges: number %zu joins \"%.*s\", shorter than continuing_subword_prefix", m->rank,
            shown(nb), b);
    tsri_bytes *sum = &m->joined;
    sum->size = 0;
    TRY(tsri_base_bytes_append(sum, a, na));
    TRY(tsri_base_bytes_append(sum, b + m->prefix_size, nb - m->prefix_size));
    const int32_t id = tsri_text_vocabulary_find(vocabulary, sum->data, sum->size);
    if (id < 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "merges: number %zu gives \"%.*s\", which is not in the vocabulary",
                              m->rank, shown(sum->size), sum->data);
    return set_merge(m, (merge){left, right, id, (uint32_t)m->rank++});
}

/* Both parts of every cut of a piece that are pieces themselves. */
static tsr_status add_cuts(bpe *m, const tsri_text_vocabulary *vocabulary, int32_t id) {
    size_t n;
    int32_t c;
    const char *piece = tsri_text_vocabulary_piece(vocabulary, id, &n);
    if (!piece)
        return TSR_OK;
    for (size_t at = tsri_text_utf8_next(piece, n, &c); at < n;
         at += tsri_text_utf8_next(piece + at, n - at, &c)) {
        const int32_t left = own_id(m, vocabulary, piece, at),
                      right = left < 0 ? -1 : own_id(m, vocabulary, piece + at, n - at);
        if (right >= 0)
            TRY(set_merge(m, (merge){left, right, id, (uint32_t)(id - m->first)}));
    }
    return TSR_OK;
}

tsr_status tsri_text_bpe_add_ranked(void *model, const tsri_text_vocabulary *vocabulary,
                                    int32_t first, int32_t end) {
    bpe *m = model;
    m->first = first;
    m->end = end;
    for (int32_t id = first; id < end; id++)
        TRY(add_cuts(m, vocabulary, id));
    return TSR_OK;
}

typedef struct adding {
    bpe *model;
    const tsri_text_vocabulary *vocabulary;
} adding;

static tsr_status add_item(void *data, size_t number, const tsri_text_item *item) {
    const adding *to = data;
    const char *text = item->text[0] ? item->text[0] : "";
    const size_t n = item->size[0];
    if (item->text[1])
        return tsri_text_bpe_add(to->model, to->vocabulary, text, n, item->text[1], item->size[1]);
    const char *space = memchr(text, ' ', n);
    if (n >= 8 && memcmp(text, "#version", 8) == 0) /* the first line of a merges.txt */
        return TSR_OK;
    if (item->number || !space || memchr(space + 1, ' ', n - (size_t)(space + 1 - text)))
        return tsri_base_fail(TSR_E_FORMAT, "merges: number %zu is \"%.*s\"; two pieces are needed",
                              number, item->number ? 0 : shown(n), text);
    const size_t na = (size_t)(space - text);
    return tsri_text_bpe_add(to->model, to->vocabulary, text, na, space + 1, n - na - 1);
}

static tsr_status load(const tsri_text_model_file *file, tsri_text_vocabulary *vocabulary,
                       int32_t *unknown, void **model) {
    const json_t *json = file->json;
    static const char what[] = "model BPE";
    tsri_text_bpe_options options = {.unknown = -1};
    const char *unk = NULL;
    double dropout = 0;
    const json_t *merges = NULL; /* only its kind is looked at */
    TRY(tsri_text_model_vocabulary(file, what, vocabulary));
    TRY(tsri_base_json_text(json, what, "unk_token", &unk));
    TRY(tsri_base_json_bool(json, what, "fuse_unk", &options.fuse_unknown));
    TRY(tsri_base_json_bool(json, what, "byte_fallback", &options.byte_fallback));
    TRY(tsri_base_json_bool(json, what, "ignore_merges", &options.ignore_merges));
    TRY(tsri_base_json_text(json, what, "continuing_subword_prefix", &options.prefix));
    TRY(tsri_base_json_text(json, what, "end_of_word_suffix", &options.suffix));
    TRY(tsri_base_json_real(json, what, "dropout", 0, 1, &dropout));
    TRY(tsri_text_list_of(json, what, "merges", &merges));
    if (dropout > 0)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: \"dropout\" is %g; random merges are not supported, set it to null", what,
            dropout);
    if (unk && (options.unknown = tsri_text_vocabulary_find(vocabulary, unk, strlen(unk))) < 0)
        return tsri_base_fail(
            TSR_E_FORMAT, "%s: \"unk_token\" is \"%s\", which is not in the vocabulary", what, unk);
    void *m = NULL;
    TRY(tsri_text_bpe_new(&options, vocabulary, &m));
    const tsr_status status =
        tsri_text_each_entry(file, "merges", add_item, &(adding){m, vocabulary});
    if (status != TSR_OK) {
        destroy(m);
        return status;
    }
    if (unk)
        *unknown = options.unknown;
    *model = m;
    return TSR_OK;
}

static bool ranked(const void *model, tsri_text_work *work, const tsri_text_symbol *left,
                   const tsri_text_symbol *right, uint32_t *order, int32_t *id) {
    (void)work;
    const bpe *m = model;
    const merge *slot = &m->slots[slot_of(m->slots, m->slot_count, left->id, right->id)];
    if (slot->id < 0)
        return false;
    *order = slot->rank;
    *id = slot->id;
    return true;
}

/* The id of one character, with the prefix or suffix that its place in the word requires. */
static tsr_status character_id(const bpe *m, const tsri_text_vocabulary *vocabulary,
                               const char *text, size_t n, bool first, bool last,
                               tsri_bytes *dressed, int32_t *id) {
    const bool prefix = m->prefix && !first, suffix = m->suffix && last;
    if (!prefix && !suffix) {
        dressed->size = 0;
        *id = own_id(m, vocabulary, text, n);
        return TSR_OK;
    }
    dressed->size = 0;
    if (prefix)
        TRY(tsri_base_bytes_append(dressed, m->prefix, m->prefix_size));
    TRY(tsri_base_bytes_append(dressed, text, n));
    if (suffix)
        TRY(tsri_base_bytes_append(dressed, m->suffix, m->suffix_size));
    *id = own_id(m, vocabulary, dressed->data, dressed->size);
    return TSR_OK;
}

/* Adds symbols for the bytes of a character that is not in the vocabulary; *done stays false when a
 * byte has no piece either. */
static tsr_status add_bytes(const bpe *m, tsri_text_work *work, const char *text, size_t n,
                            size_t start, bool *done) {
    for (size_t i = 0; i < n; i++)
        if (m->bytes[(unsigned char)text[i]] < 0)
            return TSR_OK;
    *done = true;
    for (size_t i = 0; i < n; i++)
        TRY(tsri_text_symbol_add(work, start + i, 1, m->bytes[(unsigned char)text[i]], false));
    return TSR_OK;
}

static tsr_status symbols_of(const bpe *m, const tsri_text_vocabulary *vocabulary,
                             tsri_text_work *work, const char *word, size_t n,
                             tsri_bytes *dressed) {
    size_t unknown_start = 0, unknown_size = 0; /* a run of unknown characters that is not added
                                                   yet */
    work->count = 0;
    for (size_t at = 0, size; at < n; at += size) {
        int32_t c, id;
        size = tsri_text_utf8_next(word + at, n - at, &c);
        TRY(character_id(m, vocabulary, word + at, size, at == 0, at + size == n, dressed, &id));
        if (id >= 0) {
            if (unknown_size)
                TRY(tsri_text_symbol_add(work, unknown_start, unknown_size, m->unknown, false));
            unknown_size = 0;
            TRY(tsri_text_symbol_add(work, at, size, id, false));
            continue;
        }
        bool done = false;
        if (m->byte_fallback)
            TRY(dressed->size ? add_bytes(m, work, dressed->data, dressed->size, at, &done)
                              : add_bytes(m, work, word + at, size, at, &done));
        if (done || m->unknown < 0)
            continue;
        if (unknown_size && !m->fuse_unknown) {
            TRY(tsri_text_symbol_add(work, unknown_start, unknown_size, m->unknown, false));
            unknown_size = 0;
        }
        if (unknown_size == 0)
            unknown_start = at;
        unknown_size += size;
    }
    return unknown_size ? tsri_text_symbol_add(work, unknown_start, unknown_size, m->unknown, false)
                        : TSR_OK;
}

static tsr_status encode(const void *model, const tsri_text_vocabulary *vocabulary,
                         tsri_text_work *work, const char *word, size_t n, tsri_text_ids *ids) {
    const bpe *m = model;
    const bool whole_first = m->ignore_merges && !work->dropout;
    const int32_t whole = whole_first ? own_id(m, vocabulary, word, n) : -1;
    if (whole >= 0)
        return tsri_text_emit(work, ids, whole, 0, n);
    tsri_bytes dressed = {0};
    tsr_status status = symbols_of(m, vocabulary, work, word, n, &dressed);
    tsri_base_bytes_clear(&dressed);
    if (status == TSR_OK)
        status = tsri_text_merge(work, ranked, m);
    for (size_t i = 0; i < work->count && status == TSR_OK; i++)
        if (work->symbols[i].size)
            status = tsri_text_emit(work, ids, work->symbols[i].id, work->symbols[i].start,
                                    (size_t)work->symbols[i].start + work->symbols[i].size);
    return status;
}

static tsr_status describe(const void *model, tsri_bytes *out) {
    const bpe *m = model;
    return tsri_base_bytes_printf(out, "%zu merges%s%s", m->merge_count,
                                  m->byte_fallback ? ", byte fallback" : "",
                                  m->ignore_merges ? ", whole words first" : "");
}

const tsri_text_model_row tsri_text_bpe = {"BPE", load, encode, describe, destroy, .merges = true};
