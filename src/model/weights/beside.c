/* model/weights/beside.c - makes the matrices A and B of adapters beside matrices in blocks. */
#include "model/weights/beside.h"

#include "base/error.h"
#include "base/memory.h"
#include "tensor/quantize.h"
#include "tensor/transcode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether a product with this matrix is made by tsri_model_linear, or by dense_mlp of model/blocks/blocks.c, which
 * add what lies beside it. */
static bool can_have_beside(uint32_t id) {
    const tsri_model_role role = tsri_model_weight_role(id);
    if (role != TSRI_WEIGHT_PER_LAYER)
        return !tsri_model_weight_is_of_experts(id) && role < TSRI_ROLE_FORWARD;
    return id == TSRI_WEIGHT_PROJECT || id == TSRI_WEIGHT_MASKED_DENSE ||
           id == TSRI_WEIGHT_POOLER || id == TSRI_WEIGHT_NEXT || id == TSRI_WEIGHT_LABEL_DENSE ||
           id == TSRI_WEIGHT_LABEL;
}

static bool is_of_blocks(const tsri_model_weight *weight) {
    return weight->rank == 2 && tsri_tensor_is_kept_blocks(weight->dtype);
}

/* Whether numbers are added to the array for another matrix, which is not one of blocks. */
static bool is_added_to_elsewhere(const tsri_model_weights *weights, const tsri_io_array *array) {
    for (uint32_t id = 0; id < weights->count; id++) {
        const tsri_model_weight *weight = tsri_model_weight_at(weights, id);
        if (weight && !is_of_blocks(weight) && tsri_model_weight_part(weight, array))
            return true;
    }
    return false;
}

static bool must_become_floats(const tsri_model_weights *weights, uint32_t id) {
    const tsri_model_weight *weight = tsri_model_weight_at(weights, id);
    if (!weight || !is_of_blocks(weight))
        return false;
    for (int i = 0; i < weight->n_parts; i++) {
        const tsri_io_array *array = weight->parts[i].array;
        if (tsri_model_adapters_change(weights->adapters, array) &&
            (!can_have_beside(id) || tsri_model_adapters_replace(weights->adapters, array) ||
             is_added_to_elsewhere(weights, array)))
            return true;
    }
    return false;
}

/* A matrix that becomes one of floats may share an array with others. */
static void settle(tsri_model_weights *weights) {
    for (bool again = true; again;) {
        again = false;
        for (uint32_t id = 0; id < weights->count; id++)
            if (must_become_floats(weights, id)) {
                weights->items[id].dtype = tsri_tensor_exact_floats(weights->items[id].dtype);
                again = true;
            }
    }
}

/* An adapter of one of the arrays that a matrix is made from, and its first of the R columns of B. */
typedef struct factor {
    const tsri_io_array *array;
    tsri_model_low_rank of;
    int64_t column;
} factor;

typedef struct factors {
    factor *items;
    size_t n, room;
    int64_t rank; /* R */
} factors;

/* The adapters of each array, once for arrays of which the matrix has several parts. */
static tsr_status collect(const tsri_model_weights *weights, const tsri_model_weight *weight,
                          factors *out) {
    *out = (factors){0};
    for (int i = 0; i < weight->n_parts; i++) {
        factor one = {.array = weight->parts[i].array};
        bool again = false;
        for (size_t k = 0; k < out->n; k++)
            again |= out->items[k].array == one.array;
        for (size_t k = 0;
             !again && tsri_model_adapters_low_rank(weights->adapters, one.array, k, &one.of);
             k++) {
            TRY(tsri_base_grow(&out->items, &out->room, out->n + 1, sizeof *out->items));
            one.column = out->rank;
            out->rank += one.of.rank;
            out->items[out->n++] = one;
        }
    }
    return TSR_OK;
}

/* Fills B, [outputs, R], which is 0 where a row's array is not the factor's. */
static void fill_b(const tsri_model_weight *weight, const factors *all, float *out) {
    for (int i = 0; i < weight->n_parts; i++) {
        const tsri_model_part *part = &weight->parts[i];
        for (int64_t row = 0; row < part->rows; row++, out += all->rank)
            for (size_t k = 0; k < all->n; k++) {
                const factor *one = &all->items[k];
                if (one->array != part->array)
                    continue;
                const float *b = one->of.b + tsri_model_part_row(part, row) * one->of.rank;
                for (int64_t j = 0; j < one->of.rank; j++)
                    out[one->column + j] = one->of.scale * b[j];
            }
    }
}

static tsr_status add_matrix(const tsri_model_weight *weight, const char *title, int64_t rows,
                             int64_t columns, tsri_model_weight *out) {
    tsri_model_weight matrix = {.rank = 2, .dims = {rows, columns}, .dtype = TSR_F32};
    snprintf(matrix.name, sizeof matrix.name, "%.50s.%s", weight->name, title);
    TRY(tsri_base_new((size_t)(rows * columns), sizeof *matrix.values, &matrix.values));
    *out = matrix;
    return TSR_OK;
}

static tsr_status define(tsri_model_weights *weights, uint32_t id, uint32_t own) {
    const tsri_model_weight *weight = &weights->items[id];
    tsri_model_weight *a = &weights->items[own + 2 * id], *b = a + 1;
    factors all;
    tsr_status status = collect(weights, weight, &all);
    if (status == TSR_OK && all.n)
        status = add_matrix(weight, "lora_A", all.rank, weight->dims[1], a);
    if (status == TSR_OK && all.n)
        status = add_matrix(weight, "lora_B", weight->dims[0], all.rank, b);
    for (size_t i = 0; i < all.n && status == TSR_OK; i++)
        memcpy(a->values + all.items[i].column * weight->dims[1], all.items[i].of.a,
               (size_t)(all.items[i].of.rank * weight->dims[1]) * sizeof(float));
    if (status == TSR_OK && all.n)
        fill_b(weight, &all, b->values);
    free(all.items);
    return status;
}

tsr_status tsri_model_beside_define(tsri_model_weights *weights) {
    const uint32_t own = weights->count;
    size_t room = own;
    settle(weights);
    TRY(tsri_base_grow(&weights->items, &room, 3 * (size_t)own, sizeof *weights->items));
    weights->count = 3 * own;
    weights->own = own;
    for (uint32_t id = 0; id < own; id++)
        if (weights->items[id].name[0] && is_of_blocks(&weights->items[id]))
            TRY(define(weights, id, own));
    for (uint32_t id = 0; id < own; id++)
        for (int i = 0; i < weights->items[id].n_parts && is_of_blocks(&weights->items[id]); i++)
            tsri_model_adapters_forget(weights->adapters, weights->items[id].parts[i].array);
    return TSR_OK;
}

bool tsri_model_beside_ids(const tsri_model_weights *weights, uint32_t id, uint32_t ids[2]) {
    for (uint32_t i = 0; i < 2; i++)
        ids[i] = weights->own + 2 * id + i;
    return id < weights->own && tsri_model_weight_at(weights, ids[0]);
}
