/* task/show/dump_json.c - reads the inputs of a dump from a JSON file. */
#include "tessera/dump.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/structs.h"

#include <inttypes.h>
#include <stdlib.h>

enum { INPUTS_LIMIT = 256 << 20, INPUTS_DEPTH = 16 };

/* Reads an array of B rows of T integers into new memory. The first array sets *B and *T; later
 * ones must have the same sizes. */
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
            TSR_E_FORMAT,
            "%s: \"%s\" has %" PRId64 " rows of %" PRId64 "; it must have %s of integers", path,
            key, n, width, *B ? "rows like those of the ids, each" : "at least one row");
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
                                      "%s: \"%s\"[%" PRId64 "][%" PRId64 "] is not an integer",
                                      path, key, b, t);
            (*out)[b * width + t] =
                json_is_boolean(item) ? json_is_true(item) : json_integer_value(item);
        }
    }
    return TSR_OK;
}

tsr_status tsr_dump_json(tsr_model *model, const char *json_path, uint32_t attention,
                         const char *path) {
    TRY(NEED(model));
    TRY(NEED(json_path));
    TRY(NEED(path));
    tsr_dump_inputs in = {.struct_size = sizeof in, .attention = attention};
    int64_t decoder_B = 0;
    const struct {
        const char *key;
        const int64_t **rows;
        int64_t *B, *T;
    } inputs[] = {
        {"input_ids", &in.input_ids, &in.B, &in.T},
        {"attention_mask", &in.attention_mask, &in.B, &in.T},
        {"position_ids", &in.position_ids, &in.B, &in.T},
        {"token_type_ids", &in.token_type_ids, &in.B, &in.T},
        {"decoder_input_ids", &in.decoder_input_ids, &decoder_B, &in.decoder_T},
        {"decoder_attention_mask", &in.decoder_attention_mask, &decoder_B, &in.decoder_T},
        {"decoder_position_ids", &in.decoder_position_ids, &decoder_B, &in.decoder_T},
    };
    enum { N_INPUTS = sizeof inputs / sizeof *inputs };
    json_t *object = NULL;
    tsr_status status = tsri_base_json_load(json_path, INPUTS_LIMIT, INPUTS_DEPTH, &object);
    for (int i = 0; i < N_INPUTS && status == TSR_OK; i++) {
        int64_t *rows;
        status = take_rows(object, json_path, inputs[i].key, inputs[i].B, inputs[i].T, &rows);
        *inputs[i].rows = rows;
        if (status == TSR_OK && !in.input_ids)
            status = tsri_base_fail(
                TSR_E_FORMAT,
                "%s: it must be an object with \"input_ids\", an array of rows of token ids",
                json_path);
    }
    if (status == TSR_OK && in.decoder_input_ids && decoder_B != in.B)
        status = tsri_base_fail(TSR_E_FORMAT,
                                "%s: \"decoder_input_ids\" has %" PRId64
                                " rows, but \"input_ids\" has %" PRId64,
                                json_path, decoder_B, in.B);
    if (status == TSR_OK)
        status = tsr_dump(model, &in, path);
    json_decref(object);
    for (int i = 0; i < N_INPUTS; i++)
        free((void *)*inputs[i].rows);
    return status;
}
