/* backends/opencl/choose/selftest.h - compares kernels with the reference backend, on the device,
 * at the sizes at which a plan is about to use them.
 *
 * An op has axes along which a kernel may go wrong: rows, inputs, outputs, keys, ids. One trial has
 * small sizes that leave tails. One more trial for each axis has the op's own size along that axis
 * and small sizes along the others, so a trial costs some million multiply-adds whatever the model.
 * How far each axis was tested is kept with the kernel and with its cached verdict: a plan that
 * goes further tests anew.
 *
 * A kernel may lose the device in its test, which a driver may report only when it is waited for.
 * The plan then fails, because such a driver can't be trusted. Later runs refuse the kernel for a
 * day. */
#ifndef TSRI_OPENCL_CHOOSE_SELFTEST_H
#define TSRI_OPENCL_CHOOSE_SELFTEST_H

#include "backends/opencl/launch/steps.h"

enum { TSRI_OPENCL_OPERANDS = 16 };

/* An op at the sizes of a trial. */
typedef struct tsri_opencl_trial {
    tsri_opencl_operation operation;
    int64_t sizes[TSR_SYMBOLS];
} tsri_opencl_trial;

/* --- selftest_sizes.c --- */

/* How far an op goes along each axis: 1 along the first, which stands for the small trial; 0 along
 * an axis that it does not have. Sizes that may differ from run to run are rounded to powers of
 * two. */
void tsri_opencl_trial_reach(const tsr_op *op, int64_t most[TSRI_OPENCL_AXES]);
/* The op as a trial of this axis runs it. Attempts 0 .. TSRI_OPENCL_ATTEMPTS - 1 give different
 * small sizes, the last one the op's own. *usable is false where that costs too much. */
enum { TSRI_OPENCL_ATTEMPTS = 3 };
tsr_status tsri_opencl_trial_make(const tsr_op *op, int axis, int attempt, tsri_opencl_trial *t,
                                  bool *usable);

tsr_tensor *tsri_opencl_trial_tensor(const tsri_opencl_trial *t, uint32_t place);
uint32_t tsri_opencl_trial_operands(const tsri_opencl_trial *t);
/* The number of elements of an operand. */
size_t tsri_opencl_trial_count(const tsri_opencl_trial *t, uint32_t place);

/* --- selftest.c --- */

/* Tests the kernels that the plan's steps chose and that were not tested at such sizes yet, and
 * refuses those that are wrong. *again where one was refused: the plan must choose anew. */
tsr_status tsri_opencl_self_test(tsr_plan *plan, bool *again);
/* Refuses the instance of a step, and says what takes its place. */
tsr_status tsri_opencl_refuse_step(const tsr_dev *dev, const tsri_opencl_step *step,
                                   const char *verdict);

#endif
