/* backends/opencl/program/instance.h - a variant with all its build constants. */
#ifndef TSRI_OPENCL_PROGRAM_INSTANCE_H
#define TSRI_OPENCL_PROGRAM_INSTANCE_H

#include "backends/opencl/bind/defines.h"
#include "backends/opencl/device/device.h"

typedef enum tsri_opencl_instance_state {
    TSRI_OPENCL_NEW,
    TSRI_OPENCL_BUILT,
    TSRI_OPENCL_REFUSED /* its build or its self-test failed; `why` says how */
} tsri_opencl_instance_state;

/* How far a kernel was tested, along the axes of its op (choose/selftest.h). */
enum { TSRI_OPENCL_AXES = 4 };
typedef struct tsri_opencl_reach {
    bool asked; /* the cache was asked, or no test is needed */
    int64_t most[TSRI_OPENCL_AXES];
} tsri_opencl_reach;

/* A variant with all its build constants. */
typedef struct tsri_opencl_instance tsri_opencl_instance;
struct tsri_opencl_instance {
    const tsri_opencl_variant *variant;
    const tsri_opencl_stage *stage; /* of a stage, which variants may share; NULL: of a variant */
    tsri_opencl_instance *before;   /* of the variant's stage; NULL: it has none */
    char *name;                     /* the canonical name: "linear/packed:MR=6,W_DTYPE=f16" */
    tsri_opencl_values values;      /* of the variant's tunables */
    char *define, *undefine;
    char kernel[96]; /* the kernel's name in the program */
    char *signature; /* the kinds of its arguments, once it was traced for a chain */
    uint32_t n_args; /* the kernel's, where it was recorded for a bundle */
    tsri_opencl_instance_state state;
    uint64_t pace; /* multiply-adds of a launch that take no more than 100 ms; 0: not known yet */
    bool compared; /* the names of its kernel's parameters are those that its variant binds */
    bool bundled;  /* it comes from a bundle, and has no self-test */
    tsri_opencl_reach reach; /* how far it was self-tested, launched by itself */
    char *why;               /* where it is refused: the reason */
    cl_program program;      /* where it is built; NULL for a provider without a file */
};

/* Makes an instance of a variant or of its stage; where a bundle has it, it is built already. */
tsr_status tsri_opencl_instance_new(const tsri_opencl_bundle *bundle,
                                    const tsri_opencl_variant *variant,
                                    const tsri_opencl_stage *stage,
                                    const tsri_opencl_defines *defines, char *name,
                                    tsri_opencl_instance **out);
void tsri_opencl_instance_free(tsri_opencl_instance *instance);
/* The file of its kernel below cl/; NULL for a provider without one. */
const char *tsri_opencl_instance_file(const tsri_opencl_instance *instance);
tsr_status tsri_opencl_instance_refuse(tsri_opencl_instance *instance, const char *why);
/* Whether it is built as the device's newest OpenCL C. Most stages, which variants of both kinds may
 * share, are OpenCL C 1.2. */
bool tsri_opencl_instance_newest_c(const tsri_opencl_instance *instance);

#endif
