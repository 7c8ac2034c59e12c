/* backends/opencl/choose/select.h - which kernel variant serves an op: filter, score, forced
 * variants. */
#ifndef TSRI_OPENCL_CHOOSE_SELECT_H
#define TSRI_OPENCL_CHOOSE_SELECT_H

#include "backends/opencl/tuning/tuning.h"
#include "backends/opencl/variants/variants.h"

enum { TSRI_OPENCL_MAX_FORCED = 32, TSRI_OPENCL_BUCKETS = 7 };

/* The variants that the user forces, by op. "matmul=x" also forces linear and glu_linear where they
 * have a variant x and are not named themselves. */
typedef struct tsri_opencl_forced {
    size_t n;
    tsri_opencl_wish wishes[TSRI_OPENCL_MAX_FORCED]; /* at most one for each op */
} tsri_opencl_forced;

/* Reads "op=variant,op=variant:TUNABLE=number"; NULL or "" forces nothing. TSR_E_ARGUMENT for a name
 * that it does not know; the message lists what there is. */
tsr_status tsri_opencl_force(const char *kernels, tsri_opencl_forced *out);
/* What is forced for an op; `variant` is NULL where the choice is free. */
tsri_opencl_wish tsri_opencl_forced_variant(const tsri_opencl_forced *forced, tsr_op_id op);

/* The variants of an op, best score first, with the scores that the device's tuning gives. */
size_t tsri_opencl_candidates(const tsr_dev *dev, const tsr_op *op,
                              const tsri_opencl_variant *variants[TSRI_OPENCL_MAX_VARIANTS]);
/* Whether the variant fits the device, the op and, where the operands are placed, the layout of its
 * weight. wish: NULL, or what is forced (of any variant): its values must fit; values of a tuning
 * table that do not fit give way to the defaults. *why is set where it does not fit; it is valid
 * until the thread's next call. */
bool tsri_opencl_fits(const tsr_dev *dev, const tsri_opencl_variant *variant, const tsr_op *op,
                      const tsri_opencl_wish *wish, bool placed, const char **why);
/* Whether both are forms of one group (bind/variant.h). */
bool tsri_opencl_alike(const tsri_opencl_variant *one, const tsri_opencl_variant *other);
/* Why the variant's group of forms is refused on this device: "linear/mma_few:... does not build: ...",
 * valid until the thread's next call; NULL: it is not, or the variant is of no group. */
const char *tsri_opencl_form_refused(const tsr_dev *dev, const tsri_opencl_variant *variant);
/* The best variant that fits the operands as they are placed, or NULL. A forced variant is the only
 * candidate. */
const tsri_opencl_variant *tsri_opencl_best(const tsr_dev *dev, const tsr_op *op,
                                            const tsri_opencl_wish *forced);

/* Bounds of the plans that the same model may need beside this one: each bucket of M = B * T (1,
 * 2-8, 9-63, >= 64), made of many sequences or of many positions. */
void tsri_opencl_buckets(const tsr_bounds *bounds, tsr_bounds out[TSRI_OPENCL_BUCKETS]);
/* The bucket of the plan that takes the next token of as many sequences. */
int tsri_opencl_next_bucket(const tsr_bounds *bounds);

/* Entry of the backend's table. */
tsr_status tsri_opencl_op_variants(tsr_dev *dev, const tsr_op *op, tsr_variant_visitor visit,
                                   void *data);

#endif
