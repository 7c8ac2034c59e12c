/* task/results/results.c - reads a file of results, and refuses one that was changed or was not
 * written by tessera bench. */
#include "task/results/results.h"

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/structs.h"
#include "base/system/paths.h"
#include "task/results/schema.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 64 << 20, DEPTH = 12, HEX = 64, OLD_REQUESTS = 16 };

bool tsri_results_is(const char *text, const char *other) {
    return text && other ? !strcmp(text, other) : text == other;
}

const char *tsri_results_text(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

double tsri_results_number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

int64_t tsri_results_whole(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : -1;
}

/* ---- the hash ---- */

/* Where the line of the hash begins; NULL: there is none. */
static const char *find_hash(const tsri_bytes *text) {
    static const char mark[] = "\n \"hash\":";
    const char *found = NULL;
    for (const char *at = text->data; at && (at = strstr(at, mark)) != NULL; at++)
        found = at + 1;
    return found;
}

static bool is_end(const char *text) {
    text += strspn(text, " \t\r\n");
    if (*text++ != '}')
        return false;
    return !text[strspn(text, " \t\r\n")];
}

static tsr_status check_hash(const tsri_bytes *text, const char *path) {
    const char *line = find_hash(text), *value = line ? strchr(line + 8, '"') : NULL;
    char hex[HEX + 1];
    if (!value || strlen(value) < HEX + 2 || value[HEX + 1] != '"' || !is_end(value + HEX + 2))
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: its last line is not the hash that tessera bench writes: the "
                              "file is damaged or was changed; measure again",
                              path);
    TRY(tsri_base_hash_bytes(text->data, (size_t)(line - text->data), hex));
    if (strncmp(hex, value + 1, HEX) != 0)
        return tsri_base_fail(
            TSR_E_FORMAT,
            "%s: its hash is not that of its contents: the file was changed after "
            "tessera bench wrote it; measure again",
            path);
    return TSR_OK;
}

/* ---- rows ---- */

static bool is_within(double value, double lowest, double highest) {
    return value >= lowest && value <= highest;
}

/* Older files don't say of which pass a sample is. */
static bool has_passes(const tsri_results_row *r) {
    const json_t *passes = json_object_get(r->json, "passes"), *of;
    json_int_t all = 0;
    size_t i;
    json_array_foreach(passes, i, of) all += json_integer_value(of);
    return !passes || all == (json_int_t)r->n;
}

/* A row has a rate or none; what the file says of the samples must hold for them. */
static tsr_status check_row(const tsri_results_row *r, const char *path, size_t i) {
    double lowest = INFINITY, highest = 0;
    for (size_t s = 0; s < r->n; s++) {
        lowest = fmin(lowest, r->samples[s]);
        highest = fmax(highest, r->samples[s]);
    }
    const bool rate = !strcmp(r->status, "ok") || !strcmp(r->status, "throttled");
    if (rate != (r->n > 0) || !has_passes(r) || (r->n > 0) == isnan(r->median) ||
        (r->n && !(r->lowest == lowest && r->highest == highest &&
                   is_within(r->median, lowest, highest) && is_within(r->p90, lowest, highest) &&
                   /* files of older suites have none */
                   (isnan(r->p99) || is_within(r->p99, lowest, highest)))))
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: rows[%zu] (%s, %s) has figures that are not those of its %zu "
                              "samples: the file was not written by tessera bench",
                              path, i, r->test, r->status, r->n);
    return TSR_OK;
}

static tsr_status find_parts(const tsr_results *t, size_t i, tsri_results_row *r) {
    const json_t *model = json_object_get(r->json, "model");
    r->device_index = (size_t)json_integer_value(json_object_get(r->json, "device"));
    r->device = json_array_get(t->devices, r->device_index);
    r->model =
        json_is_null(model) ? NULL : json_array_get(t->models, (size_t)json_integer_value(model));
    if (!r->device || (!r->model && !json_is_null(model)))
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: rows[%zu] (%s) names a %s that the file does not have", t->path,
                              i, r->test, r->device ? "model" : "device");
    r->processor = tsri_results_processor(t, r->device);
    r->model_name = tsri_results_text(r->model, "name");
    r->model_hash = tsri_results_text(r->model, "hash");
    return TSR_OK;
}

/* Reads row i; its samples are written to `samples`. */
static tsr_status read_row(const tsr_results *t, size_t i, double *samples) {
    tsri_results_row *r = &t->rows[i];
    const json_t *json = json_array_get(json_object_get(t->root, "rows"), i), *list;
    const struct {
        const char *key, **out;
    } texts[] = {{"test", &r->test},         {"kind", &r->kind}, {"class", &r->class_name},
                 {"scenario", &r->scenario}, {"peer", &r->peer}, {"status", &r->status},
                 {"reason", &r->reason},     {"unit", &r->unit}, {"bound_by", &r->bound_by}};
    const struct {
        const char *key;
        double *out;
    } numbers[] = {{"median", &r->median},   {"lowest", &r->lowest},
                   {"highest", &r->highest}, {"p90", &r->p90},
                   {"p99", &r->p99},         {"roofline", &r->roofline},
                   {"flops", &r->flops},     {"predicted", &r->predicted},
                   {"bytes", &r->bytes}};
    r->json = json;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        *texts[k].out = tsri_results_text(json, texts[k].key);
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        *numbers[k].out = tsri_results_number(json, numbers[k].key);
    r->tokens = tsri_results_whole(json, "tokens");
    r->depth = tsri_results_whole(json, "depth");
    r->batch = tsri_results_whole(json, "batch");
    r->requests = tsri_results_whole(json, "requests");
    if (r->requests < 0 && !strcmp(r->kind, "serve")) /* older files don't say it */
        r->requests = OLD_REQUESTS;
    r->noisy = json_is_true(json_object_get(json, "noisy"));
    r->lower = !strcmp(tsri_results_text(json, "better"), "lower");
    list = json_object_get(json, "samples");
    r->samples = samples;
    r->n = json_array_size(list);
    for (size_t s = 0; s < r->n; s++)
        samples[s] = json_number_value(json_array_get(list, s));
    TRY(find_parts(t, i, r));
    return check_row(r, t->path, i);
}

static tsr_status read_rows(tsr_results *t) {
    const json_t *rows = json_object_get(t->root, "rows"), *row;
    size_t i, all = 0, at = 0;
    t->n = json_array_size(rows);
    json_array_foreach(rows, i, row) all += json_array_size(json_object_get(row, "samples"));
    TRY(tsri_base_new(t->n, sizeof *t->rows, &t->rows));
    TRY(tsri_base_new(all, sizeof *t->samples, &t->samples));
    for (i = 0; i < t->n; i++) {
        TRY(read_row(t, i, t->samples + at));
        at += t->rows[i].n;
    }
    return TSR_OK;
}

const char *tsri_results_processor(const tsr_results *t, const json_t *device) {
    const bool is = tsri_results_is(tsri_results_text(device, "type"), "cpu") ||
                    tsri_results_is(tsri_results_text(device, "backend"), "reference");
    return is ? tsri_results_text(t->host, "cpu") : NULL;
}

bool tsri_results_has_rows(const tsr_results *results, size_t device) {
    for (size_t i = 0; i < results->n; i++)
        if (results->rows[i].device_index == device)
            return true;
    return false;
}

bool tsri_results_is_partial(const tsr_results *t) {
    return json_is_true(json_object_get(t->suite, "partial"));
}

const char *tsri_results_unmeasured(const tsr_results *t, const json_t *device) {
    return tsri_results_is_partial(t) && json_is_true(json_object_get(device, "usable"))
               ? "the run ended before its first row"
               : tsri_results_text(device, "reason");
}

double tsri_results_seconds(const tsri_results_row *r, double value) {
    const double sequences = r->batch > 0 ? (double)r->batch : 1,
                 texts = r->requests > 0 ? (double)r->requests : sequences;
    const bool whole = !strcmp(r->unit, "sentences/s") || !strcmp(r->unit, "sequences/s");
    const double work = !strcmp(r->unit, "tokens/s")
                            ? texts * (double)(r->tokens > 0 ? r->tokens : 1)
                        : !strcmp(r->unit, "FLOP/s") ? r->flops
                        : !strcmp(r->unit, "B/s")    ? r->bytes
                        : whole                      ? sequences
                                                     : 0;
    if (!strcmp(r->unit, "s"))
        return value;
    return value > 0 && work > 0 ? work / value : 0; /* work: NaN where it is not known */
}

/* ---- the file ---- */

static tsr_status check_version(const json_t *root, const char *path) {
    const json_t *schema = json_object_get(root, "schema");
    if (!json_is_integer(schema) || json_integer_value(schema) == 2)
        return TSR_OK; /* what else is wrong, the schema says */
    return tsri_base_fail(TSR_E_FORMAT,
                          "%s: schema %lld, but this tessera reads schema 2: measure again", path,
                          (long long)json_integer_value(schema));
}

static tsr_status read_text(tsr_results *t, const tsri_bytes *text) {
    TRY(tsri_base_json_parse(text->data ? text->data : "", text->size, DEPTH, t->path, &t->root));
    TRY(check_version(t->root, t->path));
    TRY(tsri_results_check(t->root, t->path));
    TRY(check_hash(text, t->path));
    t->suite = json_object_get(t->root, "suite");
    t->engine = json_object_get(t->root, "engine");
    t->host = json_object_get(t->root, "host");
    t->devices = json_object_get(t->root, "devices");
    t->models = json_object_get(t->root, "models");
    return read_rows(t);
}

static tsr_status open_file(tsr_results *t, const char *path) {
    const char *slash = tsri_system_last_slash(path);
    tsri_bytes text = {0};
    t->path = tsri_base_copy_text(path, strlen(path));
    path = slash && slash[1] ? slash + 1 : path;
    t->name = t->path ? tsri_base_copy_text(path, strlen(path)) : NULL;
    if (!t->name)
        return TSR_E_HOST_MEMORY;
    t->name[tsri_base_plain(t->name, strlen(t->name))] = 0;
    TRY(tsri_base_read_whole(t->path, MOST_BYTES, &text));
    const tsr_status status = read_text(t, &text);
    tsri_base_bytes_clear(&text);
    return status;
}

tsr_status tsr_results_open(const char *path, tsr_results **out) {
    TRY(NEED(out));
    *out = NULL;
    TRY(NEED(path));
    tsr_results *t = NULL;
    TRY(tsri_base_new(1, sizeof *t, &t));
    const tsr_status status = open_file(t, path);
    if (status != TSR_OK)
        tsr_results_close(&t);
    *out = t;
    return status;
}

void tsr_results_close(tsr_results **results) {
    tsr_results *t = results ? *results : NULL;
    if (!t)
        return;
    json_decref(t->root);
    free(t->rows);
    free(t->samples);
    free(t->path);
    free(t->name);
    free(t);
    *results = NULL;
}
