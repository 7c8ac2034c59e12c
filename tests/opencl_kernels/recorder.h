/* opencl_kernels/recorder.h - records what a kernel variant defines and binds, in place of a
 * driver. */
#ifndef RECORDER_H
#define RECORDER_H

#include "backends/opencl/bind/variant.h"
#include "cases/cases.h"

struct tsri_opencl_defines {
    const tsri_opencl_variant *variant;
    char text[2048], undefine[1024];
};

enum { RECORDED = 48 };
struct tsri_opencl_launch {
    const tsri_opencl_variant *variant;
    unsigned arguments;
    char names[RECORDED][32]; /* of the parameters that take them */
    bool grid;                /* whether an axis was stated */
};

/* An op of a case in src/cases. */
typedef struct sample {
    char name[96];
    tsr_op op;
    tsri_graph_op_store store;
    tsr_bounds bounds;
    tsri_graph *graph; /* has the op's tensors */
} sample;

typedef struct sample_list {
    sample *samples;
    size_t n;
} sample_list;

/* All of an op; they stay until the process ends. */
const sample_list *samples_of(tsr_op_id id);
bool sample_fits(const tsri_opencl_variant *variant, const sample *s);

/* Chooses samples that fit the variant. Each adds most to the values that the build constants have
 * in the others: both values of a flag, every dtype, two values of a size. At least two, where any
 * fits. */
enum { SAMPLES = 6 };
int choose_samples(const tsri_opencl_variant *variant, const sample *chosen[SAMPLES]);

/* A CPU, and the least that GPUs report. */
tsri_opencl_facts sample_cpu(void);
tsri_opencl_facts sample_gpu(void);

#endif
