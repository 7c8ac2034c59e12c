/* task/results/compare.c - compares the same rows of two sides, and refuses what is not alike. */
#include "task/results/results.h"
#include "task/results/statistics.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* With fewer files on a side there are too few runs to compare, so the samples of rows are compared. */
enum { ENOUGH_FILES = 4 };

typedef struct side {
    const tsr_results *const *files;
    size_t n;
} side;

typedef struct comparison {
    side sides[2];
    tsr_compare_options options;
    double *values[2];
    size_t room[2];
    double logs; /* sum of the logarithms of ratios */
    size_t ratios;
    tsr_compare_summary summary;
} comparison;

/* ---- what must be alike ---- */

static tsr_status unlike(const tsr_results *a, const tsr_results *b, const char *what,
                         const char *of_a, const char *of_b, const char *todo) {
    return tsri_base_fail(TSR_E_ARGUMENT,
                          "%s and %s can't be compared: %s \"%.120s\" there, \"%.120s\" here: %s",
                          a->path, b->path, what, of_a ? of_a : "none", of_b ? of_b : "none", todo);
}

static bool same_member(const json_t *a, const json_t *b, const char *key) {
    return json_equal(json_object_get(a, key), json_object_get(b, key));
}

static bool same_device(const json_t *a, const json_t *b) {
    return same_member(a, b, "backend") && same_member(a, b, "platform") &&
           same_member(a, b, "name") && same_member(a, b, "threads");
}

/* Older files have the name alone, without the numbers behind it: "AMD EPYC" may be an
 * "AMD EPYC (family 26, model 2, stepping 1)". What a file doesn't say is not compared. */
static bool same_processor(const char *a, const char *b) {
    const size_t n = a ? strlen(a) : 0, m = b ? strlen(b) : 0, least = n < m ? n : m;
    if (!a || !b)
        return true;
    const char *more = n < m ? b + least : a + least;
    return !strncmp(a, b, least) && (!*more || !strncmp(more, " (", 2));
}

static tsr_status check_suites(const tsr_results *a, const tsr_results *b) {
    static const char todo[] = "measure both with the same tessera bench suite --class";
    char versions[2][24];
    const tsr_results *const both[] = {a, b};
    for (int i = 0; i < 2; i++)
        snprintf(versions[i], sizeof versions[i], "%" PRId64,
                 tsri_results_whole(both[i]->suite, "version"));
    if (!same_member(a->suite, b->suite, "name"))
        return unlike(a, b, "the set of rows is", tsri_results_text(a->suite, "name"),
                      tsri_results_text(b->suite, "name"), todo);
    if (!same_member(a->suite, b->suite, "version"))
        return unlike(a, b, "the suite's version is", versions[0], versions[1], todo);
    if (!same_member(a->suite, b->suite, "class"))
        return unlike(a, b, "the suite's class is", tsri_results_text(a->suite, "class"),
                      tsri_results_text(b->suite, "class"), todo);
    return TSR_OK;
}

static size_t count_measured(const tsr_results *t) {
    size_t n = 0;
    for (size_t d = 0; d < json_array_size(t->devices); d++)
        n += tsri_results_has_rows(t, d);
    return n;
}

static const json_t *first_measured(const tsr_results *t) {
    return t->n ? t->rows[0].device : json_array_get(t->devices, 0);
}

/* The same device by its name, which is not all that counts. */
static tsr_status unlike_device(const tsr_results *a, const tsr_results *b, const json_t *one,
                                const json_t *other) {
    static const char *const texts[] = {"backend", "platform"};
    char what[64], threads[2][24];
    const json_t *const both[] = {one, other};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        snprintf(what, sizeof what, "the device is the same, but its %s is", texts[i]);
        if (!same_member(one, other, texts[i]))
            return unlike(a, b, what, tsri_results_text(one, texts[i]),
                          tsri_results_text(other, texts[i]),
                          "give --across-devices to compare them");
    }
    for (int i = 0; i < 2; i++) {
        const int64_t limit = tsri_results_whole(both[i], "threads");
        snprintf(threads[i], sizeof threads[i], limit < 0 ? "all" : "%" PRId64, limit);
    }
    return unlike(a, b, "the device is the same, but the number of its threads is", threads[0],
                  threads[1], "measure both with the same -t");
}

static bool share_a_device(const tsr_results *a, const tsr_results *b) {
    const json_t *one, *other;
    size_t i, k;
    json_array_foreach(a->devices, i, one) {
        const char *processor = tsri_results_processor(a, one);
        json_array_foreach(b->devices, k, other) {
            if (same_device(one, other) &&
                same_processor(processor, tsri_results_processor(b, other)))
                return true;
        }
    }
    return false;
}

static tsr_status check_devices(const comparison *c, const tsr_results *a, const tsr_results *b) {
    const json_t *one, *other;
    if (c->options.across_devices) {
        const size_t n_a = count_measured(a), n_b = count_measured(b);
        if (n_a == 1 && n_b == 1)
            return TSR_OK;
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "across devices, files of one device each are compared: %s has %zu, "
                              "%s has %zu",
                              a->path, n_a, b->path, n_b);
    }
    if (share_a_device(a, b))
        return TSR_OK;
    one = first_measured(a);
    other = first_measured(b);
    if (same_device(one, other))
        return unlike(a, b, "the device has the same name, but its processor is",
                      tsri_results_processor(a, one), tsri_results_processor(b, other),
                      "give --across-devices to compare them");
    if (same_member(one, other, "name"))
        return unlike_device(a, b, one, other);
    return unlike(a, b, "the device is", tsri_results_text(one, "name"),
                  tsri_results_text(other, "name"), "give --across-devices to compare them");
}

/* ---- rows that are the same ---- */

static bool same_model(const tsri_results_row *a, const tsri_results_row *b) {
    return (a->model_hash && tsri_results_is(a->model_hash, b->model_hash)) ||
           tsri_results_is(a->model_name, b->model_name);
}

static bool same_test(const comparison *c, const tsri_results_row *a, const tsri_results_row *b) {
    return !strcmp(a->test, b->test) && a->batch == b->batch && a->tokens == b->tokens &&
           a->depth == b->depth && !strcmp(a->kind, b->kind) && !strcmp(a->unit, b->unit) &&
           tsri_results_is(a->scenario, b->scenario) && tsri_results_is(a->peer, b->peer) &&
           (c->options.across_devices ||
            (same_device(a->device, b->device) && same_processor(a->processor, b->processor)));
}

/* Starts in older files name no model. */
static bool is_unsaid(const tsri_results_row *a, const tsri_results_row *b) {
    return !strcmp(a->kind, "start") && (!a->model || !b->model);
}

static bool same_row(const comparison *c, const tsri_results_row *a, const tsri_results_row *b) {
    return same_test(c, a, b) &&
           (is_unsaid(a, b) || (tsri_results_is(a->class_name, b->class_name) && same_model(a, b)));
}

/* How many rows before `row` in its file are the same. */
static size_t turn_of(const comparison *c, const tsr_results *file, const tsri_results_row *row) {
    size_t before = 0;
    for (const tsri_results_row *r = file->rows; r < row; r++)
        before += same_row(c, r, row);
    return before;
}

/* The row of `file` that is the same as `row`, which is the turn-th of its kind; or NULL. */
static const tsri_results_row *find(const comparison *c, const tsr_results *file,
                                    const tsri_results_row *row, size_t turn) {
    for (size_t i = 0; i < file->n; i++)
        if (same_row(c, &file->rows[i], row) && turn-- == 0)
            return &file->rows[i];
    return NULL;
}

/* What must be the same of a model. Across devices, products are in what each device chose. */
static const struct {
    const char *key, *what, *todo;
    bool by_device;
} traits[] = {
    {"hash", "hash of the weights", "measure both with the same weights", false},
    {"kv_dtype", "dtype of keys and values", "measure both with the same --kv-dtype", false},
    {"compute", "dtype of products", "measure both with the same --compute", true}};

/* What a file doesn't say, as older ones don't, is not compared. */
static tsr_status check_model(const comparison *c, const tsr_results *a, const tsr_results *b,
                              const tsri_results_row *r, const tsri_results_row *s) {
    char what[TSRI_RESULTS_NAME + 40];
    for (size_t i = 0; i < sizeof traits / sizeof *traits; i++) {
        const char *one = tsri_results_text(r->model, traits[i].key),
                   *other = tsri_results_text(s->model, traits[i].key);
        if (!one || !other || !strcmp(one, other) ||
            (traits[i].by_device && c->options.across_devices))
            continue;
        snprintf(what, sizeof what, "of %.*s, %.*s, the %s is", tsri_results_cut(r->model_name, 60),
                 r->model_name, tsri_results_cut(r->test, 60), r->test, traits[i].what);
        return unlike(a, b, what, one, other, traits[i].todo);
    }
    return TSR_OK;
}

/* No row is on both sides: says what differs in the pair that is most alike. */
static tsr_status nothing_in_common(const comparison *c, const tsr_results *a,
                                    const tsr_results *b) {
    for (size_t i = 0; i < a->n; i++)
        for (size_t k = 0; k < b->n; k++) {
            const tsri_results_row *r = &a->rows[i], *s = &b->rows[k];
            if (!same_test(c, r, s) || same_row(c, r, s) || !r->model || !s->model)
                continue; /* the same row is another engine's here */
            if (!tsri_results_is(r->class_name, s->class_name))
                return unlike(a, b, "the class of the weights is", r->class_name, s->class_name,
                              "classes are never compared with each other");
            return unlike(a, b, "the model is", r->model_name, s->model_name,
                          "measure both with the same model");
        }
    const tsr_results *const stopped = tsri_results_is_partial(b)   ? b
                                       : tsri_results_is_partial(a) ? a
                                                                    : NULL;
    return tsri_base_fail(TSR_E_ARGUMENT,
                          "%s and %s can't be compared: no row is in both, but for peaks and other "
                          "engines' rows: measure the same rows%s%s%s",
                          a->path, b->path, stopped ? "; the run of " : "",
                          stopped ? stopped->path : "",
                          stopped ? " was stopped before its end (partial)" : "");
}

/* What Tessera itself did: neither a peak, which is the device's, nor a row of another engine. */
static bool is_own(const tsri_results_row *row) {
    return strcmp(row->kind, "peak") != 0 && !row->peer;
}

/* Whether a file of either side has such a row: which side it is must not matter. */
static bool has_own(const comparison *c) {
    for (int s = 0; s < 2; s++)
        for (size_t f = 0; f < c->sides[s].n; f++)
            for (size_t i = 0; i < c->sides[s].files[f]->n; i++)
                if (is_own(&c->sides[s].files[f]->rows[i]))
                    return true;
    return false;
}

static tsr_status check_alike(const comparison *c) {
    const tsr_results *first = c->sides[0].files[0];
    const bool own = has_own(c);
    size_t common = 0;
    for (int s = 0; s < 2; s++)
        for (size_t f = 0; f < c->sides[s].n; f++) {
            const tsr_results *file = c->sides[s].files[f];
            TRY(check_suites(first, file));
            TRY(check_devices(c, first, file));
            for (size_t i = 0; i < first->n; i++) {
                const tsri_results_row *other = find(c, file, &first->rows[i], 0);
                if (other)
                    TRY(check_model(c, first, file, &first->rows[i], other));
                common += s && other && (!own || is_own(other));
            }
        }
    return common ? TSR_OK : nothing_in_common(c, first, c->sides[1].files[0]);
}

/* ---- a row's values ---- */

typedef struct found {
    size_t n;           /* values */
    size_t rows, rates; /* rows in the side's files, and those with a rate */
    bool throttled;
    bool stopped; /* a file is of a run that was stopped before its end */
    double median;
    const tsri_results_row *row; /* one of them; NULL: none */
    const char *why;             /* of one without a rate */
} found;

static tsr_status gather(comparison *c, int s, const tsri_results_row *row, size_t turn,
                         bool by_runs, found *out) {
    const side *files = &c->sides[s];
    *out = (found){.median = NAN, .why = ""};
    for (size_t f = 0; f < files->n; f++) {
        const tsri_results_row *r = find(c, files->files[f], row, turn);
        out->stopped |= tsri_results_is_partial(files->files[f]);
        if (!r)
            continue;
        out->rows++;
        out->row = out->row && out->row->n ? out->row : r;
        if (!r->n || !(r->lowest > 0)) {
            out->why = *r->reason ? r->reason : r->status;
            continue;
        }
        const size_t more = by_runs ? 1 : r->n;
        TRY(tsri_base_grow(&c->values[s], &c->room[s], out->n + more, sizeof **c->values));
        memcpy(c->values[s] + out->n, by_runs ? &r->median : r->samples, more * sizeof(double));
        out->n += more;
        out->rates++;
        out->throttled |= !strcmp(r->status, "throttled");
    }
    if (out->n) {
        double *copy = NULL;
        TRY(tsri_base_new(out->n, sizeof *copy, &copy));
        memcpy(copy, c->values[s], out->n * sizeof *copy);
        out->median = tsri_results_median(copy, out->n);
        free(copy);
    }
    return TSR_OK;
}

static uint32_t judge(const comparison *c, const tsr_compared *row) {
    const double alpha = 1 - c->options.confidence;
    const bool shown = row->p <= alpha + 1e-12 && (row->high < 1 || row->low > 1) &&
                       (row->by_runs || !row->throttled);
    if (shown && row->ratio < 1 - c->options.fail_above)
        return TSR_VERDICT_SLOWER;
    return shown && row->ratio > 1 + c->options.fail_above ? TSR_VERDICT_FASTER : TSR_VERDICT_SAME;
}

static void count(comparison *c, const tsr_compared *row) {
    tsr_compare_summary *s = &c->summary;
    uint32_t *const counts[] = {&s->same,   &s->faster,       &s->regressions, &s->regressions,
                                &s->gained, &s->without_rate, &s->only_before, &s->only_after};
    s->rows++;
    if (row->peak || row->peer)
        return;
    ++*counts[row->verdict];
    if (isfinite(row->ratio)) {
        c->logs += log(row->ratio);
        c->ratios++;
    }
}

static tsr_status compare_found(comparison *c, const found *a, const found *b, tsr_compared *row) {
    tsri_results_shift shift = {.ratio = NAN, .low = NAN, .high = NAN, .p = NAN};
    const bool lower = (a->row ? a->row : b->row)->lower;
    row->before = a->median;
    row->after = b->median;
    row->n_before = (uint32_t)a->n;
    row->n_after = (uint32_t)b->n;
    row->throttled = a->throttled || b->throttled;
    const bool cut = a->rates && !b->rows && b->stopped;
    row->why = cut ? "the run was stopped before this row" : *b->why ? b->why : a->why;
    if (a->n && b->n)
        TRY(tsri_results_compare_values(c->values[lower], lower ? b->n : a->n, c->values[!lower],
                                        lower ? a->n : b->n, c->options.confidence, &shift));
    row->ratio = shift.ratio;
    row->low = shift.low;
    row->high = shift.high;
    row->p = shift.p;
    row->verdict = !a->rows                         ? TSR_VERDICT_ONLY_AFTER
                   : cut                            ? TSR_VERDICT_LOST
                   : !b->rows                       ? TSR_VERDICT_ONLY_BEFORE
                   : a->rates && b->rates < b->rows ? TSR_VERDICT_LOST
                   : !a->rates && b->rates          ? TSR_VERDICT_GAINED
                   : !a->rates                      ? TSR_VERDICT_NO_RATE
                                                    : judge(c, row);
    return TSR_OK;
}

static tsr_status compare_row(comparison *c, const tsri_results_row *r, size_t turn,
                              int (*visit)(void *, const tsr_compared *), void *data) {
    const bool by_runs = c->sides[0].n >= ENOUGH_FILES && c->sides[1].n >= ENOUGH_FILES;
    found both[2];
    tsr_compared row = {.struct_size = sizeof row,
                        .device = tsri_results_text(r->device, "name"),
                        .model = r->model_name,
                        .test = r->test,
                        .class_name = r->class_name,
                        .peer = r->peer,
                        .unit = r->unit,
                        .batch = r->batch > 0 ? r->batch : 0,
                        .by_runs = by_runs,
                        .peak = !strcmp(r->kind, "peak")};
    for (int s = 0; s < 2; s++)
        TRY(gather(c, s, r, turn, by_runs, &both[s]));
    TRY(compare_found(c, &both[0], &both[1], &row));
    count(c, &row);
    return visit && visit(data, &row) ? tsri_base_fail(TSR_E_CANCELLED, "the visitor stopped")
                                      : TSR_OK;
}

static tsr_status compare_all(comparison *c, int (*visit)(void *, const tsr_compared *),
                              void *data) {
    const tsr_results *first = c->sides[0].files[0], *other = c->sides[1].files[0];
    for (size_t i = 0; i < first->n; i++)
        TRY(compare_row(c, &first->rows[i], turn_of(c, first, &first->rows[i]), visit, data));
    for (size_t i = 0; i < other->n; i++) {
        const size_t turn = turn_of(c, other, &other->rows[i]);
        if (!find(c, first, &other->rows[i], turn))
            TRY(compare_row(c, &other->rows[i], turn, visit, data));
    }
    return TSR_OK;
}

tsr_status tsr_results_compare(const tsr_results *const *before, size_t n_before,
                               const tsr_results *const *after, size_t n_after,
                               const tsr_compare_options *options,
                               int (*visit)(void *data, const tsr_compared *row), void *data,
                               tsr_compare_summary *summary) {
    comparison c = {.sides = {{before, n_before}, {after, n_after}}};
    TRY(NEED(before));
    TRY(NEED(after));
    if (!n_before || !n_after)
        return tsri_base_fail(TSR_E_ARGUMENT, "a comparison needs a file of results on each side");
    TRY(tsri_base_adopt("tsr_compare_options", options, &c.options, sizeof c.options));
    TRY(tsri_base_check_out("tsr_compare_summary", summary));
    c.options.fail_above = c.options.fail_above == 0 ? 0.03 : c.options.fail_above;
    c.options.confidence = c.options.confidence == 0 ? 0.95 : c.options.confidence;
    if (!(c.options.confidence >= 0.5 && c.options.confidence <= 0.9999) ||
        !(c.options.fail_above > 0 && c.options.fail_above < 1))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "confidence %g and fail_above %g: give 0.5 to 0.9999, and a share "
                              "between 0 and 1",
                              c.options.confidence, c.options.fail_above);
    for (int s = 0; s < 2; s++)
        for (size_t f = 0; f < c.sides[s].n; f++)
            *(s ? &c.summary.partial_after : &c.summary.partial_before) +=
                tsri_results_is_partial(c.sides[s].files[f]);
    tsr_status status = check_alike(&c);
    if (status == TSR_OK)
        status = compare_all(&c, visit, data);
    free(c.values[0]);
    free(c.values[1]);
    c.summary.ratio = c.ratios ? exp(c.logs / (double)c.ratios) : (double)NAN;
    if (status == TSR_OK)
        tsri_base_give(&c.summary, sizeof c.summary, summary);
    return status;
}
