/* Made-up operands: whole numbers are valid for their op, and reach the ends of what they count. */
#include "tensor/sample.h"
#include "tensor/convert.h"
#include "tensor/operands.h"
#include "tensor/shape.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { BATCH = 3, QUERIES = 5, KEYS = 40, SLOTS = 4 };

TSRI_OPERANDS(attention);

/* q [3,5,2,8], k and v [4,40,2,8] */
static const tsr_op *attention(tsr_op *op, tsr_tensor tensors[3], const tsr_tensor *in[3]) {
    for (int i = 0; i < 3; i++) {
        const int64_t rows = i ? SLOTS : BATCH, columns = i ? KEYS : QUERIES;
        tensors[i] = (tsr_tensor){.dtype = TSR_F32,
                                  .rank = 4,
                                  .dim = {tsri_tensor_const(rows), tsri_tensor_const(columns),
                                          tsri_tensor_const(2), tsri_tensor_const(8)}};
        in[i] = &tensors[i];
    }
    *op = (tsr_op){.id = TSR_OP_ATTENTION, .n_in = 3, .in = in};
    return op;
}

static const int64_t sizes[TSR_SYMBOLS] = {1, 1, 1, 1, 1};

static void make(const tsr_op *op, uint32_t input, bool level, size_t n, int32_t *out) {
    cr_assert_eq(tsri_tensor_sample(op, sizes, input, level, 0, n, TSR_I32, out), TSR_OK);
}

Test(sample, sequences_that_attend) {
    tsr_tensor tensors[3];
    const tsr_tensor *in[3];
    tsr_op store;
    const tsr_op *op = attention(&store, tensors, in);
    int32_t past[BATCH], len[BATCH], slot[BATCH], source[BATCH * KEYS];
    make(op, PAST, false, BATCH, past);
    make(op, LEN, false, BATCH, len);
    make(op, SLOT, false, BATCH, slot);
    make(op, SOURCE, false, BATCH * KEYS, source);
    cr_assert_eq(past[0], KEYS - QUERIES, "the first sequence fills its keys");
    cr_assert_eq(past[1], 0);
    for (int b = 0; b < BATCH; b++) {
        cr_assert(past[b] >= 0 && len[b] == past[b] + QUERIES && len[b] <= KEYS);
        for (int c = 0; c < b; c++)
            cr_assert_neq(slot[b], slot[c]);
    }
    for (int i = 0; i < BATCH * KEYS; i++)
        cr_assert(source[i] >= 0 && source[i] < SLOTS);
    make(op, PAST, true, BATCH, past);
    make(op, LEN, true, BATCH, len);
    for (int b = 0; b < BATCH; b++)
        cr_assert(past[b] == KEYS / 2 && len[b] == KEYS / 2 + QUERIES);
}

Test(sample, ids_reach_the_ends_of_a_table) {
    const tsr_tensor table = {.dtype = TSR_F32,
                              .rank = 2,
                              .dim = {tsri_tensor_const(100), tsri_tensor_const(8)}},
                     ids = {.dtype = TSR_I32, .rank = 1, .dim = {tsri_tensor_const(60)}};
    const tsr_tensor *in[] = {&table, &ids};
    const tsr_op op = {.id = TSR_OP_EMBED, .n_in = 2, .in = in};
    int32_t found[60];
    bool seen[100] = {false}, twice = false;
    make(&op, 1, false, 60, found);
    for (int i = 0; i < 60; i++) {
        cr_assert(found[i] >= 0 && found[i] < 100);
        twice |= seen[found[i]];
        seen[found[i]] = true;
    }
    cr_assert(seen[0] && seen[99] && twice);
}

/* A stretch is made of the same numbers as the whole. */
Test(sample, numbers_are_eighths) {
    const tsr_tensor x = {.dtype = TSR_F32, .rank = 1, .dim = {tsri_tensor_const(64)}};
    const tsr_tensor *in[] = {&x, &x, &x, &x, &x};
    const tsr_op op = {.id = TSR_OP_ADAMW, .n_in = 5, .in = in};
    float whole[64], part[16];
    for (uint32_t input = 0; input < 5; input++) {
        const bool positive = input == 2 || input == 4;
        cr_assert_eq(tsri_tensor_sample(&op, sizes, input, false, 0, 64, TSR_F32, whole), TSR_OK);
        cr_assert_eq(tsri_tensor_sample(&op, sizes, input, false, 48, 16, TSR_F32, part), TSR_OK);
        cr_assert_arr_eq(part, whole + 48, sizeof part);
        for (int i = 0; i < 64; i++)
            cr_assert(whole[i] * 8 == (float)(int)(whole[i] * 8) && whole[i] <= 1.125f &&
                      whole[i] >= (positive ? 0.125f : -1));
    }
}

/* What is sampled does not depend on where a piece of it begins, and its numbers are below 1. */
Test(sample, blocks_of_every_kept_type) {
    static unsigned char whole[4 * 210], part[2 * 210];
    static float numbers[4 * 256];
    static const tsr_dtype dtypes[] = {TSR_GGML_Q4_K, TSR_GGML_Q5_K, TSR_GGML_Q6_K, TSR_GGML_MXFP4};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        const int dtype = (int)dtypes[d];
        const tsri_tensor_dtype *info = tsri_tensor_dtype_info(dtypes[d]);
        const size_t bytes = (size_t)(256 / info->block * info->bytes);
        size_t negative = 0;
        tsri_tensor_sample_blocks(1, 0, 4 * 256, (tsr_dtype)dtype, whole);
        tsri_tensor_sample_blocks(1, 2 * 256, 2 * 256, (tsr_dtype)dtype, part);
        cr_assert(memcmp(whole + 2 * bytes, part, 2 * bytes) == 0, "dtype %d", dtype);
        cr_assert_eq(tsri_tensor_convert(TSR_F32, numbers, (tsr_dtype)dtype, whole, 4 * 256),
                     TSR_OK);
        for (int i = 0; i < 4 * 256; i++) {
            cr_assert(fabsf(numbers[i]) < 1, "dtype %d: %g", dtype, (double)numbers[i]);
            negative += numbers[i] < 0;
        }
        cr_assert(negative > 200 && negative < 824, "dtype %d: %zu", dtype, negative);
    }
}
