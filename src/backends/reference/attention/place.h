/* backends/reference/attention/place.h - what distance_scores and its gradient share. */
#ifndef TSRI_BACKENDS_REFERENCE_ATTENTION_PLACE_H
#define TSRI_BACKENDS_REFERENCE_ATTENTION_PLACE_H

#include "backends/reference/reference.h"
#include "base/error.h"

/* The place of a key at this distance from the query, one of `places`. */
static inline tsr_status tsri_reference_place(const tsr_op *op, const tsri_reference_view *place,
                                              int64_t distance, int64_t places, int64_t *out) {
    const int64_t R = place->dim[0] / 2, near = distance < -R ? -R : distance > R ? R : distance;
    *out = tsri_reference_load_int(place, (near + R) * place->stride[0]);
    return tsri_reference_check_index(op, "place", *out, places);
}

static inline int64_t tsri_reference_at4(const tsri_reference_view *v, int64_t i, int64_t j,
                                         int64_t k, int64_t l) {
    return i * v->stride[0] + j * v->stride[1] + k * v->stride[2] + l * v->stride[3];
}

#endif
