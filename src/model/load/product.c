/* model/load/product.c - makes a single product, and asks devices which compute dtype is the better
 * one for it. */
#include "model/load/product.h"

#include "base/error.h"
#include "tensor/dtype.h"
#include "tensor/quantize.h"
#include "tensor/shape.h"

enum { PROMPT = 64 }; /* rows of x in the op that devices are asked about */

void tsri_model_product_make(int64_t rows, int64_t outputs, int64_t inputs, tsr_dtype dtype,
                             tsr_compute compute, tsri_model_product *out) {
    *out = (tsri_model_product){
        .attrs = {.struct_size = sizeof out->attrs, .trans_w = 1, .compute = compute},
        .bounds = {.struct_size = sizeof out->bounds,
                   .lowest = {1, 1, 1, 1, 1},
                   .highest = {1, 1, 1, 1, rows}},
        .x = {.struct_size = sizeof out->x, .dtype = TSR_F32, .rank = 2, .kind = TSR_KIND_INPUT},
        .w = {.struct_size = sizeof out->w, .dtype = dtype, .rank = 2, .kind = TSR_KIND_WEIGHT},
        .y = {.struct_size = sizeof out->y, .dtype = TSR_F32, .rank = 2},
        .in = {&out->x, &out->w},
        .out = {&out->y},
        .op = {.struct_size = sizeof out->op,
               .id = TSR_OP_LINEAR,
               .n_in = 2,
               .n_out = 1,
               .in = out->in,
               .out = out->out,
               .attrs = &out->attrs,
               .bounds = &out->bounds}};
    out->x.dim[0] = out->y.dim[0] = tsri_tensor_symbol(TSR_SYM_N);
    out->x.dim[1] = out->w.dim[1] = tsri_tensor_const(inputs);
    out->w.dim[0] = out->y.dim[1] = tsri_tensor_const(outputs);
    tsri_tensor_pack(&out->x);
    tsri_tensor_pack(&out->w);
    tsri_tensor_pack(&out->y);
}

/* A matrix of a type; NULL where there is none. */
static const tsri_model_weight *find_matrix(const tsri_model_weights *weights, tsr_dtype dtype) {
    for (uint32_t id = 0; id < weights->count; id++) {
        const tsri_model_weight *weight = tsri_model_weight_at(weights, id);
        if (weight && weight->rank == 2 && weight->dtype == dtype)
            return weight;
    }
    return NULL;
}

/* The elements of all matrices of a type. */
static int64_t elements_of(const tsri_model_weights *weights, tsr_dtype dtype) {
    int64_t total = 0;
    for (uint32_t id = 0; id < weights->count; id++) {
        const tsri_model_weight *weight = tsri_model_weight_at(weights, id);
        if (weight && weight->rank == 2 && weight->dtype == dtype)
            total += weight->dims[0] * weight->dims[1];
    }
    return total;
}

/* The type of blocks that most elements have; NONE where no matrix has blocks. */
static tsr_dtype usual_blocks(const tsri_model_weights *weights) {
    tsr_dtype usual = TSR_DTYPE_NONE;
    int64_t most = 0;
    for (int dtype = TSR_GGML_Q4_0; dtype < TSRI_TENSOR_DTYPES; dtype++) {
        const int64_t n = tsri_tensor_is_kept_blocks((tsr_dtype)dtype)
                              ? elements_of(weights, (tsr_dtype)dtype)
                              : 0;
        usual = n > most ? (tsr_dtype)dtype : usual;
        most = n > most ? n : most;
    }
    return usual;
}

tsr_status tsri_model_product_gain(tsri_run_context *run, size_t i, const int64_t dims[2],
                                   tsr_dtype dtype, uint32_t kind, tsr_compute compute,
                                   int32_t *gain) {
    const tsr_compute asked[2] = {compute, TSR_COMPUTE_F32};
    tsri_model_product product;
    int32_t score[2];
    for (int k = 0; k < 2; k++) {
        tsri_model_product_make(PROMPT, dims[0], dims[1], dtype, asked[k], &product);
        product.w.kind = kind;
        TRY(tsri_run_best_score(run, i, &product.op, &score[k]));
    }
    *gain = score[0] - score[1];
    return TSR_OK;
}

static tsr_status gain_of(tsri_run_context *run, size_t i, const tsri_model_weight *weight,
                          tsr_compute compute, int32_t *gain) {
    return tsri_model_product_gain(run, i, weight->dims, weight->dtype, TSR_KIND_WEIGHT, compute,
                                   gain);
}

/* Makes f32 of the blocks of a type whose products would be of int8, where a device has none for it but
 * those of the kernel that serves every device. */
static tsr_status widen(tsri_model_weights *weights, tsri_run_context *run, tsr_dtype dtype) {
    const tsri_model_weight *matrix = find_matrix(weights, dtype);
    bool slow = false;
    if (!matrix || tsri_model_weight_compute(weights, matrix) != TSR_COMPUTE_INT8)
        return TSR_OK;
    for (size_t i = 0; i < tsri_run_device_count(run); i++) {
        int32_t gain = 0;
        TRY(gain_of(run, i, matrix, TSR_COMPUTE_INT8, &gain));
        slow |= gain < 0;
    }
    for (uint32_t id = 0; slow && id < weights->count; id++)
        if (weights->items[id].dtype == dtype)
            weights->items[id].dtype = TSR_F32;
    return TSR_OK;
}

static tsr_status settle_auto(tsri_model_weights *weights, tsri_run_context *run) {
    const tsri_model_weight *blocks = find_matrix(weights, usual_blocks(weights)),
                            *bf16 = find_matrix(weights, TSR_BF16);
    tsri_model_keeping *keeping = &weights->keeping;
    keeping->fast_bf16 = bf16 != NULL;
    for (size_t i = 0; i < tsri_run_device_count(run); i++) {
        int32_t int8_gain = 0, bf16_gain = 0;
        if (blocks)
            TRY(gain_of(run, i, blocks, TSR_COMPUTE_INT8, &int8_gain));
        if (bf16)
            TRY(gain_of(run, i, bf16, TSR_COMPUTE_BF16, &bf16_gain));
        if (int8_gain < 0)
            keeping->slow_int8 = tsri_run_device_name(run, i);
        keeping->fast_bf16 = keeping->fast_bf16 && bf16_gain > 0;
    }
    return TSR_OK;
}

tsr_status tsri_model_settle_compute(tsri_model_weights *weights, tsri_run_context *run) {
    if (weights->keeping.compute == TSR_MODEL_COMPUTE_AUTO)
        TRY(settle_auto(weights, run));
    for (int dtype = TSR_GGML_Q4_0; dtype < TSRI_TENSOR_DTYPES; dtype++)
        if (!tsri_tensor_is_small_blocks((tsr_dtype)dtype))
            TRY(widen(weights, run, (tsr_dtype)dtype));
    return TSR_OK;
}
