/* text/models/unigram.c - the most probable pieces of a word: a Viterbi search, forward over the
 * bytes, for Hugging Face's Unigram and SentencePiece's.
 *
 *     best[e] = max over pieces p that end at e of best[e - |p|] + score(p)
 *
 * A character that is not a piece costs 10 more than the worst piece. Of equal sums the piece that
 * begins earlier wins: which sums are equal depends on rounding, so each library's arithmetic is
 * kept.
 * source  Kudo 2018, arXiv:1804.10959 */
#include "base/error.h"
#include "base/memory.h"
#include "text/base/pattern_json.h"
#include "text/base/unicode.h"
#include "text/models/model.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double unknown_penalty = 10;

typedef struct unigram {
    tsri_text_matcher pieces;
    double *scores; /* by id */
    bool *user;     /* by id: user-defined, taken wherever it occurs; NULL: none */
    size_t count;
    int32_t unknown; /* -1: none */
    double unknown_score;
    bool single; /* sums round to float, as SentencePiece's do */
    bool byte_fallback;
    int32_t bytes[256];
} unigram;

static void destroy(void *model) {
    unigram *m = model;
    tsri_text_matcher_clear(&m->pieces);
    free(m->scores);
    free(m->user);
    free(m);
}

static tsr_status new_model(size_t count, int32_t unknown, unigram **out) {
    unigram *m = NULL;
    TRY(tsri_base_new(1, sizeof *m, &m));
    m->count = count;
    m->unknown = unknown;
    tsr_status status = tsri_base_new(count, sizeof *m->scores, &m->scores);
    if (status == TSR_OK)
        status = tsri_base_new(count, sizeof *m->user, &m->user);
    if (status != TSR_OK)
        destroy(m);
    else
        *out = m;
    return status;
}

/* ---- Hugging Face's ---- */

typedef struct reading {
    unigram *model;
    tsri_text_vocabulary *vocabulary;
    double worst;
} reading;

static tsr_status read_piece(void *data, size_t number, const tsri_text_item *item) {
    reading *r = data;
    if (!item->text[0] || !item->number)
        return tsri_base_fail(TSR_E_FORMAT,
                              "model Unigram: entry %zu of \"vocab\" is not a [piece, score] pair",
                              number);
    r->model->scores[number] = item->real;
    r->worst = item->real < r->worst ? item->real : r->worst;
    return item->size[0] ? tsri_text_vocabulary_put(r->vocabulary, (int64_t)number, item->text[0],
                                                    item->size[0], true)
                         : TSR_OK;
}

static tsr_status read_vocabulary(const tsri_text_model_file *file, unigram *m,
                                  tsri_text_vocabulary *vocabulary) {
    reading r = {m, vocabulary, INFINITY};
    TRY(tsri_text_vocabulary_reserve(vocabulary, m->count));
    TRY(tsri_text_each_entry(file, "vocab", read_piece, &r));
    m->unknown_score = r.worst - unknown_penalty;
    /* from the last to the first: of two ids with the same piece the later one is found */
    for (size_t i = m->count; i-- > 0;) {
        size_t n;
        const char *piece = tsri_text_vocabulary_piece(vocabulary, (int64_t)i, &n);
        if (piece)
            TRY(tsri_text_matcher_add(&m->pieces, piece, n, (int32_t)i));
    }
    return TSR_OK;
}

static tsr_status load(const tsri_text_model_file *file, tsri_text_vocabulary *vocabulary,
                       int32_t *unknown, void **model) {
    const json_t *json = file->json;
    static const char what[] = "model Unigram";
    const json_t *list = NULL; /* only its kind is looked at */
    int64_t unk = -1;
    bool byte_fallback = false;
    TRY(tsri_text_list_of(json, what, "vocab", &list));
    const size_t count = tsri_text_count_entries(file, "vocab");
    if (count == 0 || count > TSRI_TEXT_IDS_LIMIT)
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"vocab\" has %zu pieces; 1 to %d are read", what,
                              count, TSRI_TEXT_IDS_LIMIT);
    TRY(tsri_base_json_int(json, what, "unk_id", 0, (int64_t)count - 1, &unk));
    TRY(tsri_base_json_bool(json, what, "byte_fallback", &byte_fallback));
    unigram *m = NULL;
    TRY(new_model(count, (int32_t)unk, &m));
    m->byte_fallback = byte_fallback;
    const tsr_status status = read_vocabulary(file, m, vocabulary);
    if (status != TSR_OK) {
        destroy(m);
        return status;
    }
    tsri_text_vocabulary_byte_ids(vocabulary, m->bytes);
    if (unk >= 0)
        *unknown = (int32_t)unk;
    *model = m;
    return TSR_OK;
}

/* ---- SentencePiece's ---- */

tsr_status tsri_text_unigram_new(const tsri_text_sentencepiece *options,
                                 const tsri_text_vocabulary *vocabulary, void **model) {
    unigram *m = NULL;
    float worst = FLT_MAX;
    TRY(new_model(options->count, options->unknown, &m));
    tsr_status status = TSR_OK;
    m->single = true;
    tsri_text_vocabulary_byte_ids(vocabulary, m->bytes);
    m->byte_fallback = true;
    for (size_t b = 0; b < 256; b++)
        m->byte_fallback =
            m->byte_fallback && m->bytes[b] >= 0 && options->types[m->bytes[b]] == TSRI_TEXT_BYTE;
    for (size_t i = 0; i < m->count && status == TSR_OK; i++) {
        const uint8_t type = options->types[i];
        m->scores[i] = options->scores[i];
        m->user[i] = type == TSRI_TEXT_USER_DEFINED;
        if (type == TSRI_TEXT_NORMAL)
            worst = options->scores[i] < worst ? options->scores[i] : worst;
        size_t n;
        const char *piece = tsri_text_vocabulary_piece(vocabulary, (int64_t)i, &n);
        if (piece && (type == TSRI_TEXT_NORMAL || m->user[i])) /* unused ones are never chosen */
            status = tsri_text_matcher_add(&m->pieces, piece, n, (int32_t)i);
    }
    m->unknown_score = worst - (float)unknown_penalty;
    if (status != TSR_OK)
        destroy(m);
    else
        *model = m;
    return status;
}

/* ---- the search ---- */

static double round_sum(const unigram *m, double sum) {
    return m->single ? (double)(float)sum : sum;
}

/* A user-defined piece of n bytes outweighs any other cut; by how much decides which cuts beside it
 * are equal after rounding, and is what SentencePiece 0.2.3 gives it, found by trial. */
static double score_of(const unigram *m, int32_t id, size_t n) {
    return m->user[id] ? 0.1 * (double)(n - 1) : m->scores[id];
}

static void offer(const unigram *m, tsri_text_best *to, double sum, size_t start, int32_t id) {
    const double score = round_sum(m, sum);
    if (to->start < 0 || score > to->score)
        *to = (tsri_text_best){score, (int32_t)start, id};
}

/* Fills work->best[0..n]: what the best cut up to each byte ends with. */
static tsr_status search(const unigram *m, tsri_text_work *work, const char *word, size_t n) {
    TRY(tsri_base_grow(&work->best, &work->best_capacity, n + 1, sizeof *work->best));
    tsri_text_best *best = work->best;
    best[0] = (tsri_text_best){0, 0, -1};
    for (size_t i = 1; i <= n; i++)
        best[i].start = -1;
    for (size_t at = 0, size; at < n; at += size) {
        int32_t c;
        bool alone = false; /* the character by itself is a piece */
        uint32_t node = TSRI_TEXT_ROOT;
        size = tsri_text_utf8_next(word + at, n - at, &c);
        for (size_t end = at; end < n;) {
            node = tsri_text_matcher_step(&m->pieces, node, (unsigned char)word[end++]);
            if (node == 0)
                break;
            const int32_t id = tsri_text_matcher_value(&m->pieces, node);
            if (id < 0)
                continue;
            offer(m, &best[end], best[at].score + score_of(m, id, end - at), at, id);
            alone |= end - at == size;
        }
        if (!alone)
            offer(m, &best[at + size], best[at].score + m->unknown_score, at, m->unknown);
    }
    return TSR_OK;
}

/* Turns the list of ends into one of starts: best[s].start becomes the end of the piece that starts
 * at s, and best[s].id its id. */
static void turn(tsri_text_best *best, size_t n) {
    int32_t end = (int32_t)n, next_end = -1, next_id = -1;
    while (end > 0) {
        const tsri_text_best here = best[end];
        best[end].start = next_end;
        best[end].id = next_id;
        next_end = end;
        next_id = here.id;
        end = here.start;
    }
    best[0].start = next_end;
    best[0].id = next_id;
}

/* Writes one unknown token, or the bytes, for a run of unknown characters word[at..end). */
static tsr_status write_unknown(const unigram *m, const tsri_text_vocabulary *vocabulary,
                                tsri_text_work *work, const char *word, size_t at, size_t end,
                                tsri_text_ids *ids) {
    /* Hugging Face looks such a run up once more, because it may be the text "<unk>" itself. */
    const int32_t known =
        m->single ? -1 : tsri_text_vocabulary_find_own(vocabulary, word + at, end - at);
    bool bytes = known < 0 && m->byte_fallback;
    for (size_t i = at; i < end && bytes; i++)
        bytes = m->bytes[(unsigned char)word[i]] >= 0;
    for (size_t i = at; i < end && bytes; i++)
        TRY(tsri_text_emit(work, ids, m->bytes[(unsigned char)word[i]], i, i + 1));
    if (bytes)
        return TSR_OK;
    if (known < 0 && m->unknown < 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "model Unigram: \"%.*s\" is not in the vocabulary, and the "
                              "vocabulary has no unknown token",
                              (int)(end - at < 60 ? end - at : 60), word + at);
    return tsri_text_emit(work, ids, known < 0 ? m->unknown : known, at, end);
}

static tsr_status encode(const void *model, const tsri_text_vocabulary *vocabulary,
                         tsri_text_work *work, const char *word, size_t n, tsri_text_ids *ids) {
    const unigram *m = model;
    TRY(search(m, work, word, n));
    turn(work->best, n);
    for (size_t at = 0; at < n;) {
        const int32_t id = work->best[at].id;
        size_t end = (size_t)work->best[at].start;
        const bool known = id >= 0 && id != m->unknown;
        while (!known && end < n && work->best[end].id == id)
            end = (size_t)work->best[end].start;
        TRY(known ? tsri_text_emit(work, ids, id, at, end)
                  : write_unknown(m, vocabulary, work, word, at, end, ids));
        at = end;
    }
    return TSR_OK;
}

static tsr_status describe(const void *model, tsri_bytes *out) {
    const unigram *m = model;
    return tsri_base_bytes_printf(out, "%zu scores%s", m->count,
                                  m->byte_fallback ? ", byte fallback" : "");
}

const tsri_text_model_row tsri_text_unigram = {"Unigram", load, encode, describe, destroy, false};
const tsri_text_model_row tsri_text_sentencepiece_unigram = {
    "SentencePiece Unigram", NULL, encode, describe, destroy, false};
