/* backends/opencl/launch/profile.h - launches measured by their events. */
#ifndef TSRI_OPENCL_LAUNCH_PROFILE_H
#define TSRI_OPENCL_LAUNCH_PROFILE_H

#include "backends/opencl/launch/steps.h"

/* The function for the pieces of a measured plan (its data is the plan); and the measured events,
 * collected into the steps. */
tsr_status tsri_opencl_profile_begin(tsr_plan *plan);
void tsri_opencl_profile_piece(void *plan, const tsri_opencl_launch *launch, cl_event event,
                               uint64_t enqueue_ns);
tsr_status tsri_opencl_profile_gather(tsr_plan *plan);
void tsri_opencl_profile_end(tsr_plan *plan);

/* Entry of the backend's table. */
tsr_status tsri_opencl_plan_profile(tsr_plan *plan, tsr_profile_visitor visit, void *data);

#endif
