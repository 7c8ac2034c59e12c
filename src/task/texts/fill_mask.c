/* task/texts/fill_mask.c - finds the likeliest tokens for each mask in texts. */
#include "tessera/fill_mask.h"

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/structs.h"
#include "model/model.h"
#include "task/texts/passages.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CONFIG = 1 << 24, DEPTH = 64 };
static const char written[] = "[MASK]"; /* how texts write a mask, for every model */

/* Of a text with masks past what the model reads; else zeros. */
typedef struct lost {
    size_t masks, tokens;
} lost;

typedef struct filling {
    tsri_model *model;
    tsri_session *session;
    tsri_task_reader reader;
    tsri_task_passages passages;
    int32_t mask;
    const char *mask_text; /* borrowed from the tokenizer, not terminated */
    size_t mask_size;
    int32_t top_k;
    int (*visit)(void *data, const tsr_fill *fill);
    void *data;
    lost *lost;   /* [texts] */
    size_t first; /* the first text of the batch; the last one is the last that was read */
    tsri_model_sequence *sequences;
    int64_t *listed; /* places of the batch's masks among its tokens */
    size_t n_listed, sequences_room, listed_room;
    float *logits, *lse; /* [masks, top_k], [masks] */
    int32_t *ids;
    size_t logits_room, lse_room, ids_room;
    tsr_filled *candidates; /* [top_k] */
} filling;

/* ---- the mask token ---- */

/* Reads "mask_token" of a JSON file: a text, or an object with "content"; *id is -1 where there is
 * none. */
static tsr_status named_mask(const filling *f, const char *name, int32_t *id) {
    json_t *json = NULL;
    char *path = tsri_base_join(f->model->folder, name);
    tsr_status status = path ? TSR_OK : TSR_E_HOST_MEMORY;
    if (status == TSR_OK && tsri_base_is_file(path))
        status = tsri_base_json_load(path, MOST_CONFIG, DEPTH, &json);
    const json_t *value = json_object_get(json, "mask_token");
    if (json_is_object(value))
        value = json_object_get(value, "content");
    if (json_is_string(value))
        *id = tsri_text_id_of(f->reader.tokenizer, json_string_value(value),
                              json_string_length(value));
    json_decref(json);
    free(path);
    return status;
}

static tsr_status find_mask(filling *f) {
    static const char *const files[] = {"tokenizer_config.json", "special_tokens_map.json"},
                             *const names[] = {"[MASK]", "<mask>"};
    f->mask = -1;
    for (int i = 0; i < 2 && f->mask < 0 && f->model->folder; i++)
        TRY(named_mask(f, files[i], &f->mask));
    for (int i = 0; i < 2 && f->mask < 0; i++)
        f->mask = tsri_text_id_of(f->reader.tokenizer, names[i], strlen(names[i]));
    if (f->mask < 0)
        return tsri_base_fail(TSR_E_STATE,
                              "%s: its tokenizer has no mask token (tokenizer_config.json's "
                              "mask_token, [MASK] or <mask>)",
                              f->model->path);
    f->mask_text = tsri_text_piece_of(f->reader.tokenizer, f->mask, &f->mask_size);
    return TSR_OK;
}

/* ---- texts ---- */

/* Replaces "[MASK]" in the text by the model's mask token. */
static tsr_status spell_masks(const filling *f, const tsr_string *text, tsri_bytes *out) {
    const size_t n = sizeof written - 1;
    const char *at = text->data, *end = text->data + text->size, *found;
    out->size = 0;
    TRY(tsri_base_bytes_append(out, "", 0));
    while (at < end && (found = memmem(at, (size_t)(end - at), written, n))) {
        TRY(tsri_base_bytes_append(out, at, (size_t)(found - at)));
        TRY(tsri_base_bytes_append(out, f->mask_text, f->mask_size));
        at = found + n;
    }
    return tsri_base_bytes_append(out, at, (size_t)(end - at));
}

static size_t masks_of(const filling *f, size_t text) {
    size_t n = 0;
    for (size_t i = f->passages.starts[text]; i < f->passages.starts[text + 1]; i++)
        n += f->passages.ids.data[i] == f->mask;
    return n;
}

/* Reads a text. One that loses a mask becomes an empty text, and the visitor is told: that mask would silently get no
 * answer. */
static tsr_status read_text(filling *f, const tsr_string *text, tsri_bytes *spelled) {
    tsri_task_passages *p = &f->passages;
    const uint64_t cut = p->cut;
    TRY(spell_masks(f, text, spelled));
    const tsr_string own = {.data = spelled->data, .size = spelled->size};
    TRY(tsri_task_passages_add(&f->reader, p, "", &own, NULL));
    if (p->cut == cut)
        return TSR_OK;
    size_t wanted = 0;
    for (size_t i = 0; i < p->part[0].count; i++)
        wanted += p->part[0].data[i] == f->mask;
    lost *lost = &f->lost[p->n - 1];
    lost->masks = wanted - masks_of(f, p->n - 1);
    lost->tokens = p->part[0].count;
    if (lost->masks)
        p->ids.count = p->types.count = p->starts[p->n] = p->starts[p->n - 1];
    return TSR_OK;
}

/* ---- running ---- */

/* Lists the masks of the batch. */
static tsr_status list_masks(filling *f) {
    const tsri_task_passages *p = &f->passages;
    f->n_listed = 0;
    for (size_t i = p->starts[f->first]; i < p->ids.count; i++)
        if (p->ids.data[i] == f->mask) {
            TRY(tsri_base_grow(&f->listed, &f->listed_room, f->n_listed + 1, sizeof *f->listed));
            f->listed[f->n_listed++] = (int64_t)(i - p->starts[f->first]);
        }
    return TSR_OK;
}

static tsr_status run(filling *f) {
    const tsri_task_passages *p = &f->passages;
    const size_t cells = f->n_listed * (size_t)f->top_k;
    TRY(tsri_base_grow(&f->logits, &f->logits_room, cells, sizeof *f->logits));
    TRY(tsri_base_grow(&f->ids, &f->ids_room, cells, sizeof *f->ids));
    TRY(tsri_base_grow(&f->lse, &f->lse_room, f->n_listed, sizeof *f->lse));
    TRY(tsri_base_grow(&f->sequences, &f->sequences_room, p->n - f->first, sizeof *f->sequences));
    int32_t n = 0;
    for (size_t i = f->first; i < p->n;
         i++) /* numbers in the list count tokens, and empty texts have none */
        if (p->starts[i + 1] > p->starts[i])
            f->sequences[n++] =
                (tsri_model_sequence){.ids = p->ids.data + p->starts[i],
                                      .types = p->types.data + p->starts[i],
                                      .n = (int64_t)(p->starts[i + 1] - p->starts[i])};
    const tsri_model_results results = {.rows = TSRI_ROWS_LISTED,
                                        .listed = f->listed,
                                        .n_listed = (int64_t)f->n_listed,
                                        .top_k = f->top_k,
                                        .top_logits = f->logits,
                                        .top_ids = f->ids,
                                        .top_lse = f->lse};
    return f->n_listed ? tsri_session_encode(f->session, f->sequences, n, &results) : TSR_OK;
}

static tsr_status visit_mask(const filling *f, tsr_fill *fill, size_t row) {
    for (int32_t k = 0; fill->masks && k < f->top_k; k++) {
        const size_t cell = row * (size_t)f->top_k + (size_t)k;
        const double p = exp((double)f->logits[cell] - (double)f->lse[row]);
        if (!isfinite(p))
            return tsri_base_fail(TSR_E_DEVICE,
                                  "the logits of text %zu are not finite: the weights are damaged, "
                                  "or they overflow in this dtype",
                                  fill->text + 1);
        f->candidates[k] = (tsr_filled){.id = f->ids[cell], .probability = (float)p};
    }
    fill->candidates = f->candidates;
    if (f->visit(f->data, fill))
        return tsri_base_fail(TSR_E_CANCELLED, "filling masks was cancelled");
    return TSR_OK;
}

static tsr_status visit_batch(const filling *f) {
    size_t row = 0;
    for (size_t text = f->first; text < f->passages.n; text++) {
        const lost *lost = &f->lost[text];
        tsr_fill fill = {.struct_size = sizeof fill,
                         .text = text,
                         .masks = masks_of(f, text),
                         .lost = lost->masks,
                         .tokens = lost->masks ? lost->tokens : 0,
                         .reads = lost->masks ? (size_t)f->reader.max_tokens : 0};
        fill.n = fill.masks ? (uint32_t)f->top_k : 0;
        do
            TRY(visit_mask(f, &fill, row));
        while (++fill.mask < fill.masks && ++row);
        row += fill.masks > 0;
    }
    return TSR_OK;
}

static tsr_status fill_batch(filling *f) {
    TRY(list_masks(f));
    TRY(run(f));
    TRY(visit_batch(f));
    f->first = f->passages.n;
    return TSR_OK;
}

/* A batch is visited before the texts after it are read: a visitor that cancels does not wait for
 * them. */
static tsr_status fill_texts(filling *f, const tsr_string *texts, size_t n, tsri_bytes *spelled) {
    const tsri_task_passages *p = &f->passages;
    for (size_t i = 0; i < n; i++) {
        TRY(read_text(f, &texts[i], spelled));
        if (i + 1 == n || p->ids.count - p->starts[f->first] >= TSRI_TASK_RUN_TOKENS)
            TRY(fill_batch(f));
    }
    return TSR_OK;
}

static tsr_status fill_all(filling *f, const tsr_string *texts, size_t n) {
    tsri_bytes spelled = {0};
    TRY(tsri_task_reader_begin(f->model, "filling masks", 0, &f->reader));
    if (!tsri_model_has_masked(f->model->weights))
        return tsri_base_fail(TSR_E_STATE,
                              "%s has no masked LM head; models of class ...ForMaskedLM have one",
                              f->model->path);
    TRY(find_mask(f));
    TRY(tsri_session_create(f->model, 1, 0, &f->session));
    TRY(tsri_base_new(n, sizeof *f->lost, &f->lost));
    TRY(tsri_base_new((size_t)f->top_k, sizeof *f->candidates, &f->candidates));
    const tsr_status status = fill_texts(f, texts, n, &spelled);
    tsri_base_bytes_clear(&spelled);
    return status;
}

tsr_status tsr_fill_mask(tsr_model *model, const tsr_string *texts, size_t n, uint32_t top_k,
                         int (*visit)(void *data, const tsr_fill *fill), void *data) {
    TRY(NEED(model));
    filling f = {.model = tsri_model_of(model), .visit = visit, .data = data};
    if (top_k < 1 || top_k > (uint32_t)f.model->spec.vocab)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "the %" PRIu32 " likeliest tokens were asked for; the number must be "
                              "from 1 to %" PRId32,
                              top_k, f.model->spec.vocab);
    f.top_k = (int32_t)top_k;
    const tsr_status status = fill_all(&f, texts, n);
    tsri_session_destroy(&f.session);
    tsri_task_passages_clear(&f.passages);
    free(f.lost);
    free(f.sequences);
    free(f.listed);
    free(f.logits);
    free(f.lse);
    free(f.ids);
    free(f.candidates);
    return status;
}
