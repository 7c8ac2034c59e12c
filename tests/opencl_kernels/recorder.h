/* opencl_kernels/recorder.h - records what a kernel variant defines and binds, in place of a
 * driver. */
#ifndef RECORDER_H
#define RECORDER_H

#include "backends/opencl/bind/row.h"

struct tsri_opencl_defines {
    const tsri_opencl_row *row;
    char text[2048];
};

enum { RECORDED = 48 };
struct tsri_opencl_launch {
    const tsri_opencl_row *row;
    unsigned arguments;
    char names[RECORDED][32]; /* of the parameters that take them */
    bool grid;                /* whether an axis was stated */
};

/* An op made up for a variant. */
typedef struct sample {
    tsr_op op;
    tsr_tensor tensors[14];
    const tsr_tensor *in[10], *out[4];
    union {
        tsr_matmul_attrs matmul;
        tsr_linear_attrs linear; /* glu_linear's begins with the same fields */
        tsr_attention_attrs attention;
        tsr_norm_attrs norm;
        tsr_softmax_attrs softmax;
        tsr_rope_attrs rope;
        tsr_embed_attrs embed;
        tsr_scale_attrs scale;
        tsr_topk_attrs topk;
        tsr_gru_cell_attrs gru_cell;
        tsr_pool_attrs pool;
        tsr_activation_attrs activation; /* for activation_grad, glu and glu_grad */
        tsr_cross_entropy_attrs cross_entropy;
        tsr_kl_divergence_attrs kl_divergence;
        tsr_dropout_attrs dropout;
        tsr_sumsq_attrs sumsq;
        tsr_adamw_attrs adamw;
        tsr_sgd_attrs sgd;
    } attrs;
    tsr_bounds bounds;
    uint32_t used;
} sample;

/* One of two ops that give a variant's kernel different build constants: 0 the full form in f32, 1
 * the bare form in f16. */
void make_sample(const tsri_opencl_row *row, int variant, sample *out);

#endif
