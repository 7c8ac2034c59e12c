/* Compares a model's results with those of a golden. */
#include "model/compare.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void read_batch(const json_t *object, const char *ids_key, const char *mask_key, batch *batch) {
    const json_t *ids = json_object_get(object, ids_key), *mask = json_object_get(object, mask_key),
                 *positions = json_object_get(object, "position_ids"),
                 *types = json_object_get(object, "token_type_ids");
    memset(batch, 0, sizeof *batch);
    batch->B = (int32_t)json_array_size(ids);
    batch->T = (int64_t)json_array_size(json_array_get(ids, 0));
    cr_assert(batch->B <= MOST_BATCH && batch->T <= MOST_TOKENS);
    for (int32_t b = 0; b < batch->B; b++) {
        int64_t n = 0;
        for (size_t t = 0; t < (size_t)batch->T; t++) {
            if (mask && json_integer_value(json_array_get(json_array_get(mask, (size_t)b), t)) == 0)
                continue;
            batch->ids[b][n] =
                (int32_t)json_integer_value(json_array_get(json_array_get(ids, (size_t)b), t));
            batch->positions[b][n] = positions ? (int32_t)json_integer_value(json_array_get(
                                                     json_array_get(positions, (size_t)b), t))
                                               : (int32_t)t;
            batch->types[b][n] = types ? (int32_t)json_integer_value(
                                             json_array_get(json_array_get(types, (size_t)b), t))
                                       : 0;
            batch->place[b][n++] = (int64_t)t;
        }
        batch->sequences[b] = (tsri_model_sequence){.ids = batch->ids[b],
                                                    .positions = batch->positions[b],
                                                    .types = types ? batch->types[b] : NULL,
                                                    .n = n,
                                                    .slot = b,
                                                    .source = b};
        batch->tokens += n;
    }
}

bool read_expected(const tsri_io_archive *archive, const char *name, expected *out) {
    out->array = tsri_io_find(archive, name);
    if (!out->array)
        return false;
    out->data = malloc(out->array->elements * sizeof(float));
    OK(tsri_io_read_as(archive, out->array, TSR_F32, 0, out->array->elements, out->data));
    out->largest = 0;
    for (uint64_t i = 0; i < out->array->elements; i++)
        out->largest = fmax(out->largest, fabs((double)out->data[i]));
    return true;
}

void compare_row(const char *name, const expected *want, uint64_t at, const float *got, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const double w = want->data[at + (uint64_t)i], error = fabs((double)got[i] - w);
        cr_assert(error <= 1e-6 + 5e-5 * want->largest, "%s[%llu]: %.9g, wanted %.9g (largest %g)",
                  name, (unsigned long long)(at + (uint64_t)i), (double)got[i], w, want->largest);
    }
}

void compare_tokens(const tsri_io_archive *archive, const char *name, const batch *batch,
                    const float *got, int64_t width) {
    expected want;
    cr_assert(read_expected(archive, name, &want), "%s is not in the golden file", name);
    for (int32_t b = 0; b < batch->B; b++)
        for (int64_t t = 0; t < batch->sequences[b].n; t++, got += width)
            compare_row(name, &want, (uint64_t)((b * batch->T + batch->place[b][t]) * width), got,
                        width);
    free(want.data);
}

void compare_sequences(const tsri_io_archive *archive, const char *name, const batch *batch,
                       const float *got, int64_t width) {
    expected want;
    cr_assert(read_expected(archive, name, &want), "%s is not in the golden file", name);
    for (int32_t b = 0; b < batch->B; b++)
        if (batch->place[b][0] == 0)
            compare_row(name, &want, (uint64_t)(b * width), got + b * width, width);
    free(want.data);
}

void compare_attention(const tsri_io_archive *archive, const char *name, const batch *queries,
                       const batch *keys, const float *got, int64_t H) {
    expected want;
    if (!read_expected(archive, name, &want))
        return;
    for (int32_t b = 0; b < queries->B; b++)
        for (int64_t h = 0; h < H; h++)
            for (int64_t t = 0; t < queries->sequences[b].n; t++)
                for (int64_t s = 0; s < keys->sequences[b].n; s++, got++)
                    compare_row(
                        name, &want,
                        (uint64_t)(((b * H + h) * queries->T + queries->place[b][t]) * keys->T +
                                   keys->place[b][s]),
                        got, 1);
    free(want.data);
}
