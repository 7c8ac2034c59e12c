/* backends/opencl/program/constants.h - the build constants of a variant for an op, and the name
 * that they make. */
#ifndef TSRI_OPENCL_PROGRAM_CONSTANTS_H
#define TSRI_OPENCL_PROGRAM_CONSTANTS_H

#include "backends/opencl/tuning/tuning.h"

/* Whether the device and the op have what the variant needs, with the values in force of its
 * tunables; *why is set where they do not. wish: NULL, or what is forced (of any variant). */
bool tsri_opencl_fits_tuned(const tsr_dev *dev, const tsri_opencl_variant *variant,
                            const tsr_op *op, const tsri_opencl_wish *wish, const char **why);
/* The values in force for an op that suits the variant. Where the device does not take what lines of
 * tables say, the defaults stand in their place. On a device with a bundle they are those of one of its
 * kernels: the one with these values, or else the first that fits. TSR_E_ARGUMENT: its kernels for the op
 * have other values than a forced one. */
tsr_status tsri_opencl_settle(const tsr_dev *dev, const tsri_opencl_variant *variant,
                              const tsr_op *op, const tsri_opencl_wish *wish,
                              tsri_opencl_values *values);
/* Replaces the values that come from lines by the defaults, and notes why; false where there are
 * none. */
bool tsri_opencl_settle_for_defaults(const tsri_opencl_variant *variant, const char *why,
                                     tsri_opencl_values *values);
/* Whether the values that an instance has for the op come from lines, and the defaults are others, which
 * therefore stand in its place where it is refused. */
bool tsri_opencl_gives_way(const tsr_dev *dev, const tsri_opencl_variant *variant, const tsr_op *op,
                           const tsri_opencl_wish *wish, const tsri_opencl_values *own);
/* Appends the values in words: "MR=6 (default; 1 to 7)". */
tsr_status tsri_opencl_describe_values(const tsri_opencl_variant *variant,
                                       const tsri_opencl_values *values, tsri_bytes *out);
/* The variant's constants for this op: tunables first, then what the op decides. Clear `defines`
 * also after a failure. */
tsr_status tsri_opencl_defines_of(const tsri_opencl_variant *variant, const tsr_op *op,
                                  const tsri_opencl_values *values, tsri_opencl_defines *defines);
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
