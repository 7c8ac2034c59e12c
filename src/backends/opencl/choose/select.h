/* backends/opencl/choose/select.h - which row serves an op: filter, score, forced rows. */
#ifndef TSRI_OPENCL_CHOOSE_SELECT_H
#define TSRI_OPENCL_CHOOSE_SELECT_H

#include "backends/opencl/tuning/tuning.h"

enum { TSRI_OPENCL_MAX_ROWS = 64, TSRI_OPENCL_MAX_FORCED = 32, TSRI_OPENCL_BUCKETS = 7 };

/* Rows that the user forces, by op. "matmul=x" also forces linear and glu_linear where they have a
 * row x and aren't named. */
typedef struct tsri_opencl_forced {
    size_t n;
    tsri_opencl_wish rows[TSRI_OPENCL_MAX_FORCED]; /* one an op */
} tsri_opencl_forced;

/* "op=row,op=row:TUNABLE=number:TUNABLE=number"; NULL or "": none. TSR_E_ARGUMENT for what it can't
 * name, listing what there is. */
tsr_status tsri_opencl_force(const char *kernels, tsri_opencl_forced *out);
/* What is forced for an op; its row is NULL where the choice is free. */
tsri_opencl_wish tsri_opencl_forced_row(const tsri_opencl_forced *forced, tsr_op_id op);

/* The rows of an op, best score first, as the device's tuning has it. */
size_t tsri_opencl_candidates(const tsr_dev *dev, const tsr_op *op,
                              const tsri_opencl_row *rows[TSRI_OPENCL_MAX_ROWS]);
/* Fits the device, the op and, where the operands are placed, the layout of its weight. *why is set
 * where not, valid until the thread's next call. */
bool tsri_opencl_fits(const tsr_dev *dev, const tsri_opencl_row *row, const tsr_op *op, bool placed,
                      const char **why);
/* The best that fits operands as they are placed, or NULL. A forced row is the only candidate. */
const tsri_opencl_row *tsri_opencl_best(const tsr_dev *dev, const tsr_op *op,
                                        const tsri_opencl_row *forced);

/* Bounds of plans that the same model may need beside this one: a bucket of M = B * T (1, 2-8,
 * 9-63, >= 64), by many sequences or many positions. */
void tsri_opencl_buckets(const tsr_bounds *bounds, tsr_bounds out[TSRI_OPENCL_BUCKETS]);

/* Entry of the backend's table. */
tsr_status tsri_opencl_op_rows(tsr_dev *dev, const tsr_op *op, tsr_row_visitor visit, void *data);

#endif
