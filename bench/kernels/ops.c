/* The ops that can be timed. */
#include "kernels.h"

#include <math.h>
#include <string.h>

#define N_DIMS(...) (sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
/* A packed tensor; a size of -1 - s stands for symbol s. */
#define OPERAND(c, i, kind, dtype, unit_, ...) \
    operand(c, i, kind, dtype, unit_, N_DIMS(__VA_ARGS__), (int64_t[]){__VA_ARGS__})

enum { B, T, S };

static bench_operand *operand(bench_case *c, uint32_t i, tsr_kind kind, tsr_dtype dtype, float unit,
                              size_t rank, const int64_t *sizes) {
    bench_operand *o = &c->operands[i];
    tsr_dim step = {.factor = 1};
    o->unit = unit;
    o->tensor = (tsr_tensor){
        .struct_size = sizeof o->tensor, .dtype = dtype, .kind = kind, .rank = (uint32_t)rank};
    for (size_t j = rank; j-- > 0;) {
        const bool symbol = sizes[j] < 0;
        o->tensor.dim[j] = (tsr_dim){.factor = symbol ? 1 : sizes[j],
                                     .symbols = symbol ? 1u << (-1 - sizes[j]) : 0};
        o->tensor.stride[j] = step;
        step.factor *= o->tensor.dim[j].factor;
        step.symbols |= o->tensor.dim[j].symbols;
    }
    return o;
}

#define SYMBOL(s) (-1 - (int64_t)(s))

static uint32_t compute_of(const json_t *request) {
    const char *word = bench_text(request, "compute", "f32");
    return !strcmp(word, "int8")   ? TSR_COMPUTE_INT8
           : !strcmp(word, "f16")  ? TSR_COMPUTE_F16
           : !strcmp(word, "bf16") ? TSR_COMPUTE_BF16
                                   : TSR_COMPUTE_F32;
}

/* "n" outputs, of a weight [n, k]; "state": 1, one that is trained. "bias", "residual", "relu",
 * "gelu": 1 adds them. */
static const char *make_linear(const json_t *request, bench_case *c) {
    const int64_t M = bench_int(request, "m", 1), N = bench_int(request, "n", 0),
                  K = bench_int(request, "k", 0);
    const tsr_dtype dtype = bench_dtype(bench_text(request, "dtype", "f32"));
    if (M < 1 || N < 1 || K < 1 || !dtype || (dtype >= TSR_GGML_Q4_0 && K % 32))
        return "linear needs m, n, k > 0 and a dtype of f32, f16, bf16, q8, q4 (k % 32 = 0)";
    OPERAND(c, 0, TSR_KIND_ACTIVATION, TSR_F32, 1.0f / 64, SYMBOL(T), K)->peak = true;
    OPERAND(c, 1, bench_int(request, "state", 0) ? TSR_KIND_STATE : TSR_KIND_WEIGHT, dtype,
            1.0f / 1024, N, K);
    if (bench_int(request, "bias", 0))
        OPERAND(c, 2, TSR_KIND_WEIGHT, TSR_F32, 1.0f / 16, N);
    if (bench_int(request, "residual", 0))
        OPERAND(c, 3, TSR_KIND_ACTIVATION, TSR_F32, 1.0f / 16, SYMBOL(T), N);
    OPERAND(c, 4, TSR_KIND_ACTIVATION, TSR_F32, 1, SYMBOL(T), N);
    c->n_in = c->result = 4;
    c->attrs.linear =
        (tsr_linear_attrs){.struct_size = sizeof c->attrs.linear,
                           .trans_w = 1,
                           .activation = bench_int(request, "relu", 0)   ? TSR_ACT_RELU
                                         : bench_int(request, "gelu", 0) ? TSR_ACT_GELU
                                                                         : TSR_ACT_NONE,
                           .compute = compute_of(request)};
    c->sizes[T] = M;
    c->flops = 2.0 * (double)M * (double)N * (double)K;
    return NULL;
}

/* "n" outputs of a weight [2n, k]; the activation is relu. */
static const char *make_glu_linear(const json_t *request, bench_case *c) {
    const char *refused = make_linear(request, c);
    if (refused)
        return refused;
    const tsr_linear_attrs attrs = c->attrs.linear;
    OPERAND(c, 1, TSR_KIND_WEIGHT, (tsr_dtype)c->operands[1].tensor.dtype, 1.0f / 1024,
            2 * bench_int(request, "n", 0), bench_int(request, "k", 0));
    c->operands[2] = c->operands[3] = (bench_operand){0};
    c->operands[3] = c->operands[4];
    c->n_in = c->result = 3;
    c->attrs.glu_linear = (tsr_glu_linear_attrs){.struct_size = sizeof c->attrs.glu_linear,
                                                 .trans_w = 1,
                                                 .activation = TSR_ACT_RELU,
                                                 .compute = attrs.compute};
    c->flops *= 2;
    return NULL;
}

/* "batch" products of activations, f32: a [m,k], b [k,n], or as "trans_a", "trans_b" say. */
static const char *make_matmul(const json_t *request, bench_case *c) {
    const int64_t batch = bench_int(request, "batch", 1), M = bench_int(request, "m", 0),
                  N = bench_int(request, "n", 0), K = bench_int(request, "k", 0);
    const bool ta = bench_int(request, "trans_a", 0) != 0,
               tb = bench_int(request, "trans_b", 0) != 0;
    if (batch < 1 || M < 1 || N < 1 || K < 1)
        return "matmul needs m, n, k > 0";
    OPERAND(c, 0, TSR_KIND_ACTIVATION, TSR_F32, 1.0f / 64, batch, ta ? K : SYMBOL(T),
            ta ? SYMBOL(T) : K);
    OPERAND(c, 1, TSR_KIND_ACTIVATION, TSR_F32, 1.0f / 1024, batch, tb ? N : K, tb ? K : N);
    OPERAND(c, 2, TSR_KIND_ACTIVATION, TSR_F32, 1, batch, SYMBOL(T), N);
    c->n_in = c->result = 2;
    c->attrs.matmul = (tsr_matmul_attrs){.struct_size = sizeof c->attrs.matmul,
                                         .trans_a = ta,
                                         .trans_b = tb,
                                         .alpha = 1,
                                         .compute = compute_of(request)};
    c->sizes[T] = M;
    c->flops = 2.0 * (double)batch * (double)M * (double)N * (double)K;
    return NULL;
}

/* A state [m,n] that the product replaces, of a [m,k] and b [k,n] as matmul takes them; "beta": 1
 * the product is added instead (then the result is not compared). K counts tokens. */
static const char *make_matmul_add(const json_t *request, bench_case *c) {
    const char *refused = make_matmul(request, c);
    if (refused)
        return refused;
    const int64_t M = bench_int(request, "m", 0), N = bench_int(request, "n", 0),
                  K = bench_int(request, "k", 0);
    const bool ta = c->attrs.matmul.trans_a, tb = c->attrs.matmul.trans_b;
    OPERAND(c, 0, TSR_KIND_STATE, TSR_F32, 1, M, N);
    OPERAND(c, 1, TSR_KIND_ACTIVATION, TSR_F32, 1.0f / 64, ta ? SYMBOL(T) : M, ta ? M : SYMBOL(T));
    OPERAND(c, 2, TSR_KIND_ACTIVATION, TSR_F32, 1.0f / 1024, tb ? N : SYMBOL(T),
            tb ? SYMBOL(T) : N);
    OPERAND(c, 3, TSR_KIND_ACTIVATION, TSR_F32, bench_int(request, "beta", 0) ? 1.0f / 127 : 0, 1)
        ->peak = true;
    c->n_in = 4;
    c->result = 0;
    c->sizes[T] = K;
    return NULL;
}

/* The last "t" queries of "b" sequences of "s" keys: "h" heads of "d" over "g" key heads; with
 * "lse", as in training. */
static const char *make_attention(const json_t *request, bench_case *c) {
    const int64_t Tq = bench_int(request, "t", 1), Sk = bench_int(request, "s", Tq),
                  H = bench_int(request, "h", 12), G = bench_int(request, "g", H),
                  D = bench_int(request, "d", 64), sequences = bench_int(request, "b", 1);
    const tsr_dtype kv = bench_dtype(bench_text(request, "kv", "f32"));
    if (sequences < 1 || Tq < 1 || Sk < Tq || G < 1 || H % G || D < 1 || !kv || kv >= TSR_GGML_Q4_0)
        return "attention needs t >= 1, s >= t, h a multiple of g, and kv of f32, f16 or bf16";
    OPERAND(c, 0, TSR_KIND_ACTIVATION, TSR_F32, 1.0f / 64, SYMBOL(B), SYMBOL(T), H, D);
    OPERAND(c, 1, TSR_KIND_STATE, kv, 1.0f / 64, sequences, Sk, G, D);
    OPERAND(c, 2, TSR_KIND_STATE, kv, 1.0f / 64, sequences, Sk, G, D);
    OPERAND(c, 3, TSR_KIND_INPUT, TSR_I32, 1, SYMBOL(B))->constant = (int32_t)(Sk - Tq);
    OPERAND(c, 4, TSR_KIND_INPUT, TSR_I32, 1, SYMBOL(B))->constant = (int32_t)Sk;
    OPERAND(c, 5, TSR_KIND_ACTIVATION, TSR_F32, 1, SYMBOL(B), SYMBOL(T), H, D);
    c->n_in = c->result = 5;
    if (bench_int(request, "lse", 0)) {
        OPERAND(c, 6, TSR_KIND_ACTIVATION, TSR_F32, 1, SYMBOL(B), H, SYMBOL(T));
        c->n_out = 2;
    }
    c->attrs.attention = (tsr_attention_attrs){.struct_size = sizeof c->attrs.attention,
                                               .causal = bench_int(request, "causal", 0) != 0,
                                               .scale = (float)(1 / sqrt((double)D))};
    c->sizes[B] = sequences;
    c->sizes[T] = Tq;
    c->sizes[S] = Sk;
    c->flops = 4.0 * (double)sequences * (double)H * (double)D * (double)Tq *
               (c->attrs.attention.causal ? (double)Sk - ((double)Tq - 1) / 2 : (double)Sk);
    return NULL;
}

/* Self-attention of "b" sequences of "t": "h" heads of "d" over "g" key heads. */
static const char *make_attention_grad(const json_t *request, bench_case *c) {
    const int64_t Tq = bench_int(request, "t", 1), H = bench_int(request, "h", 12),
                  G = bench_int(request, "g", H), D = bench_int(request, "d", 64);
    if (Tq < 1 || G < 1 || H % G || D < 1 || bench_int(request, "b", 1) < 1)
        return "attention_grad needs b, t >= 1 and h a multiple of g";
    for (uint32_t i = 0; i < 6; i++)
        if (i != 4)
            OPERAND(c, i, TSR_KIND_ACTIVATION, TSR_F32, 1.0f / 64, SYMBOL(B), SYMBOL(T),
                    i == 1 || i == 2 ? G : H, D);
    OPERAND(c, 4, TSR_KIND_ACTIVATION, TSR_F32, 1.0f / 64, SYMBOL(B), H, SYMBOL(T));
    c->n_in = c->result = 6;
    c->n_out = 3;
    for (uint32_t i = 6; i < 9; i++)
        OPERAND(c, i, TSR_KIND_ACTIVATION, TSR_F32, 1, SYMBOL(B), SYMBOL(T), i == 6 ? H : G, D);
    c->attrs.attention = (tsr_attention_attrs){.struct_size = sizeof c->attrs.attention,
                                               .causal = bench_int(request, "causal", 0) != 0,
                                               .scale = (float)(1 / sqrt((double)D))};
    c->sizes[B] = bench_int(request, "b", 1);
    c->sizes[T] = Tq;
    c->flops = 10.0 * (double)c->sizes[B] * (double)H * (double)D * (double)Tq *
               (c->attrs.attention.causal ? ((double)Tq + 1) / 2 : (double)Tq);
    return NULL;
}

const bench_op bench_ops[] = {
    {"linear", TSR_OP_LINEAR, make_linear},
    {"glu_linear", TSR_OP_GLU_LINEAR, make_glu_linear},
    {"matmul", TSR_OP_MATMUL, make_matmul},
    {"matmul_add", TSR_OP_MATMUL_ADD, make_matmul_add},
    {"attention", TSR_OP_ATTENTION, make_attention},
    {"attention_grad", TSR_OP_ATTENTION_GRAD, make_attention_grad},
    {NULL, TSR_OP_NONE, NULL},
};
