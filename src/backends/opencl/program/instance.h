/* backends/opencl/program/instance.h - a row with all its build constants. */
#ifndef TSRI_OPENCL_PROGRAM_INSTANCE_H
#define TSRI_OPENCL_PROGRAM_INSTANCE_H

#include "backends/opencl/bind/defines.h"
#include "backends/opencl/device/device.h"

typedef enum tsri_opencl_instance_state {
    TSRI_OPENCL_NEW,
    TSRI_OPENCL_BUILT,
    TSRI_OPENCL_REFUSED /* by its build or its self-test: why says so */
} tsri_opencl_instance_state;

/* How far a kernel was tested, by the axes of its op (choose/selftest.h). */
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
    bool bundled;            /* of a bundle: it has no self-test */
    tsri_opencl_reach reach; /* of its self-test, launched by itself */
    char *why;               /* where refused */
    cl_program program;      /* where built; NULL for a provider without a file */
};

/* A new one, of a row or of its stage; of a bundle that has it, built already. */
tsr_status tsri_opencl_instance_new(const tsri_opencl_bundle *bundle, const tsri_opencl_row *row,
                                    const tsri_opencl_stage *stage,
                                    const tsri_opencl_defines *defines, const tsri_bytes *tunables,
                                    char *name, tsri_opencl_instance **out);
void tsri_opencl_instance_free(tsri_opencl_instance *instance);
/* The file of its kernel under cl/, NULL for a provider without one. */
const char *tsri_opencl_instance_file(const tsri_opencl_instance *instance);
tsr_status tsri_opencl_instance_refuse(tsri_opencl_instance *instance, const char *why);
/* It is built as the newest OpenCL C of the device. Stages, which rows of both kinds share, are
 * OpenCL C 1.2. */
bool tsri_opencl_instance_newest_c(const tsri_opencl_instance *instance);

#endif
