/* backends/opencl/program/compile.h - a source becomes a program of the driver. */
#ifndef TSRI_OPENCL_PROGRAM_COMPILE_H
#define TSRI_OPENCL_PROGRAM_COMPILE_H

#include "backends/opencl/driver/cache.h"
#include "backends/opencl/program/instance.h"

enum { TSRI_OPENCL_LOG_LIMIT = 1500 }; /* bytes of a build log that are shown */

/* What a device has built so far, and by which options. */
struct tsri_opencl_programs {
    tsr_dev *dev;
    const char *options[2]; /* of OpenCL C 1.2, and of the newest that the device has */
    const char *folder;     /* TESSERA_KERNEL_PATH, or NULL: the embedded files */
    bool announced;         /* the user was told that kernels are being built; once is enough */
    size_t n, capacity, n_programs, programs_capacity;
    tsri_opencl_instance **instances;
    cl_program *programs;
};

/* Builds a source. TSR_OK with *out NULL: it doesn't build, or lacks the kernel of one of the n
 * instances; *log (new memory) says why. */
tsr_status tsri_opencl_compile(tsr_dev *dev, const tsri_bytes *source, const char *options,
                               tsri_opencl_instance *const *instances, size_t n, cl_program *out,
                               char **log);
const char *tsri_opencl_program_options(const tsr_dev *dev);
/* The options that the instance's program is built with. */
const char *tsri_opencl_options_of(const tsri_opencl_programs *programs,
                                   const tsri_opencl_instance *instance);
/* A source's program, from the cache or built. TSR_OK with *out NULL: as tsri_opencl_compile. */
tsr_status tsri_opencl_make_program(tsri_opencl_programs *programs, const tsri_bytes *source,
                                    tsri_opencl_instance *const *instances, size_t n,
                                    cl_program *out, char **log);
/* A program of a text with this kernel, from the cache or built. TSR_OK with *out NULL: it does not
 * build; the log was told why. */
tsr_status tsri_opencl_build_text(tsr_dev *dev, const tsri_bytes *source, const char *kernel,
                                  cl_program *out);

/* Where the device's kernels come from: TESSERA_KERNEL_PATH, or NULL: the embedded files. */
const char *tsri_opencl_kernel_folder(const tsr_dev *dev);
/* The key of what a text of this kind comes to on this device and driver. */
tsr_status tsri_opencl_key_of(const tsr_dev *dev, const char *kind, const char *text, size_t n,
                              tsri_opencl_key *key);
/* The same for a program built with these options. */
tsr_status tsri_opencl_make_key(const tsri_opencl_programs *programs, const char *options,
                                const char *kind, const char *text, size_t n, tsri_opencl_key *key);

#endif
