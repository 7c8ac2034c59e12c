/* backends/reference/plan.h - the part of the reference backend's table that is about ops;
 * tessera/backend.h has the contracts. */
#ifndef TSRI_REFERENCE_PLAN_H
#define TSRI_REFERENCE_PLAN_H

#include "backends/reference/reference.h"

struct tsr_dev {
    bool profile; /* runs of ops are counted and timed */
};

tsr_status tsri_reference_op_variants(tsr_dev *dev, const tsr_op *op, tsr_variant_visitor visit,
                                      void *data);
tsr_status tsri_reference_plan_create(tsr_dev *dev, const tsr_plan_spec *spec, tsr_plan **out);
void tsri_reference_plan_destroy(tsr_plan *plan);
tsr_status tsri_reference_plan_run(tsr_plan *plan, const tsr_run *run, const tsr_waits *waits,
                                   tsr_event **done);
tsr_status tsri_reference_plan_explain(tsr_plan *plan, size_t op, tsr_variant_visitor visit,
                                       void *data);
tsr_status tsri_reference_plan_profile(tsr_plan *plan, tsr_profile_visitor visit, void *data);

/* The event of everything that was enqueued: it is complete, since each call is done when it
 * returns. */
tsr_event *tsri_reference_done(void);

#endif
