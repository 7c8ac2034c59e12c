/* The oracle against float64 results with which it shares no code: those of tests/golden/ops and,
 * where $TESSERA_SHARED/golden/ops is present, those of the official implementations. */
#include "backend/golden.h"

#include "base/files.h"
#include "base/json.h"
#include "io/archive.h"
#include "support/direct.h"
#include "support/larger.h"
#include "tensor/shape.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_matmul(golden *g) {
    const tsr_matmul_attrs attrs = {.struct_size = sizeof attrs,
                                    .trans_a = (uint32_t)golden_whole(g, "trans_a"),
                                    .trans_b = (uint32_t)golden_whole(g, "trans_b")};
    golden_take(g, 0, "a"), golden_take(g, 1, "b"), golden_take(g, 2, "y");
    golden_compare(g, TSR_OP_MATMUL, &attrs, 2, "y", 1e-12);
}

static void check_softmax(golden *g) {
    const tsr_softmax_attrs attrs = {.struct_size = sizeof attrs,
                                     .causal = (uint32_t)golden_whole(g, "causal"),
                                     .window = (uint32_t)golden_whole(g, "window")};
    golden_take(g, 0, "x"), golden_take(g, 4, "y");
    golden_take_list(g, 1, "past"), golden_take_list(g, 2, "len"),
        golden_take_keep(g, 3, &g->tensor[0]);
    golden_compare(g, TSR_OP_SOFTMAX, &attrs, 4, "y", 1e-12);
    if (!golden_find(g, "g_x"))
        return;
    int64_t dims[TSR_MAX_RANK]; /* the gradient reads y as the op wrote it, in double */
    const uint32_t rank = g->tensor[4].rank;
    for (uint32_t d = 0; d < rank; d++)
        dims[d] = g->tensor[4].dim[d].factor;
    free(g->data[4]);
    golden_make_f64(g, 4, rank, dims);
    golden_run_gradient(g, TSR_OP_SOFTMAX, &attrs, 4, 1);
    g->tensor[5] = g->tensor[4], g->data[5] = g->data[4], g->bytes[5] = g->bytes[4];
    g->data[4] = NULL;
    const tsr_scale_attrs one = {.struct_size = sizeof one, .alpha = 1};
    golden_take(g, 6, "d_y"), golden_take(g, 7, "g_x");
    golden_run_gradient(&(golden){.op = g->op,
                                  .name = g->name,
                                  .tensor = {g->tensor[5], g->tensor[6], g->tensor[7]},
                                  .data = {g->data[5], g->data[6], g->data[7]},
                                  .bytes = {g->bytes[5], g->bytes[6], g->bytes[7]}},
                        TSR_OP_SOFTMAX_GRAD, &one, 2, 1);
    golden_compare_result(g, "softmax_grad", 7, "g_x", 1e-7);
}

static void check_norm_gradients(golden *g, tsr_op_id id, tsr_norm_attrs attrs) {
    const bool layer = id == TSR_OP_LAYER_NORM;
    attrs.norm = layer ? TSR_NORM_LAYER : TSR_NORM_RMS;
    golden_drop(g);
    golden_take(g, 0, "x"), golden_take(g, 1, "weight"), golden_take(g, 2, "d_y"),
        golden_take(g, 4, "g_x");
    const uint32_t rank = g->tensor[0].rank;
    int64_t stats[TSR_MAX_RANK];
    for (uint32_t d = 0; d < rank; d++)
        stats[d] = d + 1 < rank ? g->tensor[0].dim[d].factor : 2;
    golden_make_f64(g, 5, rank, stats);
    golden_run_gradient(g, TSR_OP_NORM_GRAD, &attrs, 4, 2);
    golden_compare_result(g, "norm_grad", 4, "g_x", 3e-8);

    golden w = {.archive = g->archive, .op = g->op, .name = g->name};
    golden_take(&w, 0, "x"), golden_take(&w, 1, "d_y"), golden_take(&w, 3, "g_weight");
    if (layer)
        golden_take(&w, 4, "g_bias");
    golden_make_f64(&w, 2, rank, stats);
    memcpy(w.data[2], g->data[5], g->bytes[5]);
    golden_run_gradient(&w, TSR_OP_NORM_WEIGHT_GRAD, NULL, 3, 2);
    golden_compare_result(&w, "norm_weight_grad", 3, "g_weight", 3e-8);
    if (layer)
        golden_compare_result(&w, "norm_weight_grad", 4, "g_bias", 1e-12);
    golden_drop(&w);
}

static void check_norm(golden *g, tsr_op_id id) {
    const tsr_norm_attrs attrs = {.struct_size = sizeof attrs, .eps = (float)golden_real(g, "eps")};
    const uint32_t n_in = id == TSR_OP_LAYER_NORM ? 3 : 2;
    golden_take(g, 0, "x"), golden_take(g, 1, "weight"), golden_take(g, (int)n_in, "y");
    if (n_in == 3)
        golden_take(g, 2, "bias");
    golden_compare(g, id, &attrs, n_in, "y", 3e-8); /* eps is a float */
    if (golden_find(g, "g_x"))
        check_norm_gradients(g, id, attrs);
}

static void check_rope(golden *g) {
    static const uint32_t heads_last[] = {0, 2, 1, 3}; /* [B,H,T,D] read as [B,T,H,D] */
    const uint32_t rotary = (uint32_t)golden_whole(g, "rotary_dim");
    const tsr_rope_attrs attrs = {.struct_size = sizeof attrs,
                                  .rotary = rotary,
                                  .interleaved = (uint32_t)golden_whole(g, "interleaved")};
    golden_take(g, 0, "x"), golden_take(g, 1, "positions"), golden_take(g, 3, "y");
    g->tensor[0] = direct_permute(g->tensor[0], heads_last);
    g->tensor[3] = direct_permute(g->tensor[3], heads_last);
    const int64_t T = g->tensor[1].dim[0].factor, both[] = {g->tensor[0].dim[0].factor, T},
                  half = rotary / 2;
    g->tensor[1] = direct_tensor(TSR_I32, 2, both);
    g->tensor[1].stride[0] = tsri_tensor_const(0); /* all sequences have the same positions */
    double *inv_freq = malloc(
        (size_t)half * sizeof *inv_freq); /* in double, because the goldens don't round them */
    for (int64_t p = 0; p < half; p++)
        inv_freq[p] = pow(golden_real(g, "theta"), -2.0 * (double)p / rotary);
    g->tensor[2] = direct_tensor(TSR_F64, 1, &half);
    g->data[2] = inv_freq;
    g->bytes[2] = (size_t)half * sizeof *inv_freq;
    golden_compare(g, TSR_OP_ROPE, &attrs, 3, "y", 1e-11);
    if (!golden_find(g, "g_x"))
        return;
    tsr_rope_attrs back = attrs; /* the gradient rotates the incoming one back */
    back.inverse = 1;
    free(g->data[0]), free(g->data[3]);
    golden_take(g, 0, "d_y"), golden_take(g, 3, "g_x");
    g->tensor[0] = direct_permute(g->tensor[0], heads_last);
    g->tensor[3] = direct_permute(g->tensor[3], heads_last);
    golden_compare(g, TSR_OP_ROPE, &back, 3, "g_x", 1e-11);
}

static void check_embedding(golden *g) {
    golden_take(g, 0, "table"), golden_take(g, 1, "ids"), golden_take(g, 2, "y");
    golden_compare(g, TSR_OP_EMBED, NULL, 2, "y", 0);
    if (!golden_find(g, "g_table"))
        return;
    golden_drop(g);
    golden_take(g, 0, "g_table"), golden_take(g, 1, "ids"), golden_take(g, 2, "d_y");
    memset(g->data[0], 0, g->bytes[0]);
    golden_run_gradient(g, TSR_OP_EMBED_ADD, NULL, 3, 0);
    golden_compare_result(g, "embed_add", 0, "g_table", 1e-12);
}

/* For a golden whose attention was run: forms y and lse again, in double, and compares the
 * gradients. */
static void check_attention_grad(golden *g, const tsr_attention_attrs *attrs) {
    enum { Y = 3, LSE, DY, PAST, LEN, BIAS, DQ = 10 };
    static const uint32_t heads_last[] = {0, 2, 1, 3};
    static const char *const results[] = {"g_q", "g_k", "g_v"};
    const tsr_tensor *q = &g->tensor[0], *v = &g->tensor[2];
    const int64_t y[] = {q->dim[0].factor, q->dim[1].factor, q->dim[2].factor, v->dim[3].factor},
                  lse[] = {y[0], y[2], y[1]};
    golden d = {.op = g->op, .name = g->name, .archive = g->archive};
    free(g->data[8]);
    golden_make_f64(g, 8, 4, y), golden_make_f64(g, 9, 3, lse);
    golden_run_gradient(g, TSR_OP_ATTENTION, attrs, 8, 2);
    static const int from[][2] = {{0, 0},   {1, 1},    {2, 2},   {Y, 8},
                                  {LSE, 9}, {PAST, 3}, {LEN, 4}, {BIAS, 7}};
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        d.tensor[from[i][0]] = g->tensor[from[i][1]];
        d.data[from[i][0]] = g->data[from[i][1]];
        d.bytes[from[i][0]] = g->bytes[from[i][1]];
    }
    golden_take(&d, DY, "d_y");
    d.tensor[DY] = direct_permute(d.tensor[DY], heads_last);
    for (int i = 0; i < 3; i++) {
        golden_take(&d, DQ + i, results[i]);
        d.tensor[DQ + i] = direct_permute(d.tensor[DQ + i], heads_last);
    }
    golden_run_gradient(&d, TSR_OP_ATTENTION_GRAD, attrs, DQ, 3);
    for (int i = 0; i < 3; i++) {
        golden_compare_result(&d, "attention_grad", DQ + i, results[i], 1e-6);
        free(d.data[DQ + i]);
    }
    free(d.data[DY]);
}

static void check_attention(golden *g) {
    static const uint32_t heads_last[] = {0, 2, 1, 3};
    static const char *const names[] = {"q", "k", "v"};
    const tsr_attention_attrs attrs = {.struct_size = sizeof attrs,
                                       .causal = (uint32_t)golden_whole(g, "causal"),
                                       .window = (uint32_t)golden_whole(g, "window"),
                                       .scale = (float)golden_real(g, "scale")};
    for (int i = 0; i < 3; i++) {
        golden_take(g, i, names[i]);
        g->tensor[i] = direct_permute(g->tensor[i], heads_last);
    }
    golden_take_list(g, 3, "past"), golden_take_list(g, 4, "len");
    const int64_t scores[] = {g->tensor[0].dim[0].factor, g->tensor[0].dim[2].factor,
                              g->tensor[0].dim[1].factor, g->tensor[1].dim[1].factor};
    const tsr_tensor like = direct_tensor(TSR_F32, 4, scores);
    golden_take_keep(g, 7, &like);
    golden_take(g, 8, "y");
    g->tensor[8] = direct_permute(g->tensor[8], heads_last);
    golden_compare(g, TSR_OP_ATTENTION, &attrs, 8, "y",
                   1e-6); /* the scale is a float: 2^-25 of a score, in the exponent */
    if (golden_find(g, "g_q"))
        check_attention_grad(g, &attrs);
}

static void check_activation(golden *g, tsr_op_id id, tsr_activation activation) {
    const tsr_activation_attrs attrs = {.struct_size = sizeof attrs, .activation = activation};
    golden_take(g, 0, "x"), golden_take(g, 1, "y");
    golden_compare(g, id, NULL, 1, "y", 1e-15);
    if (!golden_find(g, "g_x"))
        return;
    golden_drop(g);
    golden_take(g, 0, "x"), golden_take(g, 1, "d_y"), golden_take(g, 2, "g_x");
    golden_run_gradient(g, TSR_OP_ACTIVATION_GRAD, &attrs, 2, 1);
    golden_compare_result(g, "activation_grad", 2, "g_x", 1e-15);
}

/* ---- losses: the goldens' losses are means over the rows that count ---- */

static double number_of(const golden *g, const char *tensor) {
    const tsri_io_array *array = golden_find(g, tensor);
    float value = NAN;
    cr_assert(array && array->elements == 1);
    cr_assert_eq(tsri_io_read_as(g->archive, array, TSR_F32, 0, 1, &value), TSR_OK);
    return (double)value;
}

/* Checks that the mean over the rows is the golden's loss; gives the number of rows that count. */
static double compare_loss(const golden *g, int i) {
    const int32_t *targets = g->data[1];
    const double *rows = g->data[i], want = number_of(g, "loss");
    double sum = 0, counted = 0;
    for (size_t r = 0; r < g->bytes[i] / 8; r++) {
        sum += rows[r];
        counted += !targets || targets[r] >= 0;
    }
    const double got = sum / (counted > 0 ? counted : 1);
    cr_expect(fabs(got - want) <= 2e-7 * fabs(want), "%s %s: %.9g for %.9g", g->op, g->name, got,
              want);
    return counted;
}

static void take_scale(golden *g, int i, double counted) {
    golden_make_f64(g, i, 1, (const int64_t[]){1});
    *(double *)g->data[i] = number_of(g, "d_loss") / (counted > 0 ? counted : 1);
}

static void check_cross_entropy(golden *g) {
    const tsr_cross_entropy_attrs attrs = {.struct_size = sizeof attrs,
                                           .ignore = (int32_t)golden_whole(g, "ignore_index"),
                                           .label_smoothing = (float)golden_real(g, "smoothing")};
    golden_take(g, 0, "logits"), golden_take(g, 1, "targets");
    const int64_t rows = g->tensor[0].dim[0].factor;
    golden_make_f64(g, 2, 1, &rows), golden_make_f64(g, 3, 1, &rows);
    golden_run_gradient(g, TSR_OP_CROSS_ENTROPY, &attrs, 2, 2);
    const double counted = compare_loss(g, 2);

    golden d = {.archive = g->archive, .op = g->op, .name = g->name};
    golden_take(&d, 0, "logits"), golden_take(&d, 1, "targets"), golden_take(&d, 5, "g_logits");
    golden_make_f64(&d, 2, 1, &rows);
    memcpy(d.data[2], g->data[3], g->bytes[3]);
    take_scale(&d, 3, counted);
    golden_run_gradient(&d, TSR_OP_CROSS_ENTROPY_GRAD, &attrs, 5, 1);
    golden_compare_result(&d, "cross_entropy_grad", 5, "g_logits", 1e-7);
    golden_drop(&d);
}

static void check_kl_divergence(golden *g) {
    const tsr_kl_divergence_attrs attrs = {.struct_size = sizeof attrs,
                                           .ignore = -1,
                                           .temperature = (float)golden_real(g, "temperature")};
    golden_take(g, 0, "student"), golden_take(g, 2, "teacher");
    const int64_t rows = g->tensor[0].dim[0].factor;
    golden_make_f64(g, 3, 1, &rows);
    golden_run_gradient(g, TSR_OP_KL_DIVERGENCE, &attrs, 3, 1);
    const double counted = compare_loss(g, 3);
    free(g->data[3]);
    take_scale(g, 3, counted), golden_take(g, 5, "g_student");
    golden_run_gradient(g, TSR_OP_KL_DIVERGENCE_GRAD, &attrs, 5, 1);
    golden_compare_result(g, "kl_divergence_grad", 5, "g_student", 1e-7);
}

/* The betas are floats; with them 1 - beta2 = 0.001 and its results are exact within 1.3e-5. */
static void check_adamw(golden *g) {
    const tsr_adamw_attrs attrs = {.struct_size = sizeof attrs,
                                   .beta1 = (float)golden_real(g, "beta1"),
                                   .beta2 = (float)golden_real(g, "beta2"),
                                   .eps = (float)golden_real(g, "eps"),
                                   .decay = (float)golden_real(g, "weight_decay")};
    golden_take(g, 0, "p"), golden_take(g, 1, "m"), golden_take(g, 2, "v"), golden_take(g, 3, "g");
    golden_make_f64(g, 4, 1, (const int64_t[]){4});
    double *rates = g->data[4];
    rates[0] = golden_real(g, "lr");
    rates[1] = 1 - pow((double)attrs.beta1, golden_real(g, "step"));
    rates[2] = 1 - pow((double)attrs.beta2, golden_real(g, "step"));
    rates[3] = 1;
    golden_run_gradient(g, TSR_OP_ADAMW, &attrs, 5, 0);
    golden_compare_result(g, "adamw", 0, "new_p", 1e-8);
    golden_compare_result(g, "adamw", 1, "new_m", 3e-7);
    golden_compare_result(g, "adamw", 2, "new_v", 2e-5);
}

/* Forms w_a s and u_a h here, in double: q, k and their weights are f32, and the op's operands are
 * f64 here, which the oracle reads as they are. */
static void take_product(golden *g, int i, const char *x, const char *w) {
    enum { X = 6, W = 7 };
    cr_assert(golden_take(g, X, x) && golden_take(g, W, w));
    const int64_t B = g->tensor[X].dim[0].factor, T = g->tensor[X].dim[1].factor,
                  K = g->tensor[X].dim[2].factor, N = g->tensor[W].dim[0].factor;
    const float *left = g->data[X], *right = g->data[W];
    double *y = calloc((size_t)(B * T * N) + 1, sizeof *y);
    for (int64_t r = 0; r < B * T; r++)
        for (int64_t n = 0; n < N; n++)
            for (int64_t k = 0; k < K; k++)
                y[r * N + n] += (double)left[r * K + k] * right[n * K + k];
    g->tensor[i] = direct_tensor(TSR_F64, 3, (const int64_t[]){B, T, N});
    g->data[i] = y;
    g->bytes[i] = (size_t)(B * T * N) * sizeof *y;
    free(g->data[X]), free(g->data[W]);
    g->data[X] = g->data[W] = NULL;
}

/* keep, where it is given, masks the end of each sequence. */
static void take_length(golden *g, int i) {
    const tsri_io_array *array = golden_find(g, "keep");
    if (!array)
        return;
    const int64_t B = array->dims[0], S = array->dims[1];
    int32_t *keep = malloc((size_t)(B * S) * 4), *len = calloc((size_t)B, 4);
    cr_assert_eq(tsri_io_read_as(g->archive, array, TSR_I32, 0, array->elements, keep), TSR_OK);
    for (int64_t b = 0; b < B; b++)
        for (int64_t s = 0; s < S; s++) {
            len[b] += keep[b * S + s] != 0;
            cr_assert_eq(keep[b * S + s] != 0, s < len[b], "%s masks a position before the end",
                         g->name);
        }
    free(keep);
    g->tensor[i] = direct_tensor(TSR_I32, 1, &B);
    g->data[i] = len;
    g->bytes[i] = (size_t)B * 4;
}

static void check_additive_attention(golden *g) {
    take_product(g, 0, "s", "wa"), take_product(g, 1, "h", "ua");
    golden_take(g, 2, "va"), golden_take(g, 3, "h"), take_length(g, 4),
        golden_take(g, 6, "context");
    golden_compare(g, TSR_OP_ADDITIVE_ATTENTION, NULL, 6, "context", 1e-12);
}

static void check_gru_cell(golden *g) {
    const tsr_gru_cell_attrs attrs = {.struct_size = sizeof attrs,
                                      .reverse = (uint32_t)golden_whole(g, "reverse")};
    golden_take(g, 0, "gates"), golden_take(g, 1, "state"), golden_take(g, 2, "w"),
        golden_take(g, 3, "b"), golden_take(g, 5, "y");
    golden_take_list(g, 4, "len");
    golden_compare(g, TSR_OP_GRU_CELL, &attrs, 5, "y", 1e-12);
}

static void check_pool(golden *g) {
    const tsr_pool_attrs attrs = {.struct_size = sizeof attrs,
                                  .kind = (uint32_t)golden_whole(g, "kind")};
    golden_take(g, 0, "x"), golden_take(g, 2, "y");
    golden_take_list(g, 1, "len");
    golden_compare(g, TSR_OP_POOL, &attrs, 2, "y", 1e-12);
}

static bool check(golden *g) {
    static const struct {
        const char *name;
        tsr_op_id id;
        tsr_activation activation;
    } activations[] = {{"relu", TSR_OP_RELU, TSR_ACT_RELU},
                       {"gelu_erf", TSR_OP_GELU, TSR_ACT_GELU},
                       {"gelu_tanh", TSR_OP_GELU_TANH, TSR_ACT_GELU_TANH},
                       {"silu", TSR_OP_SILU, TSR_ACT_SILU},
                       {"sigmoid", TSR_OP_SIGMOID, TSR_ACT_SIGMOID},
                       {"tanh", TSR_OP_TANH, TSR_ACT_TANH}};
    static const struct {
        const char *name;
        void (*check)(golden *g);
    } others[] = {{"matmul", check_matmul},
                  {"softmax", check_softmax},
                  {"masked_softmax", check_softmax},
                  {"rope", check_rope},
                  {"embedding", check_embedding},
                  {"attention", check_attention},
                  {"gru_cell", check_gru_cell},
                  {"additive_attention", check_additive_attention},
                  {"pool", check_pool},
                  {"cross_entropy", check_cross_entropy},
                  {"kl_div", check_kl_divergence},
                  {"adamw", check_adamw}};
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (strcmp(g->op, activations[i].name) == 0)
            return check_activation(g, activations[i].id, activations[i].activation), true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(g->op, others[i].name) == 0)
            return others[i].check(g), true;
    if (strcmp(g->op, "layernorm") == 0 || strcmp(g->op, "rmsnorm") == 0)
        return check_norm(g, g->op[0] == 'l' ? TSR_OP_LAYER_NORM : TSR_OP_RMS_NORM), true;
    return false; /* an op that Tessera does not have yet */
}

/* Checks every case of a folder whose op Tessera has; gives their number. */
static size_t check_folder(const char *folder) {
    char path[4096];
    json_t *index = NULL;
    size_t checked = 0;
    snprintf(path, sizeof path, "%s/index.json", folder);
    cr_assert_eq(tsri_base_json_load(path, 1 << 22, 16, &index), TSR_OK, "%s", tsr_error_last());
    const char *op;
    json_t *entry;
    json_object_foreach(index, op, entry) {
        tsri_io_archive *archive = NULL;
        snprintf(path, sizeof path, "%s/%s", folder,
                 json_string_value(json_object_get(entry, "file")));
        cr_assert_eq(tsri_io_open(path, &archive), TSR_OK, "%s", tsr_error_last());
        size_t i;
        json_t *settings;
        json_array_foreach(json_object_get(entry, "cases"), i, settings) {
            golden g = {.archive = archive,
                        .settings = settings,
                        .op = op,
                        .name = json_string_value(json_object_get(settings, "name"))};
            checked += check(&g);
            for (int k = 0; k < GOLDEN_OPERANDS; k++)
                free(g.data[k]);
        }
        tsri_io_close(&archive);
    }
    json_decref(index);
    return checked;
}

Test(goldens, of_this_repository) {
    cr_expect_geq(check_folder(TESSERA_SOURCE_DIR "/tests/golden/ops"), 50);
}

LARGER_TEST(goldens, of_the_official_implementations, "golden/ops") {
    char *folder = larger_path("golden/ops");
    cr_expect_geq(check_folder(folder), 90);
    free(folder);
}
