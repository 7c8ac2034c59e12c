/* train/step/arrays.c - what a checkpoint keeps of a training: the parameters and their moments. */
#include "base/error.h"
#include "train/step/ranks.h"

#include <stdio.h>

size_t tsri_training_array_count(const tsri_training *t) {
    return t->n_parameters * (1 + tsri_training_moments(t));
}

static tsri_training_part part_of(const tsri_training *t, size_t i) {
    static const tsri_training_part parts[] = {TSRI_PART_VALUE, TSRI_PART_FIRST, TSRI_PART_SECOND};
    return parts[i % (1 + tsri_training_moments(t))];
}

static const tsri_training_parameter *parameter_at(const tsri_training *t, size_t i) {
    return &t->parameters[i / (1 + tsri_training_moments(t))];
}

void tsri_training_array_at(const tsri_training *t, size_t i, tsri_training_array *out) {
    const tsri_training_parameter *p = parameter_at(t, i);
    const tsri_training_part part = part_of(t, i);
    *out = (tsri_training_array){.rank = (int)p->rank, .dims = {p->dims[0], p->dims[1]}};
    snprintf(out->name, sizeof out->name, "%.90s%s", p->name,
             part == TSRI_PART_FIRST    ? "/m"
             : part == TSRI_PART_SECOND ? "/v"
                                        : "");
}

int tsri_training_array_moment(const tsri_training *t, size_t i) {
    const tsri_training_part part = part_of(t, i);
    return part == TSRI_PART_VALUE ? 0 : part == TSRI_PART_FIRST ? 1 : 2;
}

tsri_training_range tsri_training_array_slice(const tsri_training *t, size_t i) {
    const tsri_training_parameter *p = parameter_at(t, i);
    return t->division ? (tsri_training_range){p->piece.first, p->piece.count}
                       : (tsri_training_range){0, p->elements};
}

tsri_training_range tsri_training_array_held(const tsri_training *t, size_t i) {
    return part_of(t, i) == TSRI_PART_VALUE ? (tsri_training_range){0, parameter_at(t, i)->elements}
                                            : tsri_training_array_slice(t, i);
}

tsr_status tsri_training_array_read(tsri_training *t, size_t i, float *out) {
    const tsri_training_part part = part_of(t, i);
    return t->division && part != TSRI_PART_VALUE
               ? tsri_training_array_read_slice(t, i, out)
               : tsri_training_state_read(t, parameter_at(t, i), part, out);
}

tsr_status tsri_training_array_read_slice(tsri_training *t, size_t i, float *out) {
    const tsri_training_parameter *p = parameter_at(t, i);
    const tsri_training_part part = part_of(t, i);
    return t->division
               ? tsri_training_read_piece(t, p, part == TSRI_PART_VALUE ? TSRI_PART_OWN : part, out)
               : tsri_training_state_read(t, p, part, out);
}

tsr_status tsri_training_gradient_read(tsri_training *t, size_t i, float *out) {
    const tsri_training_parameter *p = parameter_at(t, i);
    return tsri_training_state_read(t, p, TSRI_PART_GRADIENT, out);
}

tsr_status tsri_training_array_write(tsri_training *t, size_t i, const float *data) {
    const tsri_training_parameter *p = parameter_at(t, i);
    const tsri_training_part part = part_of(t, i);
    if (part == TSRI_PART_VALUE)
        TRY(tsri_training_write_value(t, p, data));
    if (t->division)
        return part == TSRI_PART_VALUE
                   ? tsri_training_write_piece(t, p, TSRI_PART_OWN, data + p->piece.first)
                   : tsri_training_write_piece(t, p, part, data);
    if (part == TSRI_PART_VALUE)
        return TSR_OK;
    return tsri_run_write_state(t->run, tsri_training_parameter_state(p->number, part), data,
                                (uint64_t)p->elements * 4);
}
