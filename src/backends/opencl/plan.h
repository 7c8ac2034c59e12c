/* backends/opencl/plan.h - ops bound to kernels and buffers, ready to be enqueued. */
#ifndef TSRI_OPENCL_PLAN_H
#define TSRI_OPENCL_PLAN_H

#include "backends/opencl/launch/steps.h"

/* Entries of the backend's table. */
tsr_status tsri_opencl_plan_create(tsr_dev *dev, const tsr_plan_spec *spec, tsr_plan **out);
tsr_status tsri_opencl_plan_announce(tsr_dev *dev, const tsr_plan_spec *spec);
void tsri_opencl_plan_destroy(tsr_plan *plan);
tsr_status tsri_opencl_plan_run(tsr_plan *plan, const tsr_run *run, const tsr_waits *waits,
                                tsr_event **done);
tsr_status tsri_opencl_plan_explain(tsr_plan *plan, size_t op, tsr_variant_visitor visit,
                                    void *data);

#endif
