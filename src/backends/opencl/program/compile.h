/* backends/opencl/program/compile.h - makes a program of the driver from a source. */
#ifndef TSRI_OPENCL_PROGRAM_COMPILE_H
#define TSRI_OPENCL_PROGRAM_COMPILE_H

#include "backends/opencl/driver/cache.h"
#include "backends/opencl/program/instance.h"

enum { TSRI_OPENCL_LOG_LIMIT = 1500 }; /* the bytes of a build log that are shown */

/* What a device has built so far, and with which options. */
struct tsri_opencl_programs {
    tsr_dev *dev;
    const char *options[2]; /* for OpenCL C 1.2, and for the newest that the device has */
    const char *folder;     /* TESSERA_KERNEL_PATH, or NULL: the embedded files */
    tsri_bytes variables;   /* of the environment, that may change what the compiler makes */
    bool announced;         /* the user was told once that kernels are being built */
    size_t n, capacity, n_programs, programs_capacity;
    tsri_opencl_instance **instances;
    cl_program *programs;
};

/* Builds a source. TSR_OK with *out NULL: it does not build, or does not have the kernel of one of
 * the n instances; *log (new memory) says why. */
tsr_status tsri_opencl_compile(tsr_dev *dev, const tsri_bytes *source, const char *options,
                               tsri_opencl_instance *const *instances, size_t n, cl_program *out,
                               char **log);
const char *tsri_opencl_program_options(const tsr_dev *dev, bool newest_c);
/* The options with which the instance's program is built. */
const char *tsri_opencl_options_of(const tsri_opencl_programs *programs,
                                   const tsri_opencl_instance *instance);
/* Makes a source's program, from the cache or by building it. TSR_OK with *out NULL: as
 * tsri_opencl_compile; *known: an earlier start found that out. */
tsr_status tsri_opencl_make_program(tsri_opencl_programs *programs, const tsri_bytes *source,
                                    tsri_opencl_instance *const *instances, size_t n,
                                    cl_program *out, char **log, bool *known);
/* Tells the user that n instances are being built. */
void tsri_opencl_announce(tsr_dev *dev, tsri_opencl_instance *const *instances, size_t n);
/* Makes the program of a text with the kernel `kernel`, from the cache or by building it. TSR_OK with
 * *out NULL: it does not build; the log says why. */
tsr_status tsri_opencl_build_text(tsr_dev *dev, const tsri_bytes *source, const char *kernel,
                                  cl_program *out);
/* Whether a text's program was built before, with the options of OpenCL C 1.2, or is known not to build. */
tsr_status tsri_opencl_is_cached(const tsr_dev *dev, const tsri_bytes *source, bool *cached);

/* The folder of the device's kernels, TESSERA_KERNEL_PATH; NULL: the embedded files. */
const char *tsri_opencl_kernel_folder(const tsr_dev *dev);
/* The cache key of what is made from a text of this kind on this device and driver. */
tsr_status tsri_opencl_key_of(const tsr_dev *dev, const char *kind, const char *text, size_t n,
                              tsri_opencl_key *key);
/* The same for a program built with these options. */
tsr_status tsri_opencl_make_key(const tsri_opencl_programs *programs, const char *options,
                                const char *kind, const char *text, size_t n, tsri_opencl_key *key);

#endif
