/* backends/reference/attention/kv_append.c - the op kv_append: keys or values into a cache. */
#include "backends/reference/reference.h"

tsr_status tsri_reference_kv_append(const tsri_reference_call *call) {
    const tsri_reference_view state = tsri_reference_in(call, 0), x = tsri_reference_in(call, 1),
                              past = tsri_reference_in(call, 2), len = tsri_reference_in(call, 3),
                              slot = tsri_reference_in(call, 4), pages = tsri_reference_in(call, 5);
    const int64_t rows = state.dim[2], capacity = pages.data ? rows * pages.dim[1] : rows;
    for (int64_t b = 0; b < x.dim[0]; b++) {
        const int64_t before = tsri_reference_load_int(&past, b * past.stride[0]);
        const int64_t length = tsri_reference_load_int(&len, b * len.stride[0]);
        const int64_t end = length < capacity ? length : capacity;
        for (int64_t t = 0; t < x.dim[1] && before + t < end; t++) {
            if (before < 0)
                return tsri_reference_check_index(call->op, "position", before, capacity);
            const int64_t j = tsri_reference_home(&slot, &pages, rows, b, before + t);
            if (j < 0 || j >= state.dim[0])
                return tsri_reference_check_index(call->op, "slot", j, state.dim[0]);
            for (int64_t g = 0; g < x.dim[2]; g++)
                tsri_reference_keep(&x, b * x.stride[0] + t * x.stride[1] + g * x.stride[2], &state,
                                    j * state.stride[0] + g * state.stride[1] +
                                        (before + t) % rows * state.stride[2],
                                    x.dim[3]);
        }
    }
    return TSR_OK;
}
