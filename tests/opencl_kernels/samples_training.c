#include "samples.h"

void make_training_sample(sample *s, tsr_op_id id, bool full) {
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
    default: /* sum_rows */
        s->in[0] = F32(T, C);
        s->out[0] = F32(C);
    }
}
