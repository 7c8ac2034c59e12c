/* text/models/two_vocabularies.c - a model that cuts with the pieces of one vocabulary and gives
 * the ids of another: Marian, M2M-100 and CTranslate2 keep their ids apart from the SentencePiece
 * model. */
#include "base/error.h"
#include "base/memory.h"
#include "text/models/model.h"

#include <stdlib.h>

typedef struct mapped {
    tsri_text_segmenter segmenter; /* the text of its unknown token may be a piece in this
                                      vocabulary */
    int32_t *ids;                  /* by the segmenter's ids */
    int32_t unknown;
} mapped;

static void destroy(void *model) {
    mapped *m = model;
    free(m->ids);
    free(m);
}

tsr_status tsri_text_two_vocabularies_new(const tsri_text_segmenter *segmenter,
                                          const tsri_text_vocabulary *vocabulary, int32_t unknown,
                                          void **model) {
    const size_t count = segmenter->vocabulary->count;
    mapped *m = NULL;
    TRY(tsri_base_new(1, sizeof *m, &m));
    const tsr_status status = tsri_base_new(count, sizeof *m->ids, &m->ids);
    if (status != TSR_OK) {
        destroy(m);
        return status;
    }
    m->unknown = unknown;
    for (size_t i = 0; i < count; i++) {
        size_t n;
        const char *piece = tsri_text_vocabulary_piece(segmenter->vocabulary, (int64_t)i, &n);
        const int32_t id = piece ? tsri_text_vocabulary_find(vocabulary, piece, n) : -1;
        m->ids[i] = id < 0 ? unknown : id;
    }
    m->segmenter = *segmenter;
    *model = m;
    return TSR_OK;
}

static tsr_status map(const mapped *m, const tsri_text_vocabulary *vocabulary,
                      const tsri_text_ids *cut, const tsri_text_ranges *places, const char *word,
                      tsri_text_work *work, tsri_text_ids *ids) {
    for (size_t i = 0; i < cut->count; i++) {
        const tsri_text_range at = places->items[i];
        int32_t id = m->ids[cut->data[i]];
        if (cut->data[i] == m->segmenter.unknown) {
            id = tsri_text_vocabulary_find_own(vocabulary, word + at.start, at.end - at.start);
            id = id < 0 ? m->unknown : id;
        }
        if (id >= 0)
            TRY(tsri_text_emit(work, ids, id, at.start, at.end));
    }
    return TSR_OK;
}

static tsr_status encode(const void *model, const tsri_text_vocabulary *vocabulary,
                         tsri_text_work *work, const char *word, size_t n, tsri_text_ids *ids) {
    const mapped *m = model;
    const tsri_text_segmenter *s = &m->segmenter;
    tsri_text_ids cut = {0};
    tsri_text_ranges places = {0}, *wanted = work->places;
    work->places = &places;
    tsr_status status = s->row->encode(s->model, s->vocabulary, work, word, n, &cut);
    work->places = wanted;
    if (status == TSR_OK)
        status = map(m, vocabulary, &cut, &places, word, work, ids);
    tsri_text_ids_clear(&cut);
    tsri_text_ranges_clear(&places);
    return status;
}

static tsr_status describe(const void *model, tsri_bytes *out) {
    const tsri_text_segmenter *s = &((const mapped *)model)->segmenter;
    TRY(tsri_base_bytes_printf(out, "%s, ", s->row->type));
    return s->row->describe(s->model, out);
}

const tsri_text_model_row tsri_text_two_vocabularies = {"mapped", NULL,    encode,
                                                        describe, destroy, false};
