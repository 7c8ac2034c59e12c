/* tensor/shape.c - sizes with symbols: products, values, strides, extents, and a text for
 * messages. */
#include "tensor/shape.h"

#include "tensor/dtype.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

tsr_dim tsri_tensor_const(int64_t n) {
    return (tsr_dim){.factor = n};
}

tsr_dim tsri_tensor_symbol(uint32_t symbols) {
    return (tsr_dim){.factor = 1, .symbols = symbols};
}

tsr_dim tsri_tensor_times(tsr_dim a, tsr_dim b) {
    assert(!(a.symbols & b.symbols));
    return (tsr_dim){.factor = a.factor * b.factor, .symbols = a.symbols | b.symbols};
}

bool tsri_tensor_same_dim(tsr_dim a, tsr_dim b) {
    return a.factor == b.factor && (a.symbols == b.symbols || a.factor == 0);
}

bool tsri_tensor_is_one(tsr_dim a) {
    return a.factor == 1 && !a.symbols;
}

int64_t tsri_tensor_value(tsr_dim dim, const int64_t sizes[TSR_SYMBOLS]) {
    int64_t value = dim.factor;
    for (int i = 0; i < TSR_SYMBOLS; i++)
        if (dim.symbols >> i & 1)
            value *= sizes[i];
    return value;
}

void tsri_tensor_dims_table(const int64_t sizes[TSR_SYMBOLS], int32_t table[TSR_SYMBOL_SETS]) {
    for (uint32_t set = 0; set < TSR_SYMBOL_SETS; set++)
        table[set] = (int32_t)tsri_tensor_value(tsri_tensor_symbol(set), sizes);
}

static tsr_dim product(const tsr_tensor *tensor, uint32_t n) {
    tsr_dim all = tsri_tensor_const(1);
    for (uint32_t i = 0; i < n; i++)
        all = tsri_tensor_times(all, tensor->dim[i]);
    return all;
}

tsr_dim tsri_tensor_count(const tsr_tensor *tensor) {
    return product(tensor, tensor->rank);
}

tsr_dim tsri_tensor_rows(const tsr_tensor *tensor) {
    return product(tensor, tensor->rank ? tensor->rank - 1 : 0);
}

tsr_dim tsri_tensor_columns(const tsr_tensor *tensor) {
    return tensor->rank ? tensor->dim[tensor->rank - 1] : tsri_tensor_const(1);
}

void tsri_tensor_pack(tsr_tensor *tensor) {
    tsr_dim step = tsri_tensor_const(1);
    for (uint32_t i = tensor->rank; i-- > 0;) {
        tensor->stride[i] = step;
        step = tsri_tensor_times(step, tensor->dim[i]);
    }
}

bool tsri_tensor_is_packed(const tsr_tensor *tensor) {
    tsr_tensor packed = *tensor;
    tsri_tensor_pack(&packed);
    for (uint32_t i = 0; i < tensor->rank; i++)
        if (!tsri_tensor_is_one(tensor->dim[i]) &&
            !tsri_tensor_same_dim(tensor->stride[i], packed.stride[i]))
            return false;
    return true;
}

bool tsri_tensor_collapses(const tsr_tensor *tensor, int64_t *row_stride) {
    if (tensor->rank == 0) {
        *row_stride = 1;
        return true;
    }
    const uint32_t last = tensor->rank - 1;
    if (!tsri_tensor_is_one(tensor->dim[last]) && !tsri_tensor_is_one(tensor->stride[last]))
        return false;
    /* from the inside out, the stride of the next dimension that is not 1 must be (inner stride *
     * inner size) */
    bool found = false;
    tsr_dim expected = tsri_tensor_const(0);
    *row_stride = tensor->dim[last].symbols ? 0 : tensor->dim[last].factor;
    for (uint32_t i = last; i-- > 0;) {
        if (tsri_tensor_is_one(tensor->dim[i]))
            continue;
        if (found && !tsri_tensor_same_dim(tensor->stride[i], expected))
            return false;
        if (!found) {
            if (tensor->stride[i].symbols)
                return false;
            *row_stride = tensor->stride[i].factor;
            found = true;
        }
        if (tensor->stride[i].symbols & tensor->dim[i].symbols)
            return false;
        expected = tsri_tensor_times(tensor->stride[i], tensor->dim[i]);
    }
    return found || !tensor->dim[last].symbols;
}

bool tsri_tensor_collapses_to_groups(const tsr_tensor *tensor, tsri_tensor_grouped *rows) {
    *rows = (tsri_tensor_grouped){.group = 1};
    if (tsri_tensor_collapses(tensor, &rows->stride))
        return true;
    if (tensor->rank < 2)
        return false;
    const uint32_t last = tensor->rank - 1;
    const tsr_dim group = tensor->dim[last - 1], stride = tensor->stride[last - 1];
    tsr_tensor groups = *tensor;
    int64_t between;
    groups.dim[last - 1] = tensor->dim[last];
    groups.stride[last - 1] = tensor->stride[last];
    groups.rank = last;
    if (group.symbols || group.factor < 1 || stride.symbols ||
        !tsri_tensor_collapses(&groups, &between))
        return false;
    *rows = (tsri_tensor_grouped){.stride = stride.factor,
                                  .group = group.factor,
                                  .gap = between - group.factor * stride.factor};
    return true;
}

uint64_t tsri_tensor_extent(const tsr_tensor *tensor, const int64_t sizes[TSR_SYMBOLS]) {
    int64_t last = tensor->offset;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        const int64_t n = tsri_tensor_value(tensor->dim[i], sizes);
        if (n == 0)
            return 0;
        last += (n - 1) * tsri_tensor_value(tensor->stride[i], sizes);
    }
    const tsri_tensor_dtype *type = tsri_tensor_dtype_info((tsr_dtype)tensor->dtype);
    return ((uint64_t)last + (uint64_t)type->block) / (uint64_t)type->block * (uint64_t)type->bytes;
}

const char *tsri_tensor_dtype_name(tsr_dtype dtype) {
    const tsri_tensor_dtype *type = tsri_tensor_dtype_info(dtype);
    return type ? type->name : "?";
}

const char *tsri_tensor_print(const tsr_tensor *tensor, char text[96]) {
    static const char letters[TSR_SYMBOLS + 1] = "BTSUN";
    size_t n = (size_t)snprintf(text, 96, "[");
    for (uint32_t i = 0; i < tensor->rank && n < 72; i++) {
        const tsr_dim d = tensor->dim[i];
        if (i)
            text[n++] = ',';
        if (d.factor != 1 || !d.symbols)
            n += (size_t)snprintf(text + n, 96 - n, "%lld", (long long)d.factor);
        for (int s = 0; s < TSR_SYMBOLS && n < 90; s++)
            if (d.symbols >> s & 1)
                text[n++] = letters[s];
    }
    snprintf(text + n, 96 - n, "]");
    return text;
}
