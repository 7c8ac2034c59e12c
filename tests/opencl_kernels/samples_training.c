/* opencl_kernels/samples_training.c - the same for the ops that training needs. */
#include "samples.h"

/* Only the plain variant has the gradient of the table of distances. */
static void make_attention_grad(sample *s, const tsri_opencl_row *row, bool full) {
    s->attrs.attention =
        (tsr_attention_attrs){.causal = full, .window = full ? 5 : 0, .scale = 0.25f};
    s->in[0] = F32(B, T, H, D);
    s->in[1] = F32(B, S, G, D);
    s->in[2] = F32(B, S, G, full ? D : 5);
    s->in[3] = F32(B, T, H, full ? D : 5);
    s->in[4] = F32(B, H, T);
    s->in[5] = F32(B, T, H, full ? D : 5);
    s->in[6] = s->in[7] = FULL(I32(B));
    s->in[8] = FULL(F32(1, H, T, S));
    s->in[9] = FULL(F32(H, 7));
    s->out[0] = F32(B, T, H, D);
    s->out[1] = F32(B, S, G, D);
    s->out[2] = F32(B, S, G, full ? D : 5);
    s->out[3] = full && row->plain ? F32(H, 7) : NULL;
}

static void make_recurrent_grad(sample *s, tsr_op_id id, bool full) {
    const tsr_dtype small = full ? TSR_F32 : TSR_F16;
    if (id == TSR_OP_GRU_CELL_GRAD) {
        s->attrs.gru_cell.reverse = full;
        s->in[0] = F32(B, T, 3 * C);
        s->in[1] = FULL(F32(B, C));
        s->in[2] = WEIGHT(3 * C, C);
        s->in[3] = F32(3 * C);
        s->in[4] = F32(B, T, C);
        s->in[5] = F32(B, T, C);
        s->in[6] = FULL(I32(B));
        s->out[0] = F32(B, T, 3 * C);
        s->out[1] = F32(B, T, 3 * C);
        s->out[2] = F32(B, T, C);
        s->out[3] = FULL(F32(B, C));
        return;
    }
    s->in[0] = F32(B, T, D);
    s->in[1] = F32(B, S, D);
    s->in[2] = F32(D);
    s->in[3] = F32(B, S, C);
    s->in[4] = F32(B, T, S);
    s->in[5] = F32(B, T, C);
    s->in[6] = FULL(I32(B));
    s->out[0] = F32(B, T, D);
    s->out[1] = F32(B, S, D);
    s->out[2] = F32(B, D);
    s->out[3] = F32(B, S, C);
}

static void make_loss_sample(sample *s, tsr_op_id id, bool full) {
    const bool entropy = id == TSR_OP_CROSS_ENTROPY || id == TSR_OP_CROSS_ENTROPY_GRAD,
               backward = id == TSR_OP_CROSS_ENTROPY_GRAD || id == TSR_OP_KL_DIVERGENCE_GRAD;
    if (entropy)
        s->attrs.cross_entropy =
            (tsr_cross_entropy_attrs){.ignore = -100, .label_smoothing = full ? 0.1f : 0};
    else
        s->attrs.kl_divergence = (tsr_kl_divergence_attrs){.ignore = -100, .temperature = full};
    s->in[0] = F32(B, T, N);
    s->in[1] = entropy || full ? I32(B, T) : NULL;
    if (!entropy)
        s->in[2] = FULL(F32(B, T, N));
    if (backward) {
        s->in[2] = entropy ? F32(B, T) : s->in[2];
        s->in[3] = F32(1);
        s->in[4] = FULL(F32(B, T, N));
        s->out[0] = F32(B, T, N);
        return;
    }
    s->out[0] = F32(B, T);
    s->out[1] = entropy ? F32(B, T) : NULL;
}

static void make_optimizer_sample(sample *s, tsr_op_id id, bool full) {
    const tsr_dtype small = TSR_BF16;
    if (id == TSR_OP_SUMSQ) {
        s->attrs.sumsq = (tsr_sumsq_attrs){.first = 1, .parts = full ? 7 : 1};
        s->in[0] = STATE(N);
        s->in[1] = STATE(C, F);
        return;
    }
    const bool adamw = id == TSR_OP_ADAMW;
    if (adamw)
        s->attrs.adamw = (tsr_adamw_attrs){.beta1 = 0.9f, .beta2 = 0.95f, .eps = 1e-8f};
    else
        s->attrs.sgd = (tsr_sgd_attrs){.nesterov = full, .momentum = full ? 0.9f : 0};
    uint32_t n = 0;
    s->in[n++] = STATE(C, F);
    s->in[n++] = adamw || full ? STATE(C, F) : NULL;
    if (adamw)
        s->in[n++] = STATE(C, F);
    s->in[n++] = STATE(C, F);
    s->in[n++] = F32(4);
    s->in[n++] = FULL(WEIGHT(C, F));
}

void make_training_sample(sample *s, const tsri_opencl_row *row, bool full) {
    const tsr_op_id id = row->op;
    const tsr_dtype small = TSR_F32;
    switch (id) {
    case TSR_OP_MATMUL_ADD:
        s->attrs.matmul = (tsr_matmul_attrs){.trans_a = full, .trans_b = full};
        s->in[0] = STATE(C, N);
        s->in[1] = full ? F32(T, C) : F32(C, T);
        s->in[2] = full ? F32(N, T) : F32(T, N);
        s->in[3] = FULL(F32(1));
        break;
    case TSR_OP_EMBED_ADD:
        s->in[0] = STATE(N, C);
        s->in[1] = I32(B, T);
        s->in[2] = F32(B, T, C);
        s->in[3] = FULL(F32(1));
        break;
    case TSR_OP_NORM_GRAD:
        s->attrs.norm =
            (tsr_norm_attrs){.norm = full ? TSR_NORM_LAYER : TSR_NORM_RMS, .eps = 1e-5f};
        s->in[0] = F32(T, C);
        s->in[1] = WEIGHT(C);
        s->in[2] = F32(T, C);
        s->in[3] = FULL(F32(T, C));
        s->out[0] = F32(T, C);
        s->out[1] = FULL(F32(T, 2));
        break;
    case TSR_OP_NORM_WEIGHT_GRAD:
        s->in[0] = F32(T, C);
        s->in[1] = F32(T, C);
        s->in[2] = F32(T, 2);
        s->out[0] = F32(C);
        s->out[1] = FULL(F32(C));
        break;
    case TSR_OP_ATTENTION_GRAD:
        make_attention_grad(s, row, full);
        break;
    case TSR_OP_GRU_CELL_GRAD:
    case TSR_OP_ADDITIVE_ATTENTION_GRAD:
        make_recurrent_grad(s, id, full);
        break;
    case TSR_OP_SOFTMAX_GRAD:
        s->attrs.scale.alpha = 0.5f;
        s->in[0] = F32(B, H, T, S);
        s->in[1] = F32(B, H, T, S);
        s->out[0] = F32(B, H, T, S);
        break;
    case TSR_OP_SCATTER:
        s->in[0] = F32(S, C);
        s->in[1] = I32(T);
        s->in[2] = F32(T, C);
        s->out[0] = F32(S, C);
        break;
    case TSR_OP_POOL_GRAD:
        s->attrs.pool.kind = full ? TSR_POOL_MAX : TSR_POOL_MEAN;
        s->in[0] = F32(B, T, C);
        s->in[1] = FULL(I32(B));
        s->in[2] = F32(B, C);
        s->out[0] = F32(B, T, C);
        break;
    case TSR_OP_ACCUMULATE:
        s->in[0] = STATE(N, C);
        s->in[1] = F32(N, C);
        s->in[2] = FULL(F32(1));
        break;
    case TSR_OP_ACTIVATION_GRAD:
        s->attrs.activation.activation = full ? TSR_ACT_GELU : TSR_ACT_RELU;
        s->in[0] = F32(T, F);
        s->in[1] = F32(T, F);
        s->out[0] = F32(T, F);
        break;
    case TSR_OP_GLU:
    case TSR_OP_GLU_GRAD:
        s->attrs.activation.activation = full ? TSR_ACT_SILU : TSR_ACT_SIGMOID;
        s->in[0] = F32(T, 2 * F);
        s->in[1] = id == TSR_OP_GLU ? NULL : F32(T, F);
        s->out[0] = id == TSR_OP_GLU ? F32(T, F) : F32(T, 2 * F);
        break;
    case TSR_OP_DROPOUT:
        s->attrs.dropout = (tsr_dropout_attrs){.site = 3, .rate = 0.1f};
        s->in[0] = F32(T, C);
        s->in[1] = I32(4);
        s->out[0] = F32(T, C);
        break;
    case TSR_OP_CROSS_ENTROPY:
    case TSR_OP_CROSS_ENTROPY_GRAD:
    case TSR_OP_KL_DIVERGENCE:
    case TSR_OP_KL_DIVERGENCE_GRAD:
        make_loss_sample(s, id, full);
        break;
    case TSR_OP_SUMSQ:
    case TSR_OP_ADAMW:
    case TSR_OP_SGD:
        make_optimizer_sample(s, id, full);
        break;
    default: /* sum_rows */
        s->in[0] = F32(T, C);
        s->out[0] = F32(C);
    }
}
