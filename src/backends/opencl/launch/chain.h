/* backends/opencl/launch/chain.h - several steps of a plan in one launch, on CPUs.
 *
 * A launch costs a CPU's driver some microseconds, and its threads sleep before the next one. So
 * the kernels of a task are also built as functions of one kernel (cl/chain/workers.cl), which as
 * many work-items run as there are cores. They take the work of the steps from a list, one step
 * after the other, and wait for each other at the end of each. The list has the arguments that the
 * variants bind, with the addresses of their buffers, which do not change on these devices.
 *
 * A driver compiles a program on one core. So a plan's program has the kernels of its own steps
 * only, and builders (driver/builders.h) build it and, side by side, that of the plan which takes the
 * next token. This process then finds them in the driver's cache.
 *
 * A kernel that needs neither local memory nor a work-group begins with ENTRY
 * (cl/common/tessera.clh), which makes it a kernel or a function, and takes part; except where its
 * variant says why it is launched alone. Plans that measure each op, bundles and devices of other
 * kinds launch each kernel by itself. */
#ifndef TSRI_OPENCL_LAUNCH_CHAIN_H
#define TSRI_OPENCL_LAUNCH_CHAIN_H

#include "backends/opencl/driver/cache.h"
#include "backends/opencl/launch/steps.h"

/* Steps first .. end - 1 of a plan, which are one launch. */
struct tsri_opencl_link {
    uint32_t first, end;
    uint32_t n_records; /* one for each kernel: steps and their stages */
    cl_mem records;
    cl_kernel kernel;
};

/* Which plans need an instance: this one, the one that takes the next token of its sequences, and later
 * ones, for which it must be right before this one may run (choose/forms.h). */
enum { TSRI_OPENCL_THIS_PLAN = 1, TSRI_OPENCL_NEXT_PLAN = 2, TSRI_OPENCL_LATER_PLAN = 4 };

/* An instance that a plan of this model may need, and a step whose op it serves at these bounds. */
typedef struct tsri_opencl_need {
    tsri_opencl_instance *instance;
    tsri_opencl_step *step;
    tsr_bounds bounds;
    unsigned plans; /* bits */
} tsri_opencl_need;

/* Whether the device runs chains (not where option "chain" is 0), and the plan has enough steps for
 * one. */
bool tsri_opencl_joins(const tsr_plan *plan);
/* The chain of the kernels that the plan's steps run: one that is built, else one that a builder was
 * told to build. NULL: neither. */
tsri_opencl_chain *tsri_opencl_chain_for(const tsr_plan *plan);
/* Finds or builds the program with the kernels of the plan's steps; a builder builds that for the
 * next token meanwhile. Where the plan's own does not build, plan->chain stays NULL. */
tsr_status tsri_opencl_chain_choose(tsr_plan *plan, const tsri_opencl_need *needs, size_t n);
/* Tells a builder to build the program that the plan will choose, where no process has built it. */
tsr_status tsri_opencl_chain_begin(tsr_plan *plan, const tsri_opencl_need *needs, size_t n);
/* Gives up the plan's chain program, for this plan and later ones of the device. */
void tsri_opencl_chain_refuse(tsr_plan *plan);
/* Whether the step's kernels are in the plan's chain program. */
bool tsri_opencl_chain_has(const tsr_plan *plan, const tsri_opencl_step *step);
/* How far the step's instance was self-tested as a function of the chain; below, the key of the
 * chain's program. */
tsri_opencl_reach *tsri_opencl_chain_reach(const tsr_plan *plan, const tsri_opencl_step *step);
const tsri_opencl_key *tsri_opencl_chain_key(const tsr_plan *plan);
/* Makes the links of a bound plan; called again after the device's scratch has moved. */
tsr_status tsri_opencl_chain_bind(tsr_plan *plan);
tsr_status tsri_opencl_chain_run(tsr_plan *plan, const tsri_opencl_link *link, cl_event *last);
void tsri_opencl_chain_release(tsr_plan *plan);
void tsri_opencl_chains_destroy(tsr_dev *dev);

#endif
