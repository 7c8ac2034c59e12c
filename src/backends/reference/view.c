/* backends/reference/view.c - operands: sizes filled in, elements read and written. */
#include "backends/reference/reference.h"

#include "base/error.h"
#include "tensor/blocks.h"
#include "tensor/convert.h"
#include "tensor/quantize.h"
#include "tensor/shape.h"

#include <string.h>

static tsri_reference_view view_of(const tsr_tensor *tensor, const int64_t *sizes) {
    tsri_reference_view view = {0};
    if (!tensor || !tensor->buf)
        return view;
    view.dtype = tensor->dtype;
    view.rank = tensor->rank;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        view.dim[i] = tsri_tensor_value(tensor->dim[i], sizes);
        view.stride[i] = tsri_tensor_value(tensor->stride[i], sizes);
    }
    const tsri_tensor_dtype *dtype = tsri_tensor_dtype_info((tsr_dtype)tensor->dtype);
    view.data = tensor->buf->data + tensor->origin + tensor->offset / dtype->block * dtype->bytes;
    return view;
}

tsri_reference_view tsri_reference_in(const tsri_reference_call *call, uint32_t i) {
    return view_of(i < call->op->n_in ? call->op->in[i] : NULL, call->sizes);
}

tsri_reference_view tsri_reference_out(const tsri_reference_call *call, uint32_t i) {
    return view_of(i < call->op->n_out ? call->op->out[i] : NULL, call->sizes);
}

void tsri_reference_repeat(tsri_reference_view *view) {
    for (uint32_t i = 0; i < view->rank; i++)
        if (view->dim[i] == 1)
            view->stride[i] = 0;
}

int64_t tsri_reference_columns(const tsri_reference_view *view) {
    return view->rank ? view->dim[view->rank - 1] : 1;
}

int64_t tsri_reference_step(const tsri_reference_view *view) {
    return view->rank ? view->stride[view->rank - 1] : 1;
}

int64_t tsri_reference_rows(const tsri_reference_view *view) {
    int64_t rows = 1;
    for (uint32_t i = 0; i + 1 < view->rank; i++)
        rows *= view->dim[i];
    return rows;
}

int64_t tsri_reference_count(const tsri_reference_view *view) {
    return tsri_reference_rows(view) * tsri_reference_columns(view);
}

int64_t tsri_reference_row_at(const tsri_reference_view *view, int64_t r) {
    int64_t at = 0;
    for (uint32_t i = view->rank ? view->rank - 1 : 0; i-- > 0; r /= view->dim[i])
        at += r % view->dim[i] * view->stride[i];
    return at;
}

int64_t tsri_reference_element_at(const tsri_reference_view *view, int64_t i) {
    const int64_t columns = tsri_reference_columns(view);
    return tsri_reference_row_at(view, i / columns) + i % columns * tsri_reference_step(view);
}

/* Unpacks the block that has element `at`, and returns the element's place in it. */
static int64_t unpack_at(const tsri_reference_view *view, int64_t at,
                         float block[TSRI_TENSOR_LARGEST_BLOCK]) {
    const tsri_tensor_dtype *type = tsri_tensor_dtype_info((tsr_dtype)view->dtype);
    tsri_tensor_unpack((tsr_dtype)view->dtype, view->data + at / type->block * type->bytes, block,
                       (size_t)type->block);
    return at % type->block;
}

double tsri_reference_load(const tsri_reference_view *view, int64_t at) {
    switch (view->dtype) {
    case TSR_F32:
        return ((const float *)view->data)[at];
    case TSR_F16:
        return tsri_tensor_f16_to_f32(((const uint16_t *)view->data)[at]);
    case TSR_BF16:
        return tsri_tensor_bf16_to_f32(((const uint16_t *)view->data)[at]);
    case TSR_F64:
        return ((const double *)view->data)[at];
    default:
        if (tsri_tensor_is_kept_blocks((tsr_dtype)view->dtype)) {
            float block[TSRI_TENSOR_LARGEST_BLOCK];
            const int64_t place = unpack_at(view, at, block);
            return block[place];
        }
        return (double)tsri_reference_load_int(view, at);
    }
}

int64_t tsri_reference_load_int(const tsri_reference_view *view, int64_t at) {
    switch (view->dtype) {
    case TSR_I32:
        return ((const int32_t *)view->data)[at];
    case TSR_I64:
        return ((const int64_t *)view->data)[at];
    case TSR_I16:
        return ((const int16_t *)view->data)[at];
    case TSR_I8:
        return ((const int8_t *)view->data)[at];
    default: /* u8, bool */
        return ((const uint8_t *)view->data)[at];
    }
}

void tsri_reference_store(const tsri_reference_view *view, int64_t at, double value) {
    const float rounded = (float)value;
    const int bytes = tsri_tensor_dtype_info((tsr_dtype)view->dtype)->bytes;
    if (view->dtype == TSR_F32)
        ((float *)view->data)[at] = rounded;
    else if (view->dtype == TSR_F64)
        ((double *)view->data)[at] = value;
    else /* never a block type: only keys and values are written as blocks, by tsri_reference_keep */
        (void)tsri_tensor_convert((tsr_dtype)view->dtype, view->data + at * bytes, TSR_F32,
                                  &rounded, 1);
}

void tsri_reference_store_int(const tsri_reference_view *view, int64_t at, int64_t value) {
    const int bytes = tsri_tensor_dtype_info((tsr_dtype)view->dtype)->bytes;
    (void)tsri_tensor_convert((tsr_dtype)view->dtype, view->data + at * bytes, TSR_I64, &value, 1);
}

void tsri_reference_keep(const tsri_reference_view *from, int64_t from_at,
                         const tsri_reference_view *to, int64_t to_at, int64_t n) {
    const tsri_tensor_dtype *type = tsri_tensor_dtype_info((tsr_dtype)to->dtype);
    const int64_t step = tsri_reference_step(from);
    float block[TSRI_TENSOR_BLOCK];
    for (int64_t i = 0; i < n; i += type->block) {
        if (type->block == 1) {
            tsri_reference_store(to, to_at + i, tsri_reference_load(from, from_at + i * step));
            continue;
        }
        for (int64_t k = 0; k < type->block; k++)
            block[k] = (float)tsri_reference_load(from, from_at + (i + k) * step);
        tsri_tensor_quantize((tsr_dtype)to->dtype, block,
                             to->data + (to_at + i) / type->block * type->bytes, TSRI_TENSOR_BLOCK);
    }
}

double tsri_reference_dot(const tsri_reference_view *a, int64_t a_at, int64_t a_step,
                          const tsri_reference_view *b, int64_t b_at, int64_t b_step, int64_t n) {
    double sum = 0;
    if (a->dtype == TSR_F32 &&
        b->dtype == TSR_F32) { /* the usual case, without a switch for each element */
        const float *x = (const float *)a->data + a_at, *y = (const float *)b->data + b_at;
        for (int64_t i = 0; i < n; i++)
            sum += (double)x[i * a_step] * y[i * b_step];
        return sum;
    }
    if (tsri_tensor_is_kept_blocks((tsr_dtype)b->dtype) && a->dtype == TSR_F32 && b_step == 1) {
        const float *x = (const float *)a->data + a_at;
        const int64_t size = tsri_tensor_dtype_info((tsr_dtype)b->dtype)->block;
        float block[TSRI_TENSOR_LARGEST_BLOCK];
        for (int64_t i = 0, place = size; i < n; i++, place++) {
            if (place == size)
                place = unpack_at(b, b_at + i, block);
            sum += (double)x[i * a_step] * block[place];
        }
        return sum;
    }
    for (int64_t i = 0; i < n; i++)
        sum +=
            tsri_reference_load(a, a_at + i * a_step) * tsri_reference_load(b, b_at + i * b_step);
    return sum;
}

void tsri_reference_visible(const tsri_reference_view *past, const tsri_reference_view *len,
                            bool causal, int64_t window, int64_t b, int64_t t, int64_t keys,
                            int64_t *first, int64_t *end) {
    const int64_t position =
        t + (past->data ? tsri_reference_load_int(past, b * past->stride[0]) : 0);
    *first = 0;
    *end = keys;
    if (len->data) {
        const int64_t limit = tsri_reference_load_int(len, b * len->stride[0]);
        *end = limit < *end ? limit : *end;
    }
    if (causal && position + 1 < *end)
        *end = position + 1;
    if (window > 0 && position - window + 1 > 0)
        *first = position - window + 1;
    if (window > 0 && position + window < *end)
        *end = position + window;
}

int64_t tsri_reference_home(const tsri_reference_view *slot, const tsri_reference_view *pages,
                            int64_t rows, int64_t b, int64_t s) {
    if (pages->data)
        return tsri_reference_load_int(pages, b * pages->stride[0] + s / rows * pages->stride[1]);
    return slot->data ? tsri_reference_load_int(slot, b * slot->stride[0]) : b;
}

double tsri_reference_relative(const tsri_reference_view *relative, const tsri_reference_view *past,
                               int64_t b, int64_t t, int64_t h, int64_t s) {
    if (!relative->data)
        return 0;
    const int64_t R = relative->dim[1] / 2;
    int64_t distance =
        s - t - (past->data ? tsri_reference_load_int(past, b * past->stride[0]) : 0);
    distance = distance < -R ? -R : distance > R ? R : distance;
    return tsri_reference_load(relative,
                               h * relative->stride[0] + (distance + R) * relative->stride[1]);
}

void tsri_reference_attrs(const tsr_op *op, void *out, size_t size) {
    memset(out, 0, size);
    if (!op->attrs)
        return;
    uint32_t given;
    memcpy(&given, op->attrs, sizeof given);
    memcpy(out, op->attrs, given < size ? given : size);
}

tsr_status tsri_reference_check_index(const tsr_op *op, const char *what, int64_t index,
                                      int64_t n) {
    if (index >= 0 && index < n)
        return TSR_OK;
    return tsri_base_fail(TSR_E_ARGUMENT, "%s: %s %lld is outside 0 .. %lld",
                          op->label ? op->label : "reference", what, (long long)index,
                          (long long)n - 1);
}
