/* backends/opencl/choose/forms.h - variants that round alike are used together, or not at all.
 *
 * Variants of an op whose rows name the same group (`forms`, bind/variant.h) are its forms: for many rows,
 * for few, for many keys. They give the same bytes; other variants round differently. So where a form
 * does not build or fails its self-test, the op's other forms are refused with it; and a plan that takes
 * one form has those built and tested, before it runs, that the model's other plans may take. */
#ifndef TSRI_OPENCL_CHOOSE_FORMS_H
#define TSRI_OPENCL_CHOOSE_FORMS_H

#include "backends/opencl/launch/steps.h"

/* Steps of no plan, each with an instance of its own and the op as another plan would have it. */
typedef struct tsri_opencl_forms {
    size_t n, capacity;
    tsri_opencl_step **steps;
} tsri_opencl_forms;

/* Lists the forms that the ops of the plan's steps may take in other plans of the model. */
tsr_status tsri_opencl_forms_of(tsr_dev *dev, const tsr_plan *plan, tsri_opencl_forms *forms);
/* Tests the listed forms, which are built: by themselves, or as functions of the plan's chain. *again
 * where one is refused: the plan must choose anew. */
tsr_status tsri_opencl_forms_test(tsr_plan *plan, const tsri_opencl_forms *forms, bool *again);
void tsri_opencl_forms_clear(tsri_opencl_forms *forms);

#endif
