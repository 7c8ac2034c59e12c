/* backends/reference/elements/elements.c - what ops on single elements have in common. */
#include "backends/reference/elements/elements.h"

/* The place of the element of b that belongs to element i of a: sizes are aligned at the last
 * dimension. */
static int64_t broadcast_at(const tsri_reference_view *b, const tsri_reference_view *a, int64_t i) {
    int64_t at = 0;
    for (uint32_t k = a->rank; k-- > 0; i /= a->dim[k]) {
        const int64_t j = (int64_t)b->rank - (int64_t)(a->rank - k);
        if (j >= 0 && b->dim[j] != 1)
            at += i % a->dim[k] * b->stride[j];
    }
    return at;
}

tsr_status tsri_reference_binary(const tsri_reference_call *call, bool multiply) {
    const tsri_reference_view a = tsri_reference_in(call, 0), b = tsri_reference_in(call, 1),
                              y = tsri_reference_out(call, 0);
    for (int64_t i = 0, n = tsri_reference_count(&y); i < n; i++) {
        const double p = tsri_reference_load(&a, tsri_reference_element_at(&a, i));
        const double q = tsri_reference_load(&b, broadcast_at(&b, &a, i));
        tsri_reference_store(&y, tsri_reference_element_at(&y, i), multiply ? p * q : p + q);
    }
    return TSR_OK;
}

static bool is_integer(uint32_t dtype) {
    return dtype >= TSR_I32 && dtype <= TSR_BOOL;
}

tsr_status tsri_reference_move(const tsri_reference_call *call) {
    const tsri_reference_view x = tsri_reference_in(call, 0), y = tsri_reference_out(call, 0);
    const bool whole = is_integer(x.dtype) && is_integer(y.dtype);
    for (int64_t i = 0, n = tsri_reference_count(&y); i < n; i++) {
        const int64_t from = tsri_reference_element_at(&x, i),
                      to = tsri_reference_element_at(&y, i);
        if (whole)
            tsri_reference_store_int(&y, to, tsri_reference_load_int(&x, from));
        else
            tsri_reference_store(&y, to, tsri_reference_load(&x, from));
    }
    return TSR_OK;
}
