/* backends/opencl/program/constants.h - the build constants of a variant for an op, and the name
 * that they make. */
#ifndef TSRI_OPENCL_PROGRAM_CONSTANTS_H
#define TSRI_OPENCL_PROGRAM_CONSTANTS_H

#include "backends/opencl/tuning/tuning.h"

/* The variant's constants for this op: tunables first, then what the op decides. *tunables (may be
 * NULL) gets the tunables in words. Clear `defines` also after a failure. */
tsr_status tsri_opencl_defines_of(const tsr_dev *dev, const tsri_opencl_variant *variant,
                                  const tsr_op *op, const tsri_opencl_wish *wish,
                                  tsri_opencl_defines *defines, tsri_bytes *tunables);
/* The constants of the variant's stage, for these values of the variant's tunables. */
tsr_status tsri_opencl_defines_before(const tsri_opencl_variant *variant, const tsr_op *op,
                                      const tsri_opencl_values *values,
                                      tsri_opencl_defines *defines);
/* Appends the canonical name, "linear/packed:MR=6,W_DTYPE=f16"; for a stage that is not NULL,
 * "pack_rows:MR=6". */
tsr_status tsri_opencl_defines_name(const tsri_opencl_variant *variant,
                                    const tsri_opencl_stage *stage,
                                    const tsri_opencl_defines *defines, tsri_bytes *name);

#endif
