/* tests/verify/bytes.c - kernel variants give the bytes of the plain one, not only results within
 * its bounds: whichever variant a plan chooses, a sequence gives the same. Those that can't promise
 * this say so. Runs on the device of the tests, and is skipped if there is none. */
#include "verify/verify.h"

#include "base/error.h"
#include "support/cases.h"
#include "tensor/convert.h"
#include "tensor/operands.h"
#include "tensor/quantize.h"
#include "tessera/verify.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static tsr_status run_variant(const tsri_case *c, tsri_verify_place place, const char *op,
                              const char *variant, tsri_case_values *values) {
    char kernels[TSRI_VERIFY_FORCED];
    tsri_verify_force(op, variant, kernels);
    place.kernels = kernels;
    tsr_status status = tsri_case_values_fill(c, false, values);
    if (status == TSR_OK)
        status = tsri_verify_run(c, &c->attrs, &place, values);
    return status;
}

static double value_at(const tsri_case_values *values, int output, size_t i) {
    const size_t size = (size_t)tsri_tensor_dtype_info(values->out_dtype[output])->bytes;
    double value = 0;
    if (values->out_dtype[output] == TSR_I32)
        return ((const int32_t *)values->out[output])[i];
    (void)tsri_tensor_convert(TSR_F64, &value, values->out_dtype[output],
                              (const char *)values->out[output] + i * size, 1);
    return value;
}

/* Equal numbers have equal bytes, but for 0 and -0, and for NaNs. */
static void compare(const tsri_case *c, const char *variant, const tsri_case_values *plain,
                    const tsri_case_values *other) {
    for (int i = 0; i < plain->n_out; i++)
        for (size_t k = 0; k < plain->out_count[i]; k++) {
            const double a = value_at(plain, i, k), b = value_at(other, i, k);
            if (a == b || (isnan(a) && isnan(b)))
                continue;
            cr_expect_fail("%s, %s: output %d[%zu] is %.9g, plain's %.9g", variant, c->name, i, k,
                           b, a);
            return;
        }
}

/* Opens the device of the tests; false where that is not one of OpenCL. */
static bool open_selected(tsri_verify_place *place, uint32_t threads) {
    const tsri_backend_options options = {.threads = threads};
    const tsr_device_options device_options = {
        .struct_size = sizeof device_options, .no_self_test = 1, .threads = threads};
    size_t number = 0;
    cr_assert_eq(tsri_backend_set_open(&options, &place->set), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_backend_select(place->set, NULL, &number), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_backend_device_open(place->set, number, &device_options, &place->device),
                 TSR_OK, "%s", tsr_error_last());
    return strcmp(tsri_backend_at(place->set, number)->backend->name, "opencl") == 0;
}

static void close_selected(tsri_verify_place *place) {
    tsri_backend_device_close(&place->device);
    tsri_backend_set_close(&place->set);
}

/* ---- every variant ---- */

enum { MOST_CASES = 1024, MOST_PICKED = 4, MOST_OF_UNIT = 8 };

/* The cases that fit a variant, as numbers of the list. */
typedef struct fitting {
    size_t cases[MOST_CASES], n;
} fitting;

static void find_fitting(tsri_verify_place place, const tsri_case_list *list,
                         tsri_verify_variants *known, fitting *found) {
    bool any;
    for (size_t i = 0; i < list->n; i++) {
        cr_assert_eq(tsri_verify_ask(place.device, &list->cases[i], known, &any), TSR_OK, "%s",
                     tsr_error_last());
        for (size_t r = 0; r < known->n; r++)
            if (known->list[r].fits && found[r].n < MOST_CASES)
                found[r].cases[found[r].n++] = i;
    }
}

/* The cases that a variant is tried on: so many of those that fit it, spread over all of them, other
 * ones each turn. */
static size_t pick(const tsri_case_list *list, const fitting *found, size_t most,
                   const tsri_case *picked[]) {
    const size_t n = found->n < most ? found->n : most;
    const size_t first = n ? cases_turn() % (found->n / n) : 0;
    for (size_t k = 0; k < n; k++)
        picked[k] = &list->cases[found->cases[first + k * found->n / n]];
    return n;
}

/* Builds what the cases need as one program; what can't be built shows when the cases run. */
static void build_ahead(tsri_verify_place place, const char *op, const char *variant,
                        const tsri_case *const *cases, size_t n) {
    char kernels[TSRI_VERIFY_FORCED];
    tsri_verify_force(op, variant, kernels);
    place.kernels = kernels;
    (void)tsri_verify_build_ahead(cases, n, &place);
}

static bool has_norm(const tsri_case *c) {
    const tsri_tensor_operands *operands = tsri_tensor_operands_of(c->op);
    for (uint32_t i = 0; i < c->n_in; i++)
        if (c->in[i].present && operands->in[i].role == TSRI_TENSOR_ODD)
            return true;
    return false;
}

/* The variant whose bytes the others give: plain, which takes no norm of x; then one that serves any
 * number of rows. */
static const char *model_of(const tsri_case *c) {
    return !has_norm(c)                                  ? "plain"
           : c->attrs.linear.compute == TSR_COMPUTE_INT8 ? "int8_panels"
                                                         : "tiled";
}

/* A variant that the device refuses when it is built is not compared. */
static void check_variant(tsri_verify_place place, const char *op, const char *variant,
                          const tsri_case *const *cases, size_t n) {
    size_t ran = 0;
    build_ahead(place, op, variant, cases, n);
    for (size_t k = 0; k < n; k++) {
        tsri_case_values plain, other;
        cr_assert_eq(run_variant(cases[k], place, op, model_of(cases[k]), &plain), TSR_OK, "%s: %s",
                     cases[k]->name, tsr_error_last());
        const tsr_status status = run_variant(cases[k], place, op, variant, &other);
        cr_expect(status == TSR_OK || strstr(tsr_error_last(), "can't be used"), "%s, %s: %s",
                  variant, cases[k]->name, tsr_error_last());
        if (status == TSR_OK) {
            compare(cases[k], variant, &plain, &other);
            ran++;
        }
        tsri_case_values_clear(&other);
        tsri_case_values_clear(&plain);
    }
    cr_expect(ran || !n, "%s ran no case", variant);
}

/* Matrix units of GPUs, and instructions of CPUs for products of bf16. */
static const char *const units[] = {"mma", "mfma", "wmma11", "wmma12", "dpas8", "dpas16"};
static const char *const of_cpus[] = {"amx", "bf16", "cached_bf16"};
enum { UNITS = sizeof units / sizeof *units, OF_CPUS = sizeof of_cpus / sizeof *of_cpus };

static bool begins_with_one_of(const char *name, const char *const *words, int n) {
    for (int i = 0; i < n; i++)
        if (!strncmp(name, words[i], strlen(words[i])))
            return true;
    return false;
}

/* Whether a variant, "linear/mma_few", multiplies by one of these. */
static bool has_unit(const char *variant) {
    const char *name = strchr(variant, '/');
    return name && (begins_with_one_of(name + 1, units, UNITS) ||
                    begins_with_one_of(name + 1, of_cpus, OF_CPUS));
}

/* A row's sum over a whole work-group, or over parts of the row (topk/parts), has an order of its own,
 * so it is only the same in every batch. In embed_add, each work-item has columns of its own; in sample, sums are integers. Variants that multiply halves or
 * bf16 round as op.h says; plain computes in f32. */
static bool promises(const tsri_verify_variant *variant) {
    return !variant->varies && !strstr(variant->name, "/plain") &&
           !strstr(variant->name, "/sub_groups") && strcmp(variant->name, "topk/parts") != 0 &&
           !strstr(variant->name, "_half") && !has_unit(variant->name) &&
           (!strstr(variant->name, "/group") || !strcmp(variant->name, "embed_add/group") ||
            !strcmp(variant->name, "sample/group"));
}

typedef struct subject {
    char op[32];
} subject;

ParameterizedTestParameters(bytes, of_plain) {
    static subject subjects[128];
    size_t n = 0;
    for (; n < sizeof subjects / sizeof *subjects && tsr_verify_op_name(n); n++)
        snprintf(subjects[n].op, sizeof subjects[n].op, "%s", tsr_verify_op_name(n));
    return cr_make_param_array(subject, subjects, n);
}

ParameterizedTest(subject *s, bytes, of_plain) {
    const size_t most = cases_wanted() == TEST_ALL ? MOST_PICKED : 1;
    static tsri_verify_variants known;
    static fitting found[TSRI_VERIFY_MAX_VARIANTS];
    static const tsri_case *picked[TSRI_VERIFY_MAX_VARIANTS * MOST_PICKED];
    size_t n = 0;
    tsri_verify_place place = {0};
    tsri_case_list list = {0};
#ifdef __SANITIZE_ADDRESS__
    cr_skip_test("sanitizers see nothing of kernels; the host's part is in rows.c");
#endif
    if (!cases_due_next(s->op))
        cr_skip_test("not this op's turn");
    if (!open_selected(&place, 0)) {
        close_selected(&place);
        cr_skip_test("no OpenCL device is selected");
    }
    cr_assert_eq(tsri_cases_of(tsri_graph_op_named(s->op)->id, &list), TSR_OK);
    find_fitting(place, &list, &known, found);
    for (size_t r = 0; r < known.n; r++)
        if (promises(&known.list[r])) {
            const size_t some = pick(&list, &found[r], most, &picked[n]);
            for (size_t k = n, end = n + some; k < end; k++)
                if (!has_norm(picked[k]))
                    picked[n++] = picked[k];
        }
    build_ahead(place, s->op, "plain", picked, n);
    n = 0;
    for (size_t r = 0; r < known.n; r++)
        if (promises(&known.list[r])) {
            const size_t some = pick(&list, &found[r], most, &picked[n]);
            check_variant(place, s->op, known.list[r].name, &picked[n], some);
            n += some;
        }
    free(list.cases);
    close_selected(&place);
}

/* ---- matrix units ---- */

enum {
    UNIT_K = 96
}; /* inputs of the cases below, which are whole blocks of every unit and dtype */

/* The sum of products in the order of cl/weighted/amx.clh: 32 at a time, the first ones of pairs and
 * the second ones by themselves. */
static float sum_by_tiles(const float *x, const float *w) {
    float sum = 0;
    for (int k = 0; k < UNIT_K; k += 32) {
        float of[2] = {0, 0};
        for (int i = 0; i < 32; i++)
            of[i % 2] = fmaf(x[k + i], w[k + i], of[i % 2]);
        sum += of[0] + of[1];
    }
    return sum;
}

/* In that of cl/weighted/bf16.clh: of a pair, the second one is first. */
static float sum_by_pairs(const float *x, const float *w) {
    float sum = 0;
    for (int k = 0; k < UNIT_K; k++)
        sum = fmaf(x[k ^ 1], w[k ^ 1], sum);
    return sum;
}

/* In the order of k, as emulated units of GPUs add; other units of GPUs have orders of their own. */
static float sum_ascending(const float *x, const float *w) {
    float sum = 0;
    for (int k = 0; k < UNIT_K; k++)
        sum = fmaf(x[k], w[k], sum);
    return sum;
}

static float sum_by(const char *variant, const float *x, const float *w) {
    return (!strncmp(variant, "amx", 3) ? sum_by_tiles
            : strstr(variant, "bf16")   ? sum_by_pairs
                                        : sum_ascending)(x, w);
}

/* As cl/elementwise/gelu_bf16.clh. */
static float gelu_after_bf16(float v) {
    static const float P[] = {6.429672439e-8f, -4.150550022e-6f, 1.148028742e-4f, -1.811258180e-3f,
                              1.843747034e-2f, -1.311290988e-1f, 7.972167362e-1f};
    const float s = v * v < 15.21f ? v * v : 15.21f;
    float p = P[0];
    for (int i = 1; i < 7; i++)
        p = fmaf(p, s, P[i]);
    const float e = v * p, h = 0.5f * v;
    return fmaf(h, e < -1 ? -1.0f : e > 1 ? 1.0f : e, h);
}

/* Checks that outputs are sums of exact products in the order of the variant. So they do not depend on
 * the number of rows either. */
static void check_unit(const tsri_case *c, const char *variant, const tsri_case_values *values) {
    const tsr_dtype dtype = c->in[1].dtype; /* f16 or bf16, as the op's products are */
    const size_t columns = (size_t)c->in[1].dim[0].factor;
    const float *x = values->in[0], *bias = c->n_in > 2 ? values->in[2] : NULL,
                *residual = c->n_in > 3 ? values->in[3] : NULL, *y = values->out[0];
    for (size_t i = 0; i < values->out_count[0]; i++) {
        float sum, w[UNIT_K], narrowed[UNIT_K];
        uint16_t bits[UNIT_K];
        (void)tsri_tensor_convert(dtype, bits, TSR_F32, x + i / columns * UNIT_K, UNIT_K);
        (void)tsri_tensor_convert(TSR_F32, narrowed, dtype, bits, UNIT_K);
        (void)tsri_tensor_convert(TSR_F32, w, dtype,
                                  (const uint16_t *)values->in[1] + i % columns * UNIT_K, UNIT_K);
        sum = sum_by(variant, narrowed, w);
        sum += bias ? bias[i % columns] : 0;
        sum = c->attrs.linear.activation == TSR_ACT_GELU ? gelu_after_bf16(sum) : sum;
        sum += residual ? residual[i] : 0;
        if (y[i] != sum)
            cr_expect_fail("%s, %s: output %zu is %.9g, not %.9g", variant, c->name, i,
                           (double)y[i], (double)sum);
        if (y[i] != sum)
            return;
    }
}

/* Whether a case is one that a unit is tried on: weights of [outputs, inputs] stored as what the op
 * multiplies in, and exact integers. */
static bool tried_on_unit(const tsri_case *c) {
    const tsr_linear_attrs *attrs = &c->attrs.linear;
    const bool stored = c->op == TSR_OP_LINEAR && attrs->trans_w &&
                        attrs->activation == TSR_ACT_NONE && c->in[1].dim[1].factor == UNIT_K &&
                        ((attrs->compute == TSR_COMPUTE_F16 && c->in[1].dtype == TSR_F16) ||
                         (attrs->compute == TSR_COMPUTE_BF16 && c->in[1].dtype == TSR_BF16));
    const bool wanted = cases_wanted() == TEST_ALL || attrs->compute == TSR_COMPUTE_BF16;
    return !c->timed && wanted && !has_norm(c) && (stored || strstr(c->name, "bf16, integers"));
}

/* Integer sums are exact, so that a unit gives plain's bytes in every case whose blocks it reads. */
static bool is_of_int8(const tsri_case *c) {
    return !c->timed && c->attrs.linear.compute == TSR_COMPUTE_INT8 && c->attrs.linear.trans_w;
}

/* Whether a variant refuses a case for its number of rows. */
static bool is_for_other_rows(const char *sentence) {
    return strstr(sentence, "made for up to 16 rows") ||
           strstr(sentence, "made for up to 9 rows") || strstr(sentence, "made for one row");
}

/* One variant on the cases of a kind that it takes: `most` of them, spread over all. */
static void run_unit(tsri_verify_place place, const tsri_case_list *list, const char *op,
                     const char *variant, bool (*of_kind)(const tsri_case *c), size_t most) {
    const tsri_case *picked[MOST_OF_UNIT];
    fitting found = {.n = 0};
    size_t ran = 0;
    for (size_t i = 0; i < list->n; i++)
        if (of_kind(&list->cases[i]) && found.n < MOST_CASES)
            found.cases[found.n++] = i;
    const size_t n = pick(list, &found, most, picked);
    build_ahead(place, op, variant, picked, n);
    for (size_t k = 0; k < n; k++) {
        tsri_case_values plain = {0}, other = {0};
        const tsr_status status = run_variant(picked[k], place, op, variant, &other);
        cr_expect(status == TSR_OK || is_for_other_rows(tsr_error_last()), "%s, %s: %s", variant,
                  picked[k]->name, tsr_error_last());
        ran += status == TSR_OK;
        if (status == TSR_OK && (is_of_int8(picked[k]) || strstr(picked[k]->name, "integers"))) {
            cr_assert_eq(run_variant(picked[k], place, op, model_of(picked[k]), &plain), TSR_OK);
            compare(picked[k], variant, &plain, &other);
        } else if (status == TSR_OK)
            check_unit(picked[k], variant, &other);
        tsri_case_values_clear(&other);
        tsri_case_values_clear(&plain);
    }
    cr_expect(ran, "%s=%s ran no case", op, variant);
}

/* Within the case's bound of what plain gives in f32. */
static void expect_near(const tsri_case *c, tsri_verify_place place, const char *variant,
                        const tsri_case_values *got) {
    tsri_case_values want = {0}, terms = {0};
    tsri_verify_worst worst = {0};
    place.kernels = "attention=plain";
    cr_assert_eq(tsri_case_values_fill(c, false, &want), TSR_OK);
    cr_assert_eq(tsri_case_values_fill(c, true, &terms), TSR_OK);
    cr_assert_eq(tsri_verify_run(c, &c->attrs, &place, &want), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_verify_run(c, &c->term_attrs, &place, &terms), TSR_OK, "%s",
                 tsr_error_last());
    cr_assert_eq(tsri_verify_compare(c, &want, &terms, got, &worst), TSR_OK, "%s",
                 tsr_error_last());
    cr_expect_eq(worst.misses, 0, "%s, %s: output %d[%zu] is %.9g, not %.9g within %.3g", variant,
                 c->name, worst.output, worst.element, worst.got, worst.want, worst.bound);
    tsri_case_values_clear(&want);
    tsri_case_values_clear(&terms);
}

/* Attention: a few queries with more keys than a chunk, one work-group or several for a sequence, and as
 * a plan for many queries has them; without a soft cap, and with one. */
static void run_unit_attention(tsri_verify_place place, const char *unit) {
    tsri_case_list list = {0};
    size_t ran = 0, of_kind[2] = {0};
    cr_assert_eq(tsri_cases_of(TSR_OP_ATTENTION, &list), TSR_OK);
    for (size_t i = 0; i < list.n; i++) {
        tsri_case *c = &list.cases[i];
        tsri_case_values one = {0}, split = {0}, many = {0};
        char name[2][48];
        if (c->attrs.attention.compute == TSR_COMPUTE_F32 || c->timed || c->sizes[2] <= 256 ||
            c->sizes[1] * c->in[0].dim[2].factor / c->in[1].dim[2].factor > 16)
            continue;
        if (of_kind[c->attrs.attention.soft_cap > 0]++ && cases_wanted() != TEST_ALL)
            continue;
        snprintf(name[0], sizeof *name, "%.16s", unit);
        snprintf(name[1], sizeof *name, "%.16s_split:DEPTH=%d", unit, ran % 2 ? 1 : 3);
        cr_assert_eq(run_variant(c, place, "attention", name[0], &one), TSR_OK, "%s: %s", c->name,
                     tsr_error_last());
        cr_assert_eq(run_variant(c, place, "attention", name[1], &split), TSR_OK, "%s: %s", c->name,
                     tsr_error_last());
        compare(c, name[1], &one, &split);
        expect_near(c, place, name[0], &one);
        c->most[1] = 300;
        cr_assert_eq(run_variant(c, place, "attention", name[0], &many), TSR_OK, "%s: %s", c->name,
                     tsr_error_last());
        compare(c, "for many queries", &one, &many);
        tsri_case_values_clear(&one);
        tsri_case_values_clear(&split);
        tsri_case_values_clear(&many);
        ran++;
    }
    cr_expect(of_kind[0] && of_kind[1], "attention=%s: %zu cases have no soft cap, %zu have one",
              unit, of_kind[0], of_kind[1]);
    free(list.cases);
}

ParameterizedTestParameters(bytes, of_a_matrix_unit) {
    static subject subjects[UNITS];
    for (size_t i = 0; i < UNITS; i++)
        snprintf(subjects[i].op, sizeof subjects[i].op, "%s", units[i]);
    return cr_make_param_array(subject, subjects, UNITS);
}

/* Opens the device of the tests, which a layer makes a GPU that has the unit; its kernels then emulate
 * it. */
static void open_unit(tsri_verify_place *place, const char *unit) {
    char path[4096], probe[4096];
    cr_assert(getenv("TESSERA_BUILD"));
    snprintf(path, sizeof path, "%s/tests/gpu_layer.so", getenv("TESSERA_BUILD"));
    snprintf(probe, sizeof probe, "%s/libexec/tessera/probe", getenv("TESSERA_BUILD"));
    setenv("TESSERA_PROBE", probe, 1); /* without the cache, which holds what other layers gave */
    setenv("OPENCL_LAYERS", path, 1);
    setenv("TSR_GPU_UNIT", unit, 1);
    setenv("TSR_GPU_GROUP", "256", 1);
    setenv("TSR_GPU_LOCAL", "65536", 1);
    cases_build_unoptimised();
    const bool opencl = access(path, R_OK) == 0 && open_selected(place, 0);
    if (!opencl || cases_wanted() == TEST_SMOKE) {
        close_selected(place);
        cr_skip_test("no OpenCL device is selected, or one that is slow to compile");
    }
}

ParameterizedTest(subject *s, bytes, of_a_matrix_unit) {
    static const char *const ops[] = {"linear", "glu_linear"};
    tsri_verify_place place = {0};
    open_unit(&place, s->op);
    for (int i = 0; i < 2; i++) {
        tsri_case_list list = {0};
        cr_assert_eq(tsri_cases_of(tsri_graph_op_named(ops[i])->id, &list), TSR_OK);
        for (int few = 0; few < 2; few++) {
            char variant[48];
            snprintf(variant, sizeof variant, "int8_%s%s", s->op, few ? "_few" : "");
            run_unit(place, &list, ops[i], variant + strlen("int8_"), tried_on_unit, MOST_OF_UNIT);
            /* Otherwise units with several columns, steps of a block, or single inputs. */
            if (cases_wanted() == TEST_ALL || (i == 0 && strstr("mma mfma dpas16", s->op)))
                run_unit(place, &list, ops[i], variant, is_of_int8, MOST_PICKED);
        }
        free(list.cases);
    }
    run_unit_attention(place, s->op);
    close_selected(&place);
}

static bool is_short_f16(const tsri_case *c) {
    return !c->timed && c->sizes[1] > 0 && c->sizes[1] < 16 && c->sizes[2] > 256 &&
           c->attrs.attention.compute == TSR_COMPUTE_F16;
}

/* A compiler that takes the unit's products and refuses its reads (ldmatrix): operands are then read by
 * ordinary code, and the bytes are the same. */
Test(bytes, of_a_matrix_unit_without_its_reads) {
    static const struct {
        const char *op, *variant;
        bool (*of_kind)(const tsri_case *c);
    } rows[] = {{"linear", "mma_few", tried_on_unit}, {"attention", "mma", is_short_f16}};
    tsri_verify_place with = {0}, without = {0};
    open_unit(&with, "mma");
    open_unit(&without, "mma_plain");
    for (int i = 0; i < 2; i++) {
        tsri_case_list list = {0};
        tsri_case_values one = {0}, other = {0};
        size_t k = 0;
        cr_assert_eq(tsri_cases_of(tsri_graph_op_named(rows[i].op)->id, &list), TSR_OK);
        setenv("TSR_GPU_UNIT", "mma", 1);
        for (; k < list.n; k++) {
            if (!rows[i].of_kind(&list.cases[k]))
                continue;
            if (run_variant(&list.cases[k], with, rows[i].op, rows[i].variant, &one) == TSR_OK)
                break;
            tsri_case_values_clear(&one);
        }
        cr_assert_lt(k, list.n, "%s: %s", rows[i].variant, tsr_error_last());
        setenv("TSR_GPU_UNIT", "mma_plain", 1);
        cr_assert_eq(run_variant(&list.cases[k], without, rows[i].op, rows[i].variant, &other),
                     TSR_OK, "%s", tsr_error_last());
        compare(&list.cases[k], rows[i].variant, &one, &other);
        tsri_case_values_clear(&one);
        tsri_case_values_clear(&other);
        free(list.cases);
    }
    close_selected(&with);
    close_selected(&without);
}

/* ---- instructions of CPUs for products of bf16 ---- */

static bool tried_on_bf16(const tsri_case *c) {
    return c->attrs.linear.compute == TSR_COMPUTE_BF16 && tried_on_unit(c);
}

static bool is_gelu_after_bf16(const tsri_case *c) {
    return strstr(c->name, " bf16 gelu");
}

/* Whether the device takes a variant for one of the cases. */
static bool has_variant(const tsri_verify_place *place, const tsri_case_list *list,
                        const char *name) {
    static tsri_verify_variants known;
    bool any;
    for (size_t i = 0; i < list->n; i++) {
        if (!tried_on_bf16(&list->cases[i]))
            continue;
        cr_assert_eq(tsri_verify_ask(place->device, &list->cases[i], &known, &any), TSR_OK);
        for (size_t r = 0; r < known.n; r++)
            if (!strcmp(known.list[r].name, name)) {
                cr_expect(!strstr(known.list[r].why, "wrong results"), "%s: %s", name,
                          known.list[r].why);
                if (known.list[r].fits)
                    return true;
            }
    }
    return false;
}

/* Attention: few queries by the variant for them, and by that for many in tiles of 16 and of 64. */
static void run_bf16_attention(tsri_verify_place place) {
    static const char *const variants[] = {"bf16_decode", "bf16:QUERIES=64", "bf16:QUERIES=16"};
    tsri_case_list list = {0};
    size_t ran = 0;
    cr_assert_eq(tsri_cases_of(TSR_OP_ATTENTION, &list), TSR_OK);
    for (size_t i = 0; i < list.n && (cases_wanted() == TEST_ALL || ran < 4); i++) {
        const tsri_case *c = &list.cases[i];
        tsri_case_values first = {0}, other = {0};
        const int least = c->sizes[1] > 8; /* decode takes up to 8 queries */
        if (c->attrs.attention.compute != TSR_COMPUTE_BF16 || c->timed || !c->sizes[1])
            continue;
        cr_assert_eq(run_variant(c, place, "attention", variants[least], &first), TSR_OK, "%s: %s",
                     c->name, tsr_error_last());
        for (int v = least + 1; v < 3; v++) {
            cr_assert_eq(run_variant(c, place, "attention", variants[v], &other), TSR_OK, "%s: %s",
                         c->name, tsr_error_last());
            compare(c, variants[v], &first, &other);
            tsri_case_values_clear(&other);
        }
        tsri_case_values_clear(&first);
        ran++;
    }
    cr_expect(ran > 3, "attention=bf16 ran %zu cases", ran);
    free(list.cases);
}

ParameterizedTestParameters(bytes, of_bf16_on_a_cpu) {
    static subject subjects[OF_CPUS];
    for (size_t i = 0; i < OF_CPUS; i++)
        snprintf(subjects[i].op, sizeof subjects[i].op, "%s", of_cpus[i]);
    return cr_make_param_array(subject, subjects, OF_CPUS);
}

ParameterizedTest(subject *s, bytes, of_bf16_on_a_cpu) {
    static const char *const ops[] = {"linear", "glu_linear"};
    tsri_verify_place place = {0};
    const bool opencl = open_selected(&place, 0);
    for (int i = 0; i < 2 && opencl; i++) {
        tsri_case_list list = {0};
        cr_assert_eq(tsri_cases_of(tsri_graph_op_named(ops[i])->id, &list), TSR_OK);
        for (int form = 0; form < 3; form++) {
            static const char *const forms[] = {"", "_few", "_one"};
            char variant[48], whole[64];
            snprintf(variant, sizeof variant, "%s%s", s->op, forms[form]);
            snprintf(whole, sizeof whole, "%s/%s", ops[i], variant);
            if (!has_variant(&place, &list, whole))
                continue;
            run_unit(place, &list, ops[i], variant, tried_on_bf16, MOST_OF_UNIT);
            if (i == 0)
                run_unit(place, &list, ops[i], variant, is_gelu_after_bf16, MOST_OF_UNIT);
            if (i == 0 && !strcmp(variant, "bf16"))
                run_bf16_attention(place);
        }
        free(list.cases);
    }
    close_selected(&place);
    if (!opencl)
        cr_skip_test("no OpenCL device is selected");
}

/* ---- norms of x ---- */

/* The case with other rows: so many numbers each. */
static tsri_case with_width(const tsri_case *c, int64_t K) {
    tsri_case other = *c;
    other.in[0].dim[2] = other.in[1].dim[1] = other.in[4].dim[0] = TSRI_CASE_K(K);
    return other;
}

/* A stage norms the rows, or the product's own work-groups, of any number of work-items from 4 to 256. A
 * sum in another order seldom shows: in one of ten roots. So there are many rows, with more numbers than
 * a float4 for each of 256 work-items. */
Test(bytes, of_a_norm_by_any_work_group) {
    static const char *const variants[][6] = {
        {"tiled", "few_float:OUTPUTS=2:PARTS=2", "few_float:OUTPUTS=8:PARTS=16", "skinny"},
        {"int8", "int8_few:ROW_GROUP=256", "int8_few:ROW_GROUP=128", "int8_direct:SPLIT=1",
         "int8_direct:SPLIT=8"}};
    enum { WIDTH = 1056, STEP = 32, WIDTHS = 40 };
    tsri_verify_place place = {0};
    tsri_case_list list = {0};
    if (!open_selected(&place, 0) || cases_wanted() == TEST_SMOKE) {
        close_selected(&place);
        cr_skip_test("no OpenCL device is selected, or one that is slow to compile");
    }
    cr_assert_eq(tsri_cases_of(TSR_OP_LINEAR, &list), TSR_OK);
    for (int eight = 0; eight < 2; eight++) {
        const tsri_case *c = NULL;
        for (size_t k = 0; k < list.n && !c; k++)
            if (has_norm(&list.cases[k]) &&
                strstr(list.cases[k].name,
                       eight ? "M=2x1 K=128 N=65 q8_0" : "M=1x8 K=1032 N=67 f32") &&
                (list.cases[k].attrs.linear.compute == TSR_COMPUTE_INT8) == eight)
                c = &list.cases[k];
        cr_assert_not_null(c);
        for (int64_t w = 0; w < WIDTHS; w++) {
            const tsri_case wide = with_width(c, WIDTH + w * STEP);
            tsri_case_values first, other;
            cr_assert_eq(run_variant(&wide, place, "linear", variants[eight][0], &first), TSR_OK,
                         "%s", tsr_error_last());
            for (int v = 1; variants[eight][v]; v++) {
                cr_assert_eq(run_variant(&wide, place, "linear", variants[eight][v], &other),
                             TSR_OK, "%s: %s", variants[eight][v], tsr_error_last());
                compare(&wide, variants[eight][v], &first, &other);
                tsri_case_values_clear(&other);
            }
            tsri_case_values_clear(&first);
        }
    }
    free(list.cases);
    close_selected(&place);
}

/* ---- one thread or two ---- */

static const tsr_op_id learning[] = {TSR_OP_ACCUMULATE,
                                     TSR_OP_MATMUL_ADD,
                                     TSR_OP_EMBED_ADD,
                                     TSR_OP_SUM_ROWS,
                                     TSR_OP_NORM_GRAD,
                                     TSR_OP_NORM_WEIGHT_GRAD,
                                     TSR_OP_ACTIVATION_GRAD,
                                     TSR_OP_GLU_GRAD,
                                     TSR_OP_CROSS_ENTROPY,
                                     TSR_OP_CROSS_ENTROPY_GRAD,
                                     TSR_OP_KL_DIVERGENCE_GRAD,
                                     TSR_OP_DROPOUT,
                                     TSR_OP_SUMSQ,
                                     TSR_OP_ADAMW,
                                     TSR_OP_SGD};
enum { N_LEARNING = sizeof learning / sizeof *learning };

/* Hashes (FNV-1a) all result bytes of the first and the last case of each op, by the kernel
 * variants that a plan chooses. */
static void run_all(uint32_t threads, uint64_t sums[N_LEARNING]) {
    tsri_verify_place place = {0};
    open_selected(&place, threads);
    for (int i = 0; i < N_LEARNING; i++) {
        tsri_case_list list = {0};
        sums[i] = 0xcbf29ce484222325u;
        cr_assert_eq(tsri_cases_of(learning[i], &list), TSR_OK, "%s", tsr_error_last());
        for (int k = 0; k < 2; k++) {
            const tsri_case *c = &list.cases[k ? list.n - 1 : 0];
            tsri_case_values values;
            cr_assert_eq(tsri_case_values_fill(c, false, &values), TSR_OK);
            cr_assert_eq(tsri_verify_run(c, &c->attrs, &place, &values), TSR_OK, "%s: %s", c->name,
                         tsr_error_last());
            for (int o = 0; o < values.n_out; o++)
                for (size_t b = 0; b < values.out_bytes[o]; b++)
                    sums[i] = (sums[i] ^ ((unsigned char *)values.out[o])[b]) * 0x100000001b3u;
            tsri_case_values_clear(&values);
        }
        free(list.cases);
    }
    close_selected(&place);
}

/* A driver starts its threads once in a process, so another number needs another process. */
Test(bytes, training_does_not_depend_on_the_number_of_threads) {
    uint64_t one[N_LEARNING] = {0}, all[N_LEARNING];
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        run_all(1, one);
        _exit(write(ends[1], one, sizeof one) != (ssize_t)sizeof one);
    }
    close(ends[1]);
    cr_assert_eq(read(ends[0], one, sizeof one), (ssize_t)sizeof one, "one thread gave no answer");
    cr_assert_eq(waitpid(child, NULL, 0), child);
    close(ends[0]);
    run_all(0, all);
    for (int i = 0; i < N_LEARNING; i++)
        cr_expect_eq(one[i], all[i], "op %d gives other bytes on one thread", (int)learning[i]);
}
