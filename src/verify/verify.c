/* verify/verify.c - tessera/verify.h: every case with every kernel variant. */
#include "verify/verify.h"

#include "backend/opened.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "graph/ops.h"
#include "tessera/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALL = 0, SMOKE = 1, SOME = 2, MAX_KINDS = 512 };

/* What a case is run on: kernel variants, numbered as in s->known.list, and the decomposition. */
typedef struct wanted {
    bool variants[TSRI_VERIFY_MAX_VARIANTS];
    bool any; /* of `variants` */
    bool decomposed;
} wanted;

typedef struct session {
    tsri_backend_set *set;
    tsri_backend_device *device, *oracle;
    int (*result)(void *data, const tsr_verify_result *result);
    void *data;
    tsr_verify_summary *summary;
    const char *variants; /* only these, "mma:SM=1,mma_few"; NULL: all */
    const tsri_graph_op_row *op;
    const tsri_case *c;
    tsri_verify_variants known; /* the kernel variants of the op, as they are for the case */
    tsri_verify_variant parts;  /* the op's decomposition */
} session;

static tsr_status give(session *s, tsr_verify_status status, const char *variant,
                       const tsri_verify_worst *worst, const char *message) {
    uint32_t *const counts[] = {&s->summary->ok, &s->summary->misses, &s->summary->not_offered,
                                &s->summary->skipped, &s->summary->errors};
    const tsr_verify_result result = {.struct_size = sizeof result,
                                      .status = status,
                                      .op = s->op->name,
                                      .variant = variant,
                                      .name = s->c ? s->c->name : "",
                                      .reason = s->c ? s->c->reason : "",
                                      .message = message,
                                      .error = worst ? worst->error : 0,
                                      .bound = worst ? worst->bound : 0,
                                      .flops = s->c ? s->known.cost.flops : 0,
                                      .bytes = s->c ? s->known.cost.bytes : 0};
    ++*counts[status];
    if (s->result && s->result(s->data, &result))
        return tsri_base_fail(TSR_E_CANCELLED, "verify was stopped at %s", s->op->name);
    return TSR_OK;
}

/* ---- which kernel variants ---- */

/* Where the name of the entry at `at` ends, in a list such as "mma:SM=1:SN=2,mma_few". */
static const char *name_end(const char *at) {
    return at + strcspn(at, ":,");
}

/* The entry after the one at `at`, or the end of the list. */
static const char *next_entry(const char *at) {
    at += strcspn(at, ",");
    return at + (*at == ',');
}

/* The entry of a list whose name is these n bytes; NULL: it has none. */
static const char *find_entry(const char *list, const char *name, size_t n) {
    for (; *list; list = next_entry(list))
        if ((size_t)(name_end(list) - list) == n && !strncmp(list, name, n))
            return list;
    return NULL;
}

static const char *own_name(const session *s, size_t variant) {
    return tsri_verify_own_name(s->op->name, s->known.list[variant].name);
}

static const char *entry_of(const session *s, size_t variant) {
    const char *own = own_name(s, variant);
    return s->variants ? find_entry(s->variants, own, strlen(own)) : NULL;
}

static bool is_wanted(const session *s, size_t variant) {
    return !s->variants || entry_of(s, variant);
}

/* Writes what forces a variant, with the tunables that its entry has. */
static void force(const session *s, size_t variant, char text[TSRI_VERIFY_FORCED]) {
    const char *entry = entry_of(s, variant);
    tsri_verify_force(s->op->name, s->known.list[variant].name, entry ? name_end(entry) : "", text);
}

/* ---- one case ---- */

typedef struct answers {
    tsri_case_values want, terms;
    bool has_terms;
} answers;

static tsr_status ask_oracle(const session *s, answers *out) {
    const tsri_verify_place oracle = {.set = s->set, .device = s->oracle};
    TRY(tsri_case_values_fill(s->c, false, &out->want));
    TRY(tsri_verify_run(s->c, &s->c->attrs, &oracle, &out->want));
    for (int i = 0; i < TSRI_CASE_MAX_OUT; i++)
        out->has_terms |= s->c->bound[i].terms > 0;
    if (!out->has_terms)
        return TSR_OK;
    TRY(tsri_case_values_fill(s->c, true, &out->terms));
    return tsri_verify_run(s->c, &s->c->term_attrs, &oracle, &out->terms);
}

/* Keeps the reason of the last error: of a kernel variant without the place "op 0, KERNEL: ", because
 * the plan has one op, and whoever reads it knows the variant. */
static tsr_status refused(tsri_verify_variant *seen, bool decomposed) {
    const char *why = tsri_base_reported();
    const char *end = !decomposed && strncmp(why, "op 0, ", 6) == 0 ? strstr(why, ": ") : NULL;
    snprintf(seen->why, sizeof seen->why, "%s", end ? end + 2 : why);
    seen->refused++;
    return TSR_OK;
}

/* A case for which the device turns out to lack something is not a miss; give_skipped reports it. */
static tsr_status check_row(session *s, const answers *known, const tsri_verify_place *place,
                            tsri_verify_variant *seen) {
    const char *variant = seen->name;
    tsri_case_values got;
    tsri_verify_worst worst = {0};
    char message[256] = "";
    tsr_status status = tsri_case_values_fill(s->c, false, &got);
    if (status == TSR_OK)
        status = tsri_verify_run(s->c, &s->c->attrs, place, &got);
    if (status == TSR_OK)
        status = tsri_verify_compare(s->c, &known->want, known->has_terms ? &known->terms : NULL,
                                     &got, &worst);
    tsri_case_values_clear(&got);
    seen->tried++;
    if (status == TSR_E_UNSUPPORTED)
        return refused(seen, place->decomposed);
    if (status == TSR_E_CANCELLED)
        return status;
    if (status != TSR_OK) {
        snprintf(message, sizeof message, "%s", tsri_base_reported());
        return give(s, TSR_VERIFY_ERROR, variant, NULL, message);
    }
    if (worst.misses == 0)
        return give(s, TSR_VERIFY_OK, variant, &worst, "");
    snprintf(message, sizeof message,
             "%zu elements miss the bound; the worst, number %zu of output %d, is %.9g and should "
             "be %.9g",
             worst.misses, worst.element, worst.output, worst.got, worst.want);
    return give(s, TSR_VERIFY_MISS, variant, &worst, message);
}

static tsr_status check_rows(session *s, const answers *known, const wanted *want) {
    for (size_t i = 0; i < s->known.n; i++) {
        char kernels[TSRI_VERIFY_FORCED];
        if (!s->known.list[i].here || !s->known.list[i].fits || !want->variants[i])
            continue;
        force(s, i, kernels);
        const tsri_verify_place place = {.set = s->set, .device = s->device, .kernels = kernels};
        TRY(check_row(s, known, &place, &s->known.list[i]));
    }
    if (!want->decomposed || !tsri_verify_decomposes(s->c))
        return TSR_OK;
    const tsri_verify_place parts = {.set = s->set, .device = s->device, .decomposed = true};
    return check_row(s, known, &parts, &s->parts);
}

/* *offered is false if the device has no kernel variant for the op. */
static tsr_status check_case(session *s, const wanted *want, bool *offered) {
    answers known = {0};
    tsr_status status = tsri_verify_ask(s->device, s->c, &s->known, offered);
    if (status == TSR_OK && *offered)
        status = ask_oracle(s, &known);
    if (status == TSR_OK && *offered)
        status = check_rows(s, &known, want);
    tsri_case_values_clear(&known.want);
    tsri_case_values_clear(&known.terms);
    return status == TSR_OK || status == TSR_E_CANCELLED
               ? status
               : tsri_base_fail_within(status, "%s, case %s", s->op->name, s->c->name);
}

/* ---- which cases on which kernel variants ---- */

/* Level smoke runs one case of each kind: a kernel variant and, if the device would choose it, the
 * dtypes of the weights and states that it reads, and whether it norms what it reads. A case at an edge
 * is a kind of its own. */
typedef struct kind {
    char name[192];
    size_t variant, at; /* the numbers of the variant and of the case */
    bool chosen;
    double flops; /* of the case: a large one shows most errors that begin at a size */
} kind;

typedef struct kinds {
    double most_flops;
    size_t n;
    kind items[MAX_KINDS];
} kinds;

static const double default_most_flops = 0x1p24;

static void name_kind(const session *s, size_t variant, bool chosen, char name[192]) {
    const tsri_tensor_operands *operands = tsri_tensor_operands_of(s->c->op);
    size_t n = (size_t)snprintf(name, 192, "%s", s->known.list[variant].name);
    if (chosen && s->c->edge)
        n += (size_t)snprintf(name + n, 192 - n, ",%s", s->c->name);
    for (uint32_t i = 0; chosen && i < s->c->n_in && n < 180; i++) {
        const tsri_case_operand *operand = &s->c->in[i];
        if (!operand->present || operand->kind == TSR_KIND_INPUT)
            continue;
        if (operands->in[i].role == TSRI_TENSOR_ODD)
            n += (size_t)snprintf(name + n, 192 - n, ",%s", operands->in[i].name);
        else if (operand->rank > 1)
            n += (size_t)snprintf(name + n, 192 - n, ",%d", (int)operand->dtype);
    }
}

/* The largest up to `most`; where all are above it, the smallest. */
static bool is_better(double flops, double than, double most) {
    return than > most ? flops < than : flops > than && flops <= most;
}

/* Offers the current case, number `at`, as the one of its kind on a variant that fits it. */
static tsr_status offer(const session *s, kinds *all, size_t variant, size_t at) {
    kind here = {.variant = variant,
                 .at = at,
                 .chosen = s->known.best == (int)variant,
                 .flops = s->known.cost.flops};
    size_t i = 0;
    name_kind(s, variant, here.chosen, here.name);
    while (i < all->n && strcmp(all->items[i].name, here.name) != 0)
        i++;
    if (i == MAX_KINDS)
        return tsri_base_fail(TSR_E_INTERNAL, "%s: its cases are of more than %d kinds",
                              s->op->name, MAX_KINDS);
    if (i == all->n)
        all->items[all->n++] = here;
    else if (is_better(here.flops, all->items[i].flops, all->most_flops))
        all->items[i] = here;
    return TSR_OK;
}

/* A kind is spare if the device chooses its variant for a case at least as large. */
static bool is_spare(const kinds *all, const kind *one) {
    bool elsewhere = false;
    for (size_t i = 0; i < all->n; i++)
        elsewhere |= all->items[i].variant == one->variant && all->items[i].chosen &&
                     all->items[i].flops >= one->flops;
    return elsewhere && !one->chosen;
}

static void want_variant(wanted *want, size_t variant) {
    want->variants[variant] = want->any = true;
}

/* Chooses the cases of smoke. */
static void choose_kinds(const kinds *all, wanted *want) {
    for (size_t i = 0; i < all->n; i++)
        if (!is_spare(all, &all->items[i]))
            want_variant(&want[all->items[i].at], all->items[i].variant);
}

/* Moves the cases of a level to the start of the list, and says what each is run on. */
static tsr_status choose_cases(session *s, tsri_case_list *list, const tsr_verify_options *given,
                               wanted *want, size_t *n) {
    enum { EVERY = 40 };
    const uint32_t level = given->level, every = given->every ? given->every : EVERY;
    kinds *all = NULL;
    bool any = true;
    *n = 0;
    TRY(tsri_base_new(1, sizeof *all, &all));
    all->most_flops = given->most_flops > 0 ? given->most_flops : default_most_flops;
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < list->n && status == TSR_OK; i++) {
        const bool whole = level == ALL || (level == SOME && i % every == given->first % every);
        s->c = &list->cases[i];
        status = tsri_verify_ask(s->device, s->c, &s->known, &any);
        if (status != TSR_OK)
            break;
        want[i].decomposed = s->op->decompose && (whole || i == 0) && !s->variants;
        for (size_t r = 0; r < s->known.n && status == TSR_OK; r++) {
            if (!s->known.list[r].here || !s->known.list[r].fits || !is_wanted(s, r))
                continue;
            if (whole)
                want_variant(&want[i], r);
            if (level != ALL)
                status = offer(s, all, r, i);
        }
    }
    choose_kinds(all, want);
    for (size_t i = 0; i < list->n && status == TSR_OK; i++)
        if (want[i].any || want[i].decomposed || i == 0) {
            want[*n] = want[i];
            list->cases[(*n)++] = list->cases[i];
        }
    free(all);
    return status;
}

/* Builds the cases of each kernel variant as one program, and those of the decomposition. */
static tsr_status build_ahead(session *s, const tsri_case *cases, const wanted *want, size_t n) {
    const tsri_case **list = NULL;
    tsr_status status = tsri_base_new(n ? n : 1, sizeof *list, &list);
    for (size_t r = 0; r <= s->known.n && status == TSR_OK; r++) {
        tsri_verify_place place = {.set = s->set, .device = s->device};
        char kernels[TSRI_VERIFY_FORCED];
        size_t count = 0;
        place.decomposed = r == s->known.n;
        for (size_t i = 0; i < n; i++)
            if (place.decomposed ? want[i].decomposed : want[i].variants[r])
                list[count++] = &cases[i];
        if (!place.decomposed) {
            force(s, r, kernels);
            place.kernels = kernels;
        }
        if (count && tsri_verify_build_ahead(list, count, &place) == TSR_E_CANCELLED)
            status = TSR_E_CANCELLED;
    }
    free(list);
    return status;
}

/* Reports a variant that did not run each case that was given to it, or that got none. */
static tsr_status give_not_run(session *s, const tsri_verify_variant *variant) {
    char some[sizeof variant->why + 64];
    if (!variant->tried && variant->fitted)
        return give(s, TSR_VERIFY_ERROR, variant->name, NULL,
                    "fits some of the cases, and none of them was run: a fault of verify");
    if (variant->tried && !variant->refused)
        return TSR_OK;
    snprintf(some, sizeof some, "%u of %u cases were not run: %s", variant->refused, variant->tried,
             variant->why);
    return give(s, s->variants ? TSR_VERIFY_ERROR : TSR_VERIFY_SKIPPED, variant->name, NULL,
                variant->refused < variant->tried ? some : variant->why);
}

static tsr_status give_skipped(session *s) {
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < s->known.n && status == TSR_OK; i++)
        if (is_wanted(s, i))
            status = give_not_run(s, &s->known.list[i]);
    return status == TSR_OK && s->parts.tried ? give_not_run(s, &s->parts) : status;
}

/* A variant that was asked for and that the device does not have is an error. */
static tsr_status give_missing(session *s) {
    tsr_status status = TSR_OK;
    for (const char *at = s->variants; at && *at && status == TSR_OK; at = next_entry(at)) {
        char name[96];
        bool has = false;
        snprintf(name, sizeof name, "%.*s", (int)(name_end(at) - at), at);
        for (size_t i = 0; i < s->known.n; i++)
            has |= !strcmp(own_name(s, i), name);
        if (!has)
            status = give(s, TSR_VERIFY_ERROR, name, NULL, "the device has no such kernel variant");
    }
    return status;
}

static tsr_status check_op(session *s, const tsri_graph_op_row *op,
                           const tsr_verify_options *given) {
    tsri_case_list list = {0};
    wanted *want = NULL;
    bool offered = true;
    size_t n = 0;
    s->op = op;
    s->c = NULL;
    s->known.n = 0;
    s->parts = (tsri_verify_variant){.name = "decomposed"};
    tsr_status status = tsri_cases_of(op->id, &list);
    if (status == TSR_OK)
        status = tsri_base_new(list.n ? list.n : 1, sizeof *want, &want);
    if (status == TSR_OK)
        status = choose_cases(s, &list, given, want, &n);
    if (status == TSR_OK && n > 1)
        status = build_ahead(s, list.cases, want, n);
    for (size_t i = 0; i < n && status == TSR_OK && offered; i++) {
        s->c = &list.cases[i];
        status = check_case(s, &want[i], &offered);
    }
    s->c = NULL;
    free(list.cases);
    free(want);
    if (status == TSR_OK && !offered && !s->variants)
        return give(s, TSR_VERIFY_NOT_OFFERED, "", NULL, "");
    if (status == TSR_OK)
        status = give_skipped(s);
    return status == TSR_OK ? give_missing(s) : status;
}

const char *tsr_verify_op_name(size_t index) {
    return index < tsri_graph_op_count() ? tsri_graph_op_at(index)->name : NULL;
}

/* ---- the call ---- */

static tsr_status check_variants(const char *list) {
    enum { MOST = 128 };
    for (const char *at = list; *at; at = next_entry(at)) {
        const int n = (int)(name_end(at) - at);
        if (strcspn(at, ",") > MOST)
            return tsri_base_fail(
                TSR_E_ARGUMENT, "verify: variants: what is given for %.*s is longer than %d bytes",
                n < MOST ? n : MOST, at, MOST);
        if (find_entry(next_entry(at), at, (size_t)n))
            return tsri_base_fail(TSR_E_ARGUMENT, "verify: variants: %.*s is given twice", n, at);
    }
    return TSR_OK;
}

static tsr_status check_options(const tsr_device *device, const tsr_verify_options *given) {
    if (given->level > 2)
        return tsri_base_fail(TSR_E_ARGUMENT, "verify: level %u is not 0, 1 or 2", given->level);
    if (!(given->bench_seconds >= 0))
        return tsri_base_fail(TSR_E_ARGUMENT, "verify: bench_seconds is %g; it can't be below 0",
                              given->bench_seconds);
    if (!(given->most_flops >= 0))
        return tsri_base_fail(TSR_E_ARGUMENT, "verify: most_flops is %g; it can't be below 0",
                              given->most_flops);
    if (given->bench_seconds > 0 && !tsri_backend_opened(device)->profile)
        return tsri_base_fail(TSR_E_STATE,
                              "the device was opened without profile, so it measures no launch");
    if (given->variants && (!given->op || given->bench_seconds > 0))
        return tsri_base_fail(TSR_E_ARGUMENT, "verify: variants need an op, and no bench_seconds");
    if (given->variants)
        TRY(check_variants(given->variants));
    if (given->op && !tsri_graph_op_named(given->op))
        return tsri_base_fail(TSR_E_ARGUMENT, "no op is called \"%s\"", given->op);
    return TSR_OK;
}

/* What can't be measured stays 0. */
static void measure_peaks(const tsr_device *device, tsri_run_peaks *out) {
    enum { REPEATS = 3 };
    (void)tsri_run_peak_best(device, TSR_PEAK_FMA_F32, REPEATS, &out->fma_f32);
    (void)tsri_run_peak_best(device, TSR_PEAK_FMA_F16, REPEATS, &out->fma_f16);
    (void)tsri_run_peak_best(device, TSR_PEAK_FMA_BF16, REPEATS, &out->fma_bf16);
    (void)tsri_run_peak_best(device, TSR_PEAK_DOT_INT8, REPEATS, &out->dot_int8);
    (void)tsri_run_peak_best(device, TSR_PEAK_READ, REPEATS, &out->read);
}

/* Checks or times each op, or the one that is asked for, on one device. */
static tsr_status each_op(session *s, const tsri_verify_bench *bench,
                          const tsr_verify_options *given) {
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < tsri_graph_op_count() && status == TSR_OK; i++) {
        const tsri_graph_op_row *op = tsri_graph_op_at(i);
        if (given->op && strcmp(op->name, given->op) != 0)
            continue;
        status =
            given->bench_seconds > 0 ? tsri_verify_bench_op(bench, op) : check_op(s, op, given);
        s->summary->ops_done += status == TSR_OK;
    }
    return status;
}

tsr_status tsr_verify(tsr_device *device, const tsr_verify_options *options,
                      int (*result)(void *data, const tsr_verify_result *result), void *data,
                      tsr_verify_summary *summary) {
    tsr_verify_options given;
    TRY(NEED(device));
    TRY(NEED(result));
    TRY(tsri_base_check_out("tsr_verify_summary", summary));
    TRY(tsri_base_adopt("tsr_verify_options", options, &given, sizeof given));
    TRY(check_options(device, &given));
    const tsri_backend_opened_device *opened = tsri_backend_opened(device);
    tsr_verify_summary counts = {.struct_size = sizeof counts};
    tsri_backend_device *oracle = NULL;
    session *s = NULL;
    tsri_verify_bench bench = {.set = opened->set,
                               .seconds = given.bench_seconds,
                               .result = result,
                               .data = data,
                               .summary = &counts};
    counts.ops = (uint32_t)((given.op ? 1 : tsri_graph_op_count()) * opened->n_devices);
    if (given.bench_seconds > 0)
        measure_peaks(device, &bench.peaks);
    tsr_status status = tsri_backend_reference_open(opened->set, &oracle);
    if (status == TSR_OK)
        status = tsri_base_new(1, sizeof *s, &s);
    for (size_t d = 0; d < opened->n_devices && status == TSR_OK; d++) {
        *s = (session){.set = opened->set,
                       .device = bench.device = opened->devices[d],
                       .oracle = oracle,
                       .variants = given.variants,
                       .result = result,
                       .data = data,
                       .summary = &counts};
        if (d)
            bench.peaks = (tsri_run_peaks){0}; /* those of the first device */
        status = each_op(s, &bench, &given);
    }
    free(s);
    tsri_backend_device_close(&oracle);
    tsri_base_give(&counts, sizeof counts, summary);
    return status;
}
