/* task/dump.c - a padded batch becomes sequences without padding, and what they give is put back in
 * its places. */
#include "tessera/dump.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "io/save.h"
#include "model/opened.h"
#include "model/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct dump {
    const tsr_dump_inputs *in;
    const tsri_model *model;
    int64_t B, T, N; /* N: tokens that are not padding */
    int32_t L;
    int32_t *ids, *positions; /* [N] */
    int64_t *place;           /* [N]: t of each token in its row */
    tsri_model_sequence *sequences;
    float *logits, **hidden, **attention; /* as the session gives them */
    uint64_t attention_size;              /* floats of one layer */
    tsri_io_entry *entries;
    char (*names)[32];
    float **padded;
    size_t n_entries;
} dump;

static bool is_token(const tsr_dump_inputs *in, int64_t i) {
    return !in->attention_mask || in->attention_mask[i];
}

static tsr_status compact(dump *d) {
    const tsr_dump_inputs *in = d->in;
    const bool counted = tsri_model_main_stack(&d->model->spec)->positions_of_tokens;
    int64_t at = 0;
    for (int64_t b = 0; b < d->B; b++) {
        const int64_t first = at;
        for (int64_t t = 0; t < d->T; t++) {
            const int64_t i = b * d->T + t;
            if (!is_token(in, i))
                continue;
            if (in->input_ids[i] < 0 || in->input_ids[i] >= d->model->spec.vocab)
                return tsri_base_fail(TSR_E_ARGUMENT,
                                      "input_ids[%" PRId64 "][%" PRId64 "] is %" PRId64
                                      ": the model's vocabulary has the ids 0 to %d",
                                      b, t, in->input_ids[i], (int)d->model->spec.vocab - 1);
            const int64_t position = in->position_ids ? in->position_ids[i]
                                     : counted        ? at - first
                                                      : t;
            if (position < 0 || position >= d->model->spec.context)
                return tsri_base_fail(TSR_E_ARGUMENT,
                                      "position_ids[%" PRId64 "][%" PRId64 "] is %" PRId64
                                      ": the model reads the positions 0 to %" PRId64,
                                      b, t, position, d->model->spec.context - 1);
            d->ids[at] = (int32_t)in->input_ids[i];
            d->positions[at] = (int32_t)position;
            d->place[at++] = t;
        }
        if (at == first)
            return tsri_base_fail(
                TSR_E_ARGUMENT,
                "row %" PRId64 " of attention_mask has no token: at least one is wanted", b);
        d->sequences[b] = (tsri_model_sequence){.ids = d->ids + first,
                                                .positions = d->positions + first,
                                                .n = at - first,
                                                .slot = (int32_t)b};
        d->attention_size += (uint64_t)d->model->spec.decoder.heads * (uint64_t)(at - first) *
                             (uint64_t)(at - first);
    }
    d->N = at;
    return TSR_OK;
}

static tsr_status make_room(dump *d) {
    const size_t N = (size_t)d->N, V = (size_t)d->model->spec.vocab,
                 C = (size_t)d->model->spec.width;
    TRY(tsri_base_new(N * V, sizeof *d->logits, &d->logits));
    TRY(tsri_base_new((size_t)d->L + 1, sizeof *d->hidden, &d->hidden));
    for (int32_t l = 0; l <= d->L; l++)
        TRY(tsri_base_new(N * C, sizeof **d->hidden, &d->hidden[l]));
    if (!d->in->attention)
        return TSR_OK;
    TRY(tsri_base_new((size_t)d->L, sizeof *d->attention, &d->attention));
    for (int32_t l = 0; l < d->L; l++)
        TRY(tsri_base_new(d->attention_size, sizeof **d->attention, &d->attention[l]));
    return TSR_OK;
}

static tsr_status run(dump *d, tsri_model *model) {
    tsri_session *session;
    TRY(tsri_session_create(model, (int32_t)d->B, d->T, &session));
    const tsri_model_results results = {
        .rows = TSRI_ROWS_ALL, .logits = d->logits, .hidden = d->hidden, .attention = d->attention};
    const tsr_status status = tsri_session_forward(session, d->sequences, (int32_t)d->B, &results);
    tsri_session_destroy(&session);
    return status;
}

static tsr_status add_entry(dump *d, const char *name, int rank, const int64_t *dims,
                            float **data) {
    size_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= (size_t)dims[i];
    TRY(tsri_base_new(n, sizeof **data, data));
    tsri_io_entry *e = &d->entries[d->n_entries];
    snprintf(d->names[d->n_entries], sizeof *d->names, "%s", name);
    *e = (tsri_io_entry){
        .name = d->names[d->n_entries], .dtype = TSR_F32, .rank = rank, .data = *data};
    memcpy(e->dims, dims, (size_t)rank * sizeof *dims);
    d->padded[d->n_entries++] = *data;
    return TSR_OK;
}

/* [N,width] without padding to [B,T,width] with zeros in padded places. */
static tsr_status scatter_rows(dump *d, const char *name, int64_t width, const float *rows) {
    const int64_t dims[] = {d->B, d->T, width};
    float *out;
    int64_t at = 0;
    TRY(add_entry(d, name, 3, dims, &out));
    for (int64_t b = 0; b < d->B; b++)
        for (int64_t i = 0; i < d->sequences[b].n; i++, at++)
            memcpy(out + (b * d->T + d->place[at]) * width, rows + at * width,
                   (size_t)width * sizeof *rows);
    return TSR_OK;
}

static tsr_status scatter_attention(dump *d, const char *name, const float *p) {
    const int64_t H = d->model->spec.decoder.heads, dims[] = {d->B, H, d->T, d->T};
    const int64_t *place = d->place;
    float *out;
    TRY(add_entry(d, name, 4, dims, &out));
    for (int64_t b = 0; b < d->B; b++) {
        const int64_t n = d->sequences[b].n;
        for (int64_t h = 0; h < H; h++)
            for (int64_t t = 0; t < n; t++)
                for (int64_t s = 0; s < n; s++)
                    out[((b * H + h) * d->T + place[t]) * d->T + place[s]] = *p++;
        place += n;
    }
    return TSR_OK;
}

static tsr_status write(dump *d, const char *path) {
    char name[32];
    const size_t most = 2 * (size_t)d->L + 2;
    TRY(tsri_base_new(most, sizeof *d->entries, &d->entries));
    TRY(tsri_base_new(most, sizeof *d->names, &d->names));
    TRY(tsri_base_new(most, sizeof *d->padded, &d->padded));
    TRY(scatter_rows(d, "logits", d->model->spec.vocab, d->logits));
    for (int32_t l = 0; l <= d->L; l++) {
        snprintf(name, sizeof name, "hidden.%d", (int)l);
        TRY(scatter_rows(d, name, d->model->spec.width, d->hidden[l]));
    }
    for (int32_t l = 0; l < d->L && d->attention; l++) {
        snprintf(name, sizeof name, "attn.%d", (int)l);
        TRY(scatter_attention(d, name, d->attention[l]));
    }
    return tsri_io_save(path, d->entries, d->n_entries, NULL, 0);
}

static void clear(dump *d) {
    for (int32_t l = 0; d->hidden && l <= d->L; l++)
        free(d->hidden[l]);
    for (int32_t l = 0; d->attention && l < d->L; l++)
        free(d->attention[l]);
    for (size_t i = 0; i < d->n_entries; i++)
        free(d->padded[i]);
    free(d->hidden);
    free(d->attention);
    free(d->logits);
    free(d->padded);
    free(d->entries);
    free(d->names);
    free(d->ids);
    free(d->positions);
    free(d->place);
    free(d->sequences);
}

tsr_status tsr_dump(tsr_model *model, const tsr_dump_inputs *inputs, const char *path) {
    tsri_model *m = tsri_model_of(model);
    size_t cells = 0;
    if (!m->run)
        return tsri_base_fail(TSR_E_STATE, "%s was opened without a device", m->path);
    if (inputs->B < 1 || inputs->T < 1 || inputs->B > INT32_MAX ||
        !tsri_base_mul((size_t)inputs->B, (size_t)inputs->T, &cells) || cells > INT32_MAX)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "the batch is %" PRId64 " rows of %" PRId64
                              " tokens: at least one of each is wanted",
                              inputs->B, inputs->T);
    if (inputs->T > m->spec.context)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a row has %" PRId64 " tokens, and the model reads %" PRId64,
                              inputs->T, m->spec.context);
    dump d = {
        .in = inputs, .model = m, .B = inputs->B, .T = inputs->T, .L = m->spec.decoder.layers};
    tsr_status status = tsri_base_new(cells, sizeof *d.ids, &d.ids);
    if (status == TSR_OK)
        status = tsri_base_new(cells, sizeof *d.positions, &d.positions);
    if (status == TSR_OK)
        status = tsri_base_new(cells, sizeof *d.place, &d.place);
    if (status == TSR_OK)
        status = tsri_base_new((size_t)d.B, sizeof *d.sequences, &d.sequences);
    if (status == TSR_OK)
        status = compact(&d);
    if (status == TSR_OK)
        status = make_room(&d);
    if (status == TSR_OK)
        status = run(&d, m);
    if (status == TSR_OK)
        status = write(&d, path);
    clear(&d);
    return status;
}

/* ---- from JSON ---- */

enum { INPUTS_LIMIT = 256 << 20, INPUTS_DEPTH = 16 };

/* An array of B rows of T integers into new memory; *B and *T are set by the first, and must agree
 * later. */
static tsr_status take_rows(const json_t *object, const char *path, const char *key, int64_t *B,
                            int64_t *T, int64_t **out) {
    const json_t *rows = json_object_get(object, key);
    *out = NULL;
    if (!rows || json_is_null(rows))
        return TSR_OK;
    const int64_t n = (int64_t)json_array_size(rows),
                  width = (int64_t)json_array_size(json_array_get(rows, 0));
    if (!json_is_array(rows) || !n || !width || (*B && (*B != n || *T != width)))
        return tsri_base_fail(
            TSR_E_FORMAT, "%s: \"%s\" has %" PRId64 " rows of %" PRId64 "; wanted %s of integers",
            path, key, n, width, *B ? "rows like those of \"input_ids\"" : "an array of rows");
    *B = n;
    *T = width;
    TRY(tsri_base_new((size_t)(n * width), sizeof **out, out));
    for (int64_t b = 0; b < n; b++) {
        const json_t *row = json_array_get(rows, (size_t)b);
        if (!json_is_array(row) || (int64_t)json_array_size(row) != width)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: \"%s\"[%" PRId64
                                  "] has %zu items; the first row has %" PRId64
                                  ": pad them to one length",
                                  path, key, b, json_array_size(row), width);
        for (int64_t t = 0; t < width; t++) {
            const json_t *item = json_array_get(row, (size_t)t);
            if (!json_is_integer(item) && !json_is_boolean(item))
                return tsri_base_fail(TSR_E_FORMAT,
                                      "%s: \"%s\"[%" PRId64 "][%" PRId64 "] is no integer", path,
                                      key, b, t);
            (*out)[b * width + t] =
                json_is_boolean(item) ? json_is_true(item) : json_integer_value(item);
        }
    }
    return TSR_OK;
}

tsr_status tsr_dump_json(tsr_model *model, const char *json_path, uint32_t attention,
                         const char *path) {
    json_t *object = NULL;
    int64_t B = 0, T = 0, *ids = NULL, *mask = NULL, *positions = NULL;
    tsr_status status = tsri_base_json_load(json_path, INPUTS_LIMIT, INPUTS_DEPTH, &object);
    if (status == TSR_OK)
        status = take_rows(object, json_path, "input_ids", &B, &T, &ids);
    if (status == TSR_OK && !ids)
        status = tsri_base_fail(
            TSR_E_FORMAT,
            "%s: an object with \"input_ids\" (an array of rows of token ids) is wanted",
            json_path);
    if (status == TSR_OK)
        status = take_rows(object, json_path, "attention_mask", &B, &T, &mask);
    if (status == TSR_OK)
        status = take_rows(object, json_path, "position_ids", &B, &T, &positions);
    if (status == TSR_OK) {
        const tsr_dump_inputs inputs = {.struct_size = sizeof inputs,
                                        .attention = attention,
                                        .B = B,
                                        .T = T,
                                        .input_ids = ids,
                                        .attention_mask = mask,
                                        .position_ids = positions};
        status = tsr_dump(model, &inputs, path);
    }
    json_decref(object);
    free(ids);
    free(mask);
    free(positions);
    return status;
}
