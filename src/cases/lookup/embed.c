/* cases/lookup/embed.c - the cases of embed. */
#include "cases/cases.h"

#include "tensor/dtype.h"
#include "tensor/quantize.h"

static tsri_case *add(tsri_case_list *list, int64_t T, int64_t V, int64_t C, tsr_dtype dtype,
                      float scale) {
    tsri_case *c = tsri_case_add(list, TSR_OP_EMBED, "B=2 T=%lld V=%lld C=%lld %s scale %g",
                                 (long long)T, (long long)V, (long long)C,
                                 tsri_tensor_dtype_name(dtype), scale == 0 ? 1.0 : (double)scale);
    tsri_case_in(c, 0, TSR_KIND_WEIGHT, dtype, 2, TSRI_CASE_K(V), TSRI_CASE_K(C));
    tsri_case_operand *ids =
        tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_I32, 2, TSRI_CASE_B, TSRI_CASE_T);
    ids->fill = TSRI_CASE_INTEGER;
    ids->low = 0, ids->high = (double)(V - 1);
    c->sizes[0] = 2;
    c->sizes[1] = T;
    c->attrs.embed = (tsr_embed_attrs){.struct_size = sizeof c->attrs.embed, .scale = scale};
    c->bound[0].relative = scale == 0 ? 0 : 2 * TSRI_CASE_U;
    tsri_case_reason(c, scale == 0
                            ? "exact: rows are copied, and a scale times an integer is an f32"
                            : "2 u: one product");
    return c;
}

/* The part of a table from row `first` on, and ids of its rows. */
static void add_part(tsri_case_list *list, int64_t V, int64_t C, tsr_dtype dtype, uint32_t first) {
    tsri_case *c = add(list, 7, V, C, dtype, 0);
    c->in[1].low = first, c->in[1].high = (double)(first + V - 1);
    c->attrs.embed.first = first;
    c->attrs.embed.whole = first + (uint32_t)V + 100;
}

void tsri_cases_embed(tsri_case_list *list) {
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_F16, TSR_BF16};
    for (size_t d = 0; d < 3; d++) {
        add(list, 5, 131, 48, dtypes[d], 0);
        add(list, 1, 7, 1, dtypes[d], 0);
        add(list, 9, 65, 63, dtypes[d], 8.5f);
    }
    for (int dtype = TSR_GGML_Q4_0; dtype < TSRI_TENSOR_DTYPES; dtype++) {
        const tsr_dtype type = (tsr_dtype)dtype;
        if (!tsri_tensor_is_kept_blocks(type))
            continue;
        if (tsri_tensor_dtype_info(type)->block == TSRI_TENSOR_BLOCK) {
            add(list, 5, 131, 96, type, 0);
            add(list, 1, 7, 32, type, 0);
            add(list, 9, 65, 64, type, 8.5f);
            add(list, 0, 64, 32, type, 0);
        } else {
            add(list, 5, 131, 512, type, 0);
            add(list, 9, 65, 256, type, 8.5f);
        }
    }
    add(list, 0, 16, 16, TSR_F32, 0);
    add_part(list, 131, 48, TSR_F32, 128);
    add_part(list, 64, 48, TSR_F16, 64);
    add_part(list, 131, 96, TSR_GGML_Q8_0, 128);
    add_part(list, 64, 32, TSR_GGML_Q4_0, 192);
    add(list, 33, 2, 257, TSR_F32, 0);
    static const tsr_dtype stored[] = {TSR_F32, TSR_F16, TSR_GGML_Q8_0, TSR_GGML_Q4_0};
    for (size_t d = 0; d < sizeof stored / sizeof *stored; d++)
        add(list, 128, 32000, 768, stored[d], 0)->timed = true;
}
