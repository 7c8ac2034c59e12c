/* backends/opencl/program.h - instances of rows, built together as programs. */
#ifndef TSRI_OPENCL_PROGRAM_H
#define TSRI_OPENCL_PROGRAM_H

#include "backends/opencl/cache.h"
#include "backends/opencl/tuning.h"

typedef enum tsri_opencl_instance_state {
    TSRI_OPENCL_NEW,
    TSRI_OPENCL_BUILT,
    TSRI_OPENCL_REFUSED /* by its build or its self-test: why says so */
} tsri_opencl_instance_state;

/* How far a kernel was tested, by the axes of its op (selftest.h). */
enum { TSRI_OPENCL_AXES = 4 };
typedef struct tsri_opencl_reach {
    bool asked; /* the cache was, or no test is due */
    int64_t most[TSRI_OPENCL_AXES];
} tsri_opencl_reach;

/* A row with all its build constants. */
typedef struct tsri_opencl_instance tsri_opencl_instance;
struct tsri_opencl_instance {
    const tsri_opencl_row *row;
    const tsri_opencl_stage
        *stage; /* the instance of a stage, whichever rows share it; NULL: of a row */
    tsri_opencl_instance *before; /* of the row's stage before; NULL: it has none */
    char *name;                   /* canonical: "linear/packed:MR=6,W_DTYPE=f16" */
    char *tunables;               /* "MR=6 (default; 1 to 7)" */
    tsri_opencl_values values;    /* of the row's tunables */
    char *define, *undefine;
    char kernel[96]; /* the kernel's name in the program */
    char *signature; /* kinds of its arguments, once it was traced for a chain */
    uint32_t n_args; /* of the kernel; where it was recorded for a bundle */
    tsri_opencl_instance_state state;
    bool bundled;       /* of a bundle: it has no self-test */
    tsri_opencl_reach reach; /* of its self-test, launched by itself */
    char *why;               /* where refused */
    cl_program program; /* where built; NULL for a provider without a file */
};

tsr_status tsri_opencl_programs_create(tsr_dev *dev, tsri_opencl_programs **out);
void tsri_opencl_programs_destroy(tsri_opencl_programs *programs);

/* The device's instance of a row for an op; the same constants give the same one. wish: NULL, or
 * what is forced (of any row). */
tsr_status tsri_opencl_instance_of(tsr_dev *dev, const tsri_opencl_row *row, const tsr_op *op,
                                   const tsri_opencl_wish *wish, tsri_opencl_instance **out);
/* A new one, of a row or of its stage; of a bundle that has it, built already. */
tsr_status tsri_opencl_instance_new(const tsri_opencl_bundle *bundle, const tsri_opencl_row *row,
                                    const tsri_opencl_stage *stage,
                                    const tsri_opencl_defines *defines, const tsri_bytes *tunables,
                                    char *name, tsri_opencl_instance **out);
void tsri_opencl_instance_free(tsri_opencl_instance *instance);
/* The file of its kernel under cl/, NULL for a provider without one. */
const char *tsri_opencl_instance_file(const tsri_opencl_instance *instance);

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
tsr_status tsri_opencl_instance_refuse(tsri_opencl_instance *instance, const char *why);

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

const char *tsri_opencl_op_name(tsr_op_id op); /* select.c; NULL for an unknown op */

#endif
