/* opencl_kernels/samples.c - an op for each kernel variant, made up for its build. */
#include "samples.h"
#include "backends/opencl/rows/shared/common.h"
#include "tensor/shape.h"

#include <string.h>

const tsr_tensor *sample_tensor(sample *s, tsr_kind kind, tsr_dtype dtype, uint32_t rank,
                                const int *sizes) {
    tsr_tensor *t = &s->tensors[s->used++];
    *t = (tsr_tensor){.struct_size = sizeof *t, .dtype = dtype, .kind = kind, .rank = rank};
    for (uint32_t i = 0; i < rank; i++)
        t->dim[i] = tsri_tensor_const(sizes[i]);
    tsri_tensor_pack(t);
    return t;
}

static void make_linear(sample *s, const tsri_opencl_row *row, bool full, tsr_dtype small) {
    const bool glu = row->op == TSR_OP_GLU_LINEAR,
               one = strstr(row->name, "_one") || strstr(row->name, "_split");
    const int rows = one ? 1 : T, outputs = glu ? 2 * F : N;
    s->attrs.linear.trans_w = row->layout ? 1 : full;
    s->attrs.linear.activation = full ? TSR_ACT_GELU : TSR_ACT_SILU;
    if (!row->layout && !row->plain)
        small = TSR_F32;
    const tsr_dtype others = small;
    const bool int8 = strstr(row->name, "int8") && !row->layout; /* reads blocks as plain rows */
    if (row->layout == &tsri_opencl_layout_panels64_blocks || int8) {
        small = full ? TSR_GGML_Q8_0 : TSR_GGML_Q4_0;
        s->attrs.linear.compute = row->probe || full || int8 ? TSR_COMPUTE_INT8 : TSR_COMPUTE_F32;
    }
    if (int8)
        s->attrs.linear.trans_w = 1;
    if (strstr(row->name, "_half"))
        s->attrs.linear.compute = TSR_COMPUTE_F16;
    s->in[0] = F32(rows, C);
    s->in[1] = s->attrs.linear.trans_w ? WEIGHT(outputs, C) : WEIGHT(C, outputs);
    small = others;
    s->in[2] = FULL(WEIGHT(outputs));
    s->in[3] = glu ? NULL : FULL(F32(rows, N));
    s->out[0] = F32(rows, glu ? F : N);
}

static void make_attention(sample *s, bool full, tsr_dtype small) {
    s->attrs.attention =
        (tsr_attention_attrs){.causal = full, .window = full ? 5 : 0, .scale = 0.25f};
    s->in[0] = F32(B, T, H, D);
    s->in[1] = sample_tensor(s, TSR_KIND_STATE, small, 4, (int[]){B, S, G, D});
    s->in[2] = sample_tensor(s, TSR_KIND_STATE, small, 4, (int[]){B, S, G, full ? D : 5});
    if (full) {
        s->in[3] = s->in[4] = s->in[5] = I32(B);
        s->in[6] = I32(B, S);
        s->in[7] = F32(1, H, T, S);
        s->in[8] = F32(H, 7);
        s->out[1] = F32(B, H, T);
    }
    s->out[0] = F32(B, T, H, full ? D : 5);
}

static void make_norm(sample *s, tsr_op_id id, bool full, tsr_dtype small) {
    const bool add = id == TSR_OP_ADD_NORM;
    uint32_t n = 0;
    s->attrs.norm = (tsr_norm_attrs){.norm = full ? TSR_NORM_LAYER : TSR_NORM_RMS, .eps = 1e-5f};
    s->in[n++] = F32(T, C);
    if (add)
        s->in[n++] = F32(T, C);
    s->in[n++] = WEIGHT(C);
    if (id != TSR_OP_RMS_NORM)
        s->in[n++] = FULL(WEIGHT(C));
    s->out[0] = F32(T, C);
    s->out[1] = add ? F32(T, C) : NULL;
}

static void make_elementwise(sample *s, tsr_op_id id, bool full, tsr_dtype small) {
    s->attrs.scale.alpha = 2;
    s->in[0] = F32(B, T, C);
    if (id == TSR_OP_ADD || id == TSR_OP_MUL)
        s->in[1] = full ? F32(B, T, C) : WEIGHT(C);
    s->out[0] = id == TSR_OP_CAST ? WEIGHT(B, T, C) : F32(B, T, C);
    if (!full) { /* a transposed view */
        s->tensors[0].stride[0] = tsri_tensor_const(C);
        s->tensors[0].stride[1] = tsri_tensor_const((int64_t)B * C);
    }
}

static void make_matmul(sample *s, const tsri_opencl_row *row, bool full) {
    const int rows = strcmp(row->name, "packed") == 0 ? 16 : full ? T : 1;
    s->attrs.matmul = (tsr_matmul_attrs){.trans_a = full, .trans_b = full};
    s->in[0] = full ? F32(B, C, rows) : F32(B, rows, C);
    s->in[1] = full ? F32(B, N, C) : F32(C, N);
    s->out[0] = F32(B, rows, N);
}

static void make_other(sample *s, tsr_op_id id, bool full, tsr_dtype small) {
    switch (id) {
    case TSR_OP_SOFTMAX:
        s->attrs.softmax = (tsr_softmax_attrs){.causal = full, .window = full ? 4 : 0};
        s->in[0] = F32(B, H, T, S);
        s->in[1] = s->in[2] = FULL(I32(B));
        s->in[3] = FULL(F32(H, 1, S));
        s->in[4] = FULL(F32(H, 7));
        s->out[0] = F32(B, H, T, S);
        break;
    case TSR_OP_ROPE:
        s->attrs.rope = (tsr_rope_attrs){.rotary = 8, .interleaved = full};
        s->in[0] = F32(B, T, H, D);
        s->in[1] = I32(B, T);
        s->in[2] = F32(4);
        s->out[0] = F32(B, T, H, D);
        break;
    case TSR_OP_EMBED:
        s->in[0] = WEIGHT(N, C);
        s->in[1] = I32(B, T);
        s->out[0] = F32(B, T, C);
        break;
    case TSR_OP_KV_APPEND:
        s->in[0] = sample_tensor(s, TSR_KIND_STATE, small, 4, (int[]){B, G, S, D});
        s->in[1] = F32(B, T, G, D);
        s->in[2] = s->in[3] = I32(B);
        s->in[4] = FULL(I32(B));
        break;
    case TSR_OP_QKV_APPEND:
        s->attrs.rope = (tsr_rope_attrs){.rotary = full ? 8 : 0, .interleaved = full};
        s->in[0] = sample_tensor(s, TSR_KIND_STATE, small, 4, (int[]){B, G, S, D});
        s->in[1] = sample_tensor(s, TSR_KIND_STATE, small, 4, (int[]){B, G, S, 5});
        s->in[2] = F32(B, T, G, D);
        s->in[3] = F32(B, T, G, 5);
        s->in[4] = s->in[5] = I32(B);
        s->in[6] = FULL(I32(B));
        s->in[7] = FULL(F32(B, T, H, D));
        s->in[8] = FULL(I32(B, T));
        s->in[9] = FULL(F32(4));
        s->out[0] = FULL(F32(B, T, H, D));
        break;
    case TSR_OP_GATHER:
        s->in[0] = sample_tensor(s, TSR_KIND_ACTIVATION, small, 2, (int[]){S, C});
        s->in[1] = I32(T);
        s->out[0] = sample_tensor(s, TSR_KIND_ACTIVATION, small, 2, (int[]){T, C});
        break;
    case TSR_OP_GRU_CELL:
        s->attrs.gru_cell.reverse = full;
        s->in[0] = F32(MANY, full ? T : 1, 3 * C);
        s->in[1] = FULL(F32(MANY, C));
        s->in[2] = WEIGHT(3 * C, C);
        s->in[3] = F32(3 * C);
        s->in[4] = FULL(I32(MANY));
        s->out[0] = F32(MANY, full ? T : 1, C);
        break;
    case TSR_OP_ADDITIVE_ATTENTION:
        s->in[0] = F32(B, T, D);
        s->in[1] = sample_tensor(s, TSR_KIND_STATE, small, 3, (int[]){B, S, D});
        s->in[2] = F32(D);
        s->in[3] = sample_tensor(s, TSR_KIND_STATE, small, 3, (int[]){B, S, C});
        s->in[4] = s->in[5] = FULL(I32(B));
        s->out[0] = F32(B, T, C);
        s->out[1] = FULL(F32(B, T, S));
        break;
    case TSR_OP_CONCAT:
        s->in[0] = F32(T, C);
        s->in[1] = F32(T, D);
        s->in[2] = FULL(F32(T, N));
        s->out[0] = F32(T, C + D + (full ? N : 0));
        break;
    case TSR_OP_POOL:
        s->attrs.pool.kind = full ? TSR_POOL_MAX : TSR_POOL_MEAN;
        s->in[0] = F32(B, T, C);
        s->in[1] = FULL(I32(B));
        s->out[0] = F32(B, C);
        break;
    default: /* argmax, topk */
        s->attrs.topk.k = 5;
        s->in[0] = sample_tensor(s, TSR_KIND_ACTIVATION, small, 2, (int[]){T, N});
        s->out[0] = id == TSR_OP_ARGMAX ? I32(T) : F32(T, 5);
        s->out[1] = id == TSR_OP_ARGMAX ? NULL : I32(T, 5);
        s->out[2] = id == TSR_OP_ARGMAX ? NULL : FULL(F32(T));
    }
}

void make_sample(const tsri_opencl_row *row, int variant, sample *s) {
    const bool full = variant == 0;
    const tsr_op_id id = row->op;
    tsr_dtype small = full ? TSR_F32 : TSR_F16;
    if ((id == TSR_OP_ARGMAX || id == TSR_OP_TOPK) && !row->plain)
        small = TSR_F32;
    if (id == TSR_OP_EMBED && row->layout == &tsri_opencl_layout_panels64_blocks)
        small = full ? TSR_GGML_Q8_0 : TSR_GGML_Q4_0;
    memset(s, 0, sizeof *s);
    if (id == TSR_OP_LINEAR || id == TSR_OP_GLU_LINEAR)
        make_linear(s, row, full, small);
    else if (id == TSR_OP_MATMUL)
        make_matmul(s, row, full);
    else if (id == TSR_OP_ATTENTION)
        make_attention(s, full, small);
    else if (id == TSR_OP_ADD_NORM || id == TSR_OP_LAYER_NORM || id == TSR_OP_RMS_NORM)
        make_norm(s, id, full, small);
    else if (id == TSR_OP_ADD || id == TSR_OP_MUL || (id >= TSR_OP_SCALE && id <= TSR_OP_COPY) ||
             (id >= TSR_OP_RELU && id <= TSR_OP_SIGMOID))
        make_elementwise(s, id, full || strcmp(row->name, "lanes") == 0, small);
    else if (id >= TSR_OP_ACCUMULATE)
        make_training_sample(s, row, full);
    else
        make_other(s, id, full, small);
    for (int i = 0; i < TSR_SYMBOLS; i++)
        s->bounds.lowest[i] = s->bounds.highest[i] = 1;
    s->bounds.struct_size = sizeof s->bounds;
    s->op = (tsr_op){.struct_size = sizeof s->op,
                     .id = id,
                     .in = s->in,
                     .out = s->out,
                     .attrs = &s->attrs,
                     .bounds = &s->bounds};
    s->op.n_in = sizeof s->in / sizeof *s->in;
    s->op.n_out = 4;
}
