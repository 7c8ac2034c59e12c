/* backends/opencl/launch/chain.h - steps of a plan in one launch, on CPUs.
 *
 * A launch costs a CPU's driver some microseconds, and its threads sleep before the next. So the
 * kernels of a task are also built as functions of one kernel (cl/chain/workers.cl), which as many
 * work-items as there are cores run: they take the steps' work from a list, one step after the
 * other, and wait for each other at its end. The list has the arguments that the rows bind, with
 * the addresses of their buffers, which on these devices stay what they are.
 *
 * Rows know nothing of this: a kernel takes part where it needs neither local memory nor a
 * work-group. Plans that measure each op, bundles and devices of other kinds launch each kernel.
 */
#ifndef TSRI_OPENCL_LAUNCH_CHAIN_H
#define TSRI_OPENCL_LAUNCH_CHAIN_H

#include "backends/opencl/driver/cache.h"
#include "backends/opencl/launch/steps.h"

/* Steps first .. end - 1 of a plan. */
struct tsri_opencl_link {
    uint32_t first, end;
    uint32_t n_records; /* kernels: steps and their stages */
    cl_mem records;
    cl_kernel kernel;
};

/* An instance that a plan may need, and where. */
typedef struct tsri_opencl_chained {
    tsri_opencl_instance *instance;
    tsri_opencl_step *step; /* of an op that it serves, with these bounds */
    tsr_bounds bounds;
} tsri_opencl_chained;

/* The device runs chains, unless option "chain" is 0. */
bool tsri_opencl_chains(const tsr_dev *dev);
/* The program that has what the steps of a plan run; NULL: none yet. */
const tsri_opencl_chain *tsri_opencl_chain_for(const tsr_plan *plan);
/* Finds or builds the program of what the steps of a plan run; it has the n others too. A program
 * that does not build leaves plan->chain NULL. */
tsr_status tsri_opencl_chain_choose(tsr_plan *plan, const tsri_opencl_chained *others, size_t n);
/* Gives up the plan's program for this and later plans of the device. */
void tsri_opencl_chain_refuse(tsr_plan *plan);
/* Whether the step's kernels are in the plan's chain program. */
bool tsri_opencl_chain_has(const tsr_plan *plan, const tsri_opencl_step *step);
/* What the self-test of the step's instance covered as a function of the chain; and the key of the
 * chain's program. */
tsri_opencl_reach *tsri_opencl_chain_reach(const tsr_plan *plan, const tsri_opencl_step *step);
const tsri_opencl_key *tsri_opencl_chain_key(const tsr_plan *plan);
/* Makes the links of a bound plan; again after the device's scratch moved. */
tsr_status tsri_opencl_chain_bind(tsr_plan *plan);
tsr_status tsri_opencl_chain_run(tsr_plan *plan, const tsri_opencl_link *link, cl_event *last);
void tsri_opencl_chain_release(tsr_plan *plan);
void tsri_opencl_chains_destroy(tsr_dev *dev);

#endif
