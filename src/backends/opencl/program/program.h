/* backends/opencl/program/program.h - instances of rows, built together as programs. */
#ifndef TSRI_OPENCL_PROGRAM_PROGRAM_H
#define TSRI_OPENCL_PROGRAM_PROGRAM_H

#include "backends/opencl/driver/cache.h"
#include "backends/opencl/program/instance.h"
#include "backends/opencl/tuning/tuning.h"

tsr_status tsri_opencl_programs_create(tsr_dev *dev, tsri_opencl_programs **out);
void tsri_opencl_programs_destroy(tsri_opencl_programs *programs);

/* The device's instance of a row for an op; the same constants give the same one. wish: NULL, or
 * what is forced (of any row). */
tsr_status tsri_opencl_instance_of(tsr_dev *dev, const tsri_opencl_row *row, const tsr_op *op,
                                   const tsri_opencl_wish *wish, tsri_opencl_instance **out);
/* Builds those of the n instances that are new as one program (and one more of those in the newest
 * OpenCL C); where that fails, each alone, and
 * refuses the culprits. An error is something else than a kernel that doesn't build. */
tsr_status tsri_opencl_build(tsr_dev *dev, tsri_opencl_instance *const *instances, size_t n);
/* Builds a source. TSR_OK with *out NULL: it doesn't build, or lacks the kernel of one of the n
 * instances; *log (new memory) says why. */
tsr_status tsri_opencl_compile(tsr_dev *dev, const tsri_bytes *source, const char *options,
                               tsri_opencl_instance *const *instances, size_t n, cl_program *out,
                               char **log);
const char *tsri_opencl_program_options(const tsr_dev *dev);
/* The text of the instance's kernel as program.c pastes it, between its constants. */
tsr_status tsri_opencl_instance_source(const tsr_dev *dev, const tsri_opencl_instance *instance,
                                       tsri_bytes *source);
/* A program of a text with this kernel, from the cache or built. TSR_OK with *out NULL: it does not
 * build; the log was told why. */
tsr_status tsri_opencl_build_text(tsr_dev *dev, const tsri_bytes *source, const char *kernel,
                                  cl_program *out);
/* The instances that were recorded, by name, and their source. */
tsr_status tsri_opencl_recorded(tsr_dev *dev, tsri_opencl_instance ***out, size_t *n,
                                tsri_bytes *source);

/* What was found about an instance kept from run to run: within a program of many, whose key that
 * is, or (NULL) in one of its own. Nothing is kept of kernels from TESSERA_KERNEL_PATH. */
tsr_status tsri_opencl_verdict_load(tsr_dev *dev, const tsri_opencl_instance *instance,
                                    const tsri_opencl_key *within, tsri_bytes *text, bool *found);
void tsri_opencl_verdict_save(tsr_dev *dev, const tsri_opencl_instance *instance,
                              const tsri_opencl_key *within, const char *text);

/* Where the device's kernels come from: TESSERA_KERNEL_PATH, or NULL: the embedded files. */
const char *tsri_opencl_kernel_folder(const tsr_dev *dev);
/* The key of what a text of this kind comes to on this device and driver. */
tsr_status tsri_opencl_key_of(const tsr_dev *dev, const char *kind, const char *text, size_t n,
                              tsri_opencl_key *key);

#endif
