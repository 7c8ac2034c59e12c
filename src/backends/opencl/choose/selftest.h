/* backends/opencl/choose/selftest.h - kernels against the reference backend, on the device, at the
 * sizes that a plan is about to use them at.
 *
 * An op has axes along which a kernel may go wrong: rows, inputs, outputs, keys, ids. One trial has
 * small sizes that leave tails; one more for each axis has the op's own size along it, the others
 * small, so that a trial costs some million multiply-adds whatever the model. How far each axis was
 * tested is kept with the kernel and with its cached verdict: a plan that goes further tests anew.
 */
#ifndef TSRI_OPENCL_CHOOSE_SELFTEST_H
#define TSRI_OPENCL_CHOOSE_SELFTEST_H

#include "backends/opencl/launch/steps.h"

enum { TSRI_OPENCL_OPERANDS = 16 };

/* An op at sizes of a trial. */
typedef struct tsri_opencl_trial {
    tsri_opencl_operation operation;
    int64_t sizes[TSR_SYMBOLS];
} tsri_opencl_trial;

/* --- selftest_sizes.c --- */

/* How far an op goes along each axis: 1 along the first, which is the small trial; 0 where it has
 * no such axis. What may differ from run to run counts in powers of two. */
void tsri_opencl_trial_reach(const tsr_op *op, int64_t most[TSRI_OPENCL_AXES]);
/* The op as a trial of this axis has it; attempts 0 .. TSRI_OPENCL_ATTEMPTS - 1 give other small
 * sizes, the last one the op's own. *usable is false where that costs too much. */
enum { TSRI_OPENCL_ATTEMPTS = 3 };
tsr_status tsri_opencl_trial_make(const tsr_op *op, int axis, int attempt, tsri_opencl_trial *t,
                                  bool *usable);

tsr_tensor *tsri_opencl_trial_tensor(const tsri_opencl_trial *t, uint32_t place);
uint32_t tsri_opencl_trial_operands(const tsri_opencl_trial *t);
/* Elements of an operand. */
size_t tsri_opencl_trial_count(const tsri_opencl_trial *t, uint32_t place);

/* --- selftest_data.c --- */

/* What input number `operand` holds, as its tensor's elements: numbers that make sums of products
 * exact, and indices that reach the end of what they index. New memory. */
tsr_status tsri_opencl_trial_fill(const tsri_opencl_trial *t, uint32_t operand, void **out);
/* The op writes this operand. */
bool tsri_opencl_trial_writes(const tsri_opencl_trial *t, uint32_t place);

/* --- selftest.c --- */

/* Tests what the plan's steps have chosen and never ran so far out, and refuses what errs: then
 * *again. */
tsr_status tsri_opencl_self_test(tsr_plan *plan, bool *again);

#endif
