/* backends/opencl/variants/shared/heads.c - what the variants of ops on heads share. */
#include "backends/opencl/variants/shared/heads.h"

enum { LARGEST_HEAD = 512, LARGEST_FLASH = 256, TILE_ROWS = 32 };

bool tsri_opencl_fits_heads(const tsr_tensor *x, const char **why) {
    if (x->rank != 4 || !tsri_opencl_last_contiguous(x))
        return tsri_opencl_refuse(why, "the elements of a head are not contiguous");
    if (!tsri_opencl_is_constant(x->dim[2]) || !tsri_opencl_is_constant(x->dim[3]))
        return tsri_opencl_refuse(why, "the number or size of heads is not constant");
    return true;
}

bool tsri_opencl_fits_private_heads(const tsr_tensor *x, const char **why) {
    return tsri_opencl_fits_heads(x, why) && (x->dim[3].factor <= LARGEST_HEAD ||
                                              tsri_opencl_refuse(why, "a head is larger than 512"));
}

bool tsri_opencl_fits_flash_heads(const tsr_tensor *q, const tsr_tensor *v, const char **why) {
    return q->rank != 4 || v->rank != 4 ||
           (q->dim[3].factor <= LARGEST_FLASH && v->dim[3].factor <= LARGEST_FLASH) ||
           tsri_opencl_refuse(why, "a head is larger than 256");
}

bool tsri_opencl_fits_score_vectors(const tsr_tensor *relative, const tsr_tensor *sinks,
                                    const char **why) {
    if (relative && (!tsri_opencl_is_f32(relative) || !tsri_tensor_is_packed(relative)))
        return tsri_opencl_refuse(why, "relative is not a packed array of f32");
    if (sinks && (!tsri_opencl_is_f32(sinks) || !tsri_tensor_is_packed(sinks)))
        return tsri_opencl_refuse(why, "sinks are not a packed array of f32");
    return true;
}

void tsri_opencl_define_mask(tsri_opencl_defines *defines, uint32_t causal, uint32_t window,
                             const tsr_tensor *past, const tsr_tensor *len) {
    tsri_opencl_define_int(defines, "CAUSAL", causal != 0);
    tsri_opencl_define_int(defines, "WINDOW", window > INT32_MAX / 2 ? 0 : (int)window);
    tsri_opencl_define_int(defines, "HAS_PAST", past != NULL);
    tsri_opencl_define_int(defines, "HAS_LEN", len != NULL);
}

bool tsri_opencl_fits_pages(const tsr_tensor *pages, tsr_dim rows, const char **why) {
    if (!tsri_tensor_is_packed(pages) || !tsri_opencl_is_constant(pages->dim[1]))
        return tsri_opencl_refuse(why,
                                  "pages are not a packed array of a constant number a sequence");
    return (tsri_opencl_is_constant(rows) && rows.factor > 0 && rows.factor % TILE_ROWS == 0) ||
           tsri_opencl_refuse(why, "a page is not a constant number of tiles of 32 positions");
}

void tsri_opencl_define_pages(tsri_opencl_defines *defines, const tsr_tensor *pages, tsr_dim rows) {
    tsri_opencl_define_int(defines, "HAS_PAGES", pages != NULL);
    if (pages)
        tsri_opencl_define_int(defines, "PAGE", (int)rows.factor);
}

int64_t tsri_opencl_heads_of_key(const tsr_tensor *q, const tsr_tensor *k) {
    return q->dim[2].factor / k->dim[2].factor;
}

void tsri_opencl_arg_score_addends(tsri_opencl_launch *launch, const tsr_tensor *q,
                                   const tsr_tensor *k, const tsr_tensor *bias,
                                   const tsr_tensor *relative) {
    if (bias) {
        const tsr_tensor scores = {.rank = 4, .dim = {q->dim[0], q->dim[2], q->dim[1], k->dim[1]}};
        const tsr_tensor view = tsri_opencl_broadcast(bias, &scores);
        tsri_opencl_arg_dim_list(launch, "bias_sizes", view.stride, 4);
    }
    if (relative) {
        tsri_opencl_arg_tensor(launch, "relative", relative);
        tsri_opencl_arg_int(launch, "reach", relative->dim[1].factor / 2);
    }
}

void tsri_opencl_arg_scale(tsri_opencl_launch *launch, const tsr_attention_attrs *attrs) {
    const bool capped = attrs->soft_cap > 0;
    tsri_opencl_arg_float(launch, "scale", capped ? attrs->scale / attrs->soft_cap : attrs->scale);
    if (capped)
        tsri_opencl_arg_float(launch, "soft_cap", attrs->soft_cap);
}

void tsri_opencl_arg_head_sizes(tsri_opencl_launch *launch, const tsr_tensor *q,
                                const tsr_tensor *k, const tsr_tensor *v, const tsr_tensor *y) {
    const tsr_dim sizes[] = {q->dim[0],    q->dim[1],    k->dim[1],    q->stride[0], q->stride[1],
                             q->stride[2], k->stride[0], k->stride[1], k->stride[2], v->stride[0],
                             v->stride[1], v->stride[2], y->stride[0], y->stride[1], y->stride[2]};
    tsri_opencl_arg_dim_list(launch, "sizes", sizes, sizeof sizes / sizeof *sizes);
}

bool tsri_opencl_fits_key_sizes(const tsr_tensor *q, const tsr_tensor *values, const char **why) {
    return (tsri_opencl_is_constant(q->dim[2]) && tsri_opencl_is_constant(values->dim[2])) ||
           tsri_opencl_refuse(why, "the size of a key or a value is not constant");
}

void tsri_opencl_arg_sequence_sizes(tsri_opencl_launch *launch, const tsr_tensor *q,
                                    const tsr_tensor *k, const tsr_tensor *const tensors[5]) {
    tsr_dim sizes[3 + 2 * 5] = {q->dim[0], q->dim[1], k->dim[1]};
    for (int i = 0; i < 5; i++)
        for (int axis = 0; axis < 2; axis++)
            sizes[3 + 2 * i + axis] = tensors[i] ? tensors[i]->stride[axis] : tsri_tensor_const(0);
    tsri_opencl_arg_dim_list(launch, "sizes", sizes, sizeof sizes / sizeof *sizes);
}

void tsri_opencl_arg_pairs(tsri_opencl_launch *launch, const tsr_tensor *q, const tsr_tensor *k) {
    const tsr_dim queries = tsri_tensor_times(q->dim[0], q->dim[1]);
    tsri_opencl_arg_scratch(
        launch, "scratch",
        tsri_tensor_times(tsri_tensor_times(queries, k->dim[1]), tsri_tensor_const(4)));
}
