/* backends/opencl/program/program.h - instances of variants, built together as programs. */
#ifndef TSRI_OPENCL_PROGRAM_PROGRAM_H
#define TSRI_OPENCL_PROGRAM_PROGRAM_H

#include "backends/opencl/driver/cache.h"
#include "backends/opencl/program/instance.h"
#include "backends/opencl/tuning/tuning.h"

tsr_status tsri_opencl_programs_create(tsr_dev *dev, tsri_opencl_programs **out);
void tsri_opencl_programs_destroy(tsri_opencl_programs *programs);

/* The device's instance of a variant for an op; the same constants give the same instance. Where
 * the values of lines of tuning were refused, it has the defaults. wish: NULL, or what is forced (of
 * any variant). *values (may be NULL) gets the values in force for this op. */
tsr_status tsri_opencl_instance_of(tsr_dev *dev, const tsri_opencl_variant *variant,
                                   const tsr_op *op, const tsri_opencl_wish *wish,
                                   tsri_opencl_values *values, tsri_opencl_instance **out);
/* Builds the new ones of the n instances as one program (and those in the newest OpenCL C as a
 * second one). Where that fails, it builds each by itself and refuses the culprits. It fails only
 * for other reasons than a kernel that does not build. */
tsr_status tsri_opencl_build(tsr_dev *dev, tsri_opencl_instance *const *instances, size_t n);
/* The text of the instance's kernel as program.c pastes it between its constants. */
tsr_status tsri_opencl_instance_source(const tsr_dev *dev, const tsri_opencl_instance *instance,
                                       tsri_bytes *source);
/* The instances that were recorded, by name, and their source. */
tsr_status tsri_opencl_recorded(tsr_dev *dev, tsri_opencl_instance ***out, size_t *n,
                                tsri_bytes *source);

/* Keeps what was found about an instance from run to run: for a kernel within a program of many,
 * whose key is `within`, or (NULL) in one of its own. Nothing is kept for kernels of
 * TESSERA_KERNEL_PATH. */
tsr_status tsri_opencl_verdict_load(tsr_dev *dev, const tsri_opencl_instance *instance,
                                    const tsri_opencl_key *within, tsri_bytes *text, bool *found);
void tsri_opencl_verdict_save(tsr_dev *dev, const tsri_opencl_instance *instance,
                              const tsri_opencl_key *within, const char *text);

#endif
