/* task/bench/file.c - the results of a run as JSON (docs/benchmark-schema.json), with the identity
 * of the machine and a hash of all of it. */
#include "tessera/bench.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/structs.h"
#include "task/bench/host.h"
#include "text/base/unicode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SCHEMA = 2, DIGITS = 10, MOST_MODELS = 64 };
enum { ROWS_VERSION = 1 }; /* of rows that a user chose */

struct tsr_bench_file {
    tsr_bench_file_options options;
    json_t *suite, *engine, *host, *devices, *models, *rows;
    size_t finished; /* rows; those after them are unfinished */
    tsri_task_reading begun;
    struct timespec clock;
};

/* ---- values ---- */

/* A byte that is not UTF-8, as paths and drivers may have, becomes U+FFFD. */
static json_t *text_json(const char *text) {
    tsri_bytes valid = {0};
    json_t *value = NULL;
    if (tsri_text_utf8_repair(text, strlen(text), &valid) == TSR_OK)
        value = json_stringn(valid.size ? valid.data : "", valid.size);
    tsri_base_bytes_clear(&valid);
    return value;
}

static json_t *text_or_null(const char *text) {
    return text && *text ? text_json(text) : json_null();
}

static json_t *text_or_empty(const char *text) {
    return text_json(text ? text : "");
}

static json_t *number(bool known, double value) {
    return known && isfinite(value) ? json_real(value) : json_null();
}

static json_t *positive(double value) {
    return number(value > 0, value);
}

static json_t *whole(bool known, uint64_t value) {
    return known ? json_integer((json_int_t)value) : json_null();
}

static json_t *pair(double before, double after) {
    json_t *both = json_array();
    tsri_base_json_append(both, number(true, before));
    tsri_base_json_append(both, number(true, after));
    return both;
}

static json_t *name_of(const char *const *names, size_t n, uint32_t i) {
    return i < n && names[i] ? json_string(names[i]) : json_null();
}
#define NAME(names, i) name_of(names, sizeof(names) / sizeof *(names), i)

/* Gives one part to the caller who wants lines; what is wrong is told by tsr_bench_file_text. */
static void tell(const tsr_bench_file *file, const char *name, json_t *part) {
    json_t *line = file->options.line ? json_object() : NULL;
    char *text = NULL;
    if (!line)
        return;
    tsri_base_json_put(line, name, json_incref(part));
    text = tsri_base_json_print(line, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
    if (text)
        file->options.line(file->options.line_data, text);
    free(text);
    json_decref(line);
}

/* ---- the head ---- */

static json_t *suite_json(const tsr_bench_file *file) {
    char now[32];
    struct tm utc;
    const time_t seconds = time(NULL);
    gmtime_r(&seconds, &utc);
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", &utc);
    json_t *suite = json_object();
    tsri_base_json_put(suite, "name",
                       json_string(file->options.name ? file->options.name : "bench"));
    tsri_base_json_put(suite, "version", json_integer(file->options.version));
    tsri_base_json_put(suite, "class", text_or_null(file->options.class_name));
    tsri_base_json_put(suite, "began", json_string(now));
    tsri_base_json_put(suite, "seconds", json_null());
    tsri_base_json_put(suite, "partial", json_true());
    return suite;
}

static json_t *engine_json(const tsr_bench_file_options *o) {
    json_t *engine = json_object();
    tsri_base_json_put(engine, "name", json_string("tessera"));
    tsri_base_json_put(engine, "version", json_string(TESSERA_VERSION));
    tsri_base_json_put(engine, "commit", text_or_null(o->commit));
    tsri_base_json_put(engine, "compiler", text_or_null(o->compiler));
    tsri_base_json_put(engine, "flags", text_or_null(o->flags));
    tsri_base_json_put(engine, "build_type", text_or_null(o->build_type));
    return engine;
}

static json_t *host_json(const tsri_task_reading *begun) {
    tsri_task_host h;
    tsri_task_read_host("", &h);
    json_t *host = json_object();
    tsri_base_json_put(host, "os", text_or_null(h.os));
    tsri_base_json_put(host, "kernel", text_or_null(h.kernel));
    tsri_base_json_put(host, "cpu", text_or_null(h.cpu));
    tsri_base_json_put(host, "cores", whole(h.cores > 0, h.cores));
    tsri_base_json_put(host, "memory", whole(h.memory > 0, h.memory));
    tsri_base_json_put(host, "governor", text_or_null(h.governor));
    tsri_base_json_put(host, "load", pair(begun->load_minute, NAN));
    tsri_base_json_put(host, "steal", json_null());
    return host;
}

static tsr_status check_names(const tsr_bench_file_options *o) {
    static const char *const classes[] = {"smoke", "laptop", "full"};
    bool known = !o->class_name;
    for (size_t i = 0; i < 3 && !known; i++)
        known = !strcmp(o->class_name, classes[i]);
    if (o->name && strcmp(o->name, "bench") != 0 && strcmp(o->name, "suite") != 0)
        return tsri_base_fail(TSR_E_ARGUMENT, "the name \"%s\" of results: give bench or suite",
                              o->name);
    return known ? TSR_OK
                 : tsri_base_fail(TSR_E_ARGUMENT, "the class \"%s\": give smoke, laptop or full",
                                  o->class_name);
}

tsr_status tsr_bench_file_create(const tsr_bench_file_options *options, tsr_bench_file **out) {
    tsr_bench_file *f = NULL;
    TRY(NEED(out));
    *out = NULL;
    TRY(tsri_base_new(1, sizeof *f, &f));
    tsr_status status =
        tsri_base_adopt("tsr_bench_file_options", options, &f->options, sizeof f->options);
    if (status == TSR_OK)
        status = check_names(&f->options);
    if (status != TSR_OK) {
        free(f);
        return status;
    }
    if (!f->options.version)
        f->options.version = f->options.name && !strcmp(f->options.name, "suite")
                                 ? TSR_BENCH_SUITE_VERSION
                                 : ROWS_VERSION;
    clock_gettime(CLOCK_MONOTONIC, &f->clock);
    f->begun = tsri_task_read_conditions("", true, 0);
    f->suite = suite_json(f);
    f->engine = engine_json(&f->options);
    f->host = host_json(&f->begun);
    f->devices = json_array();
    f->models = json_array();
    f->rows = json_array();
    json_t *schema = json_integer(SCHEMA);
    tell(f, "schema", schema);
    json_decref(schema);
    tell(f, "suite", f->suite);
    tell(f, "engine", f->engine);
    tell(f, "host", f->host);
    f->options.commit = f->options.compiler = f->options.flags = f->options.build_type = NULL;
    f->options.name = f->options.class_name = NULL;
    *out = f;
    return TSR_OK;
}

void tsr_bench_file_destroy(tsr_bench_file **file) {
    tsr_bench_file *f = file ? *file : NULL;
    if (!f)
        return;
    json_t *const all[] = {f->suite, f->engine, f->host, f->devices, f->models, f->rows};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        json_decref(all[i]);
    free(f);
    *file = NULL;
}

tsr_status tsr_bench_file_device(tsr_bench_file *file, const tsr_device_info *device,
                                 uint32_t threads) {
    static const char *const types[] = {[TSR_DEVICE_CPU] = "cpu",
                                        [TSR_DEVICE_GPU] = "gpu",
                                        [TSR_DEVICE_ACCELERATOR] = "accelerator"};
    tsr_device_info known;
    TRY(NEED(file));
    TRY(NEED(device));
    TRY(tsri_base_adopt("tsr_device_info", device, &known, sizeof known));
    const tsr_facts *f = &known.facts;
    json_t *const type = NAME(types, f->type);
    json_t *d = json_object();
    tsri_base_json_put(d, "backend", text_or_empty(known.backend));
    tsri_base_json_put(d, "platform", text_or_empty(f->platform));
    tsri_base_json_put(d, "name", text_or_empty(f->name));
    tsri_base_json_put(d, "vendor", text_or_empty(f->vendor));
    tsri_base_json_put(d, "driver", text_or_empty(f->driver));
    tsri_base_json_put(d, "version", text_or_empty(f->version));
    tsri_base_json_put(d, "type", json_is_null(type) ? json_string("other") : type);
    tsri_base_json_put(d, "compute_units", json_integer(f->compute_units));
    tsri_base_json_put(d, "clock", positive(f->clock_mhz * 1e6));
    tsri_base_json_put(d, "memory", whole(f->memory > 0, f->memory));
    tsri_base_json_put(d, "threads", whole(threads > 0, threads));
    tsri_base_json_put(d, "usable", json_boolean(f->usable));
    tsri_base_json_put(d, "reason", text_or_empty(f->reason));
    tell(file, "device", d);
    tsri_base_json_append(file->devices, d);
    return TSR_OK;
}

/* ---- rows ---- */

static json_t *model_json(const tsr_bench_model *m) {
    json_t *model = json_object();
    tsri_base_json_put(model, "name", text_or_empty(m->name));
    tsri_base_json_put(model, "dtype", text_or_null(m->dtype));
    tsri_base_json_put(model, "hash", text_or_null(m->hash));
    tsri_base_json_put(model, "parameters", whole(m->parameters > 0, (uint64_t)m->parameters));
    tsri_base_json_put(model, "bytes", whole(m->bytes > 0, m->bytes));
    tsri_base_json_put(model, "kv_dtype", text_or_null(m->kv_dtype));
    tsri_base_json_put(model, "compute", text_or_null(m->compute));
    return model;
}

/* The model's index in the list of models; it is added where it is new. */
static json_t *model_index(tsr_bench_file *file, const tsr_bench_model *m) {
    if (!m)
        return json_null();
    json_t *model = model_json(m);
    const size_t n = json_array_size(file->models);
    size_t at = 0;
    while (at < n && !json_equal(json_array_get(file->models, at), model))
        at++;
    if (at == n) {
        tell(file, "model", model);
        tsri_base_json_append(file->models, json_incref(model));
    }
    json_decref(model);
    return json_integer((json_int_t)at);
}

static json_t *gate_json(const tsr_bench_row *r) {
    if (r->bound <= 0)
        return json_null();
    json_t *gate = json_object();
    /* JSON has no infinity: where logits are not numbers, the error is null. */
    tsri_base_json_put(gate, "error", number(r->error < 1e300, r->error));
    tsri_base_json_put(gate, "bound", json_real(r->bound));
    return gate;
}

static json_t *quality_json(const tsr_bench_quality *q) {
    static const char *const measures[] = {"perplexity", "cosine", "bleu"};
    if (!q)
        return json_null();
    json_t *quality = json_object();
    tsri_base_json_put(quality, "measure", NAME(measures, q->measure));
    tsri_base_json_put(quality, "value", number(q->value >= 0, q->value));
    tsri_base_json_put(quality, "f32", number(q->f32 >= 0, q->f32));
    tsri_base_json_put(quality, "kept", number(q->kept >= 0, q->kept));
    tsri_base_json_put(quality, "least", number(true, q->least));
    return quality;
}

static json_t *peaks_json(const tsr_bench_row *r) {
    static const char *const when[] = {"before", "after"};
    if (r->peak_fma[0] <= 0 && r->peak_read[0] <= 0)
        return json_null();
    json_t *peaks = json_object();
    for (int i = 0; i < 2; i++) {
        json_t *one = json_object();
        tsri_base_json_put(one, "fma_f32", positive(r->peak_fma[i]));
        tsri_base_json_put(one, "read", positive(r->peak_read[i]));
        tsri_base_json_put(peaks, when[i], one);
    }
    return peaks;
}

static json_t *conditions_json(const tsr_bench_conditions *c) {
    if (!c)
        return json_null();
    json_t *conditions = json_object();
    tsri_base_json_put(conditions, "clock", pair(c->clock[0], c->clock[1]));
    tsri_base_json_put(conditions, "temperature", pair(c->temperature[0], c->temperature[1]));
    tsri_base_json_put(conditions, "load", pair(c->load[0], c->load[1]));
    tsri_base_json_put(conditions, "steal", number(true, c->steal));
    tsri_base_json_put(conditions, "energy", number(true, c->energy));
    return conditions;
}

static json_t *memory_json(const tsr_bench_row *r) {
    if (!r->host_bytes && !r->device_bytes)
        return json_null();
    json_t *memory = json_object();
    tsri_base_json_put(memory, "host", whole(r->host_bytes > 0, r->host_bytes));
    tsri_base_json_put(memory, "device", whole(r->device_bytes > 0, r->device_bytes));
    return memory;
}

static json_t *kernels_json(const tsr_bench_row *r) {
    json_t *kernels = json_array();
    for (uint32_t i = 0; i < r->n_kernels; i++) {
        json_t *kernel = json_object();
        tsri_base_json_put(kernel, "op", text_or_empty(r->kernels[i].op));
        tsri_base_json_put(kernel, "variant", text_or_empty(r->kernels[i].variant));
        tsri_base_json_put(kernel, "tuning", text_or_empty(r->kernels[i].tuning));
        tsri_base_json_append(kernels, kernel);
    }
    return kernels;
}

static json_t *samples_json(const tsr_bench_row *r) {
    json_t *samples = json_array();
    for (uint32_t i = 0; i < r->n_samples; i++)
        tsri_base_json_append(samples, json_real(r->samples[i]));
    return samples;
}

/* How many samples are of each pass. */
static json_t *passes_json(const tsr_bench_row *r) {
    json_t *passes = json_array();
    if (r->first_pass)
        tsri_base_json_append(passes, json_integer(r->first_pass));
    if (r->n_samples)
        tsri_base_json_append(passes, json_integer(r->n_samples - r->first_pass));
    return passes;
}

static void put_figures(const tsr_bench_row *r, json_t *row) {
    const bool rate = r->n_samples > 0;
    tsri_base_json_put(row, "samples", samples_json(r));
    tsri_base_json_put(row, "passes", passes_json(r));
    tsri_base_json_put(row, "median", number(rate, r->median));
    tsri_base_json_put(row, "lowest", number(rate, r->lowest));
    tsri_base_json_put(row, "highest", number(rate, r->highest));
    tsri_base_json_put(row, "p90", number(rate, r->p90));
    tsri_base_json_put(row, "p99", number(rate && r->p99 > 0, r->p99));
    tsri_base_json_put(row, "outliers", json_integer(r->outliers));
    tsri_base_json_put(row, "warmup", json_integer(r->warmup));
}

/* What the prediction is made of; JSON's null where there is none. */
static json_t *predicted_json(const tsr_bench_row *r) {
    if (r->predicted <= 0)
        return json_null();
    json_t *parts = json_object();
    for (uint32_t i = TSR_BENCH_BOUND_MEMORY; i <= TSR_BENCH_BOUND_LAUNCHES; i++)
        tsri_base_json_put(parts, tsr_bench_bound_name(i), json_real(r->predicted_seconds[i]));
    return parts;
}

static void put_work(const tsr_bench_row *r, json_t *row) {
    tsri_base_json_put(row, "tokens", whole(r->tokens > 0, (uint64_t)r->tokens));
    tsri_base_json_put(row, "depth", whole(r->batch > 0, (uint64_t)r->depth));
    tsri_base_json_put(row, "batch", whole(r->batch > 0, (uint64_t)r->batch));
    tsri_base_json_put(row, "requests", whole(r->requests > 0, (uint64_t)r->requests));
    tsri_base_json_put(row, "first_token", positive(r->first_token));
    tsri_base_json_put(row, "per_token", positive(r->per_token));
    tsri_base_json_put(row, "flops", positive(r->flops));
    tsri_base_json_put(row, "bytes", positive(r->bytes));
    tsri_base_json_put(row, "roofline", positive(r->roofline));
    tsri_base_json_put(row, "bound_by", text_or_null(tsr_bench_bound_name(r->bound_by)));
    tsri_base_json_put(row, "predicted", positive(r->predicted));
    tsri_base_json_put(row, "predicted_seconds", predicted_json(r));
    tsri_base_json_put(row, "launches", whole(r->launches > 0, r->launches));
}

static const char *class_of(const tsr_bench_row *r) {
    static const char *const classes[] = {"f32", "f16", "bf16", "q8", "q4"};
    const char *name = r->storage ? r->storage : r->model ? r->model->kept : NULL;
    for (size_t i = 0; i < sizeof classes / sizeof *classes && name; i++)
        if (!strcmp(name, classes[i]))
            return classes[i];
    return NULL;
}

const char *tsr_bench_status_name(uint32_t status) {
    static const char *const names[] = {"ok", "unsupported", "failed-accuracy", "error",
                                        "throttled"};
    return status < sizeof names / sizeof *names ? names[status] : "";
}

const char *tsr_bench_bound_name(uint32_t bound) {
    static const char *const names[] = {"", "memory", "arithmetic", "launches"};
    return bound < sizeof names / sizeof *names ? names[bound] : "";
}

const char *tsr_bench_kind_name(uint32_t kind) {
    static const char *const names[] = {"peak",  "prompt",    "generate", "train", "op",
                                        "embed", "translate", "start",    "serve"};
    return kind < sizeof names / sizeof *names ? names[kind] : "";
}

static json_t *row_json(tsr_bench_file *file, const tsr_bench_row *r) {
    static const char *const scenarios[] = {NULL, "single-stream", "offline", "server"};
    json_t *row = json_object();
    tsri_base_json_put(row, "device", json_integer((json_int_t)json_array_size(file->devices) - 1));
    tsri_base_json_put(row, "model", model_index(file, r->model));
    tsri_base_json_put(row, "test", text_or_empty(r->test));
    tsri_base_json_put(row, "kind", text_or_null(tsr_bench_kind_name(r->kind)));
    tsri_base_json_put(row, "class", text_or_null(class_of(r)));
    tsri_base_json_put(row, "scenario", NAME(scenarios, r->scenario));
    tsri_base_json_put(row, "peer", text_or_null(r->peer));
    tsri_base_json_put(row, "status", text_or_null(tsr_bench_status_name(r->status)));
    tsri_base_json_put(row, "reason", text_or_empty(r->reason));
    tsri_base_json_put(row, "noisy", json_boolean(r->noisy));
    tsri_base_json_put(row, "unit", text_or_empty(r->unit));
    tsri_base_json_put(row, "better",
                       json_string(r->unit && !strcmp(r->unit, "s") ? "lower" : "higher"));
    put_figures(r, row);
    put_work(r, row);
    tsri_base_json_put(row, "gate", gate_json(r));
    tsri_base_json_put(row, "quality", quality_json(r->quality));
    tsri_base_json_put(row, "peaks", peaks_json(r));
    tsri_base_json_put(row, "conditions", conditions_json(r->conditions));
    tsri_base_json_put(row, "memory", memory_json(r));
    tsri_base_json_put(row, "kernels", kernels_json(r));
    return row;
}

tsr_status tsr_bench_file_row(tsr_bench_file *file, const tsr_bench_row *row) {
    tsr_bench_row known;
    TRY(NEED(file));
    TRY(NEED(row));
    TRY(tsri_base_adopt("tsr_bench_row", row, &known, sizeof known));
    if (!json_array_size(file->devices))
        return tsri_base_fail(TSR_E_STATE, "a row of results needs a device: add one before it");
    if (known.first_pass > known.n_samples)
        return tsri_base_fail(TSR_E_ARGUMENT, "of %u samples, %u are of the first pass",
                              known.n_samples, known.first_pass);
    json_t *told = row_json(file, &known);
    if (!known.unfinished)
        tell(file, "row", told);
    if (!known.unfinished && file->finished < json_array_size(file->rows))
        json_array_set_new(file->rows, file->finished, told);
    else
        tsri_base_json_append(file->rows, told);
    file->finished += !known.unfinished;
    return TSR_OK;
}

/* ---- the text ---- */

static void put_end(tsr_bench_file *file, bool partial) {
    struct timespec now;
    const tsri_task_reading ended = tsri_task_read_conditions("", true, 0);
    const tsr_bench_conditions c = tsri_task_conditions_between(&file->begun, &ended);
    clock_gettime(CLOCK_MONOTONIC, &now);
    tsri_base_json_put(file->suite, "seconds",
                       json_real((double)(now.tv_sec - file->clock.tv_sec) +
                                 (double)(now.tv_nsec - file->clock.tv_nsec) * 1e-9));
    tsri_base_json_put(file->suite, "partial", json_boolean(partial));
    tsri_base_json_put(file->host, "load", pair(file->begun.load_minute, ended.load_minute));
    tsri_base_json_put(file->host, "steal", number(true, c.steal));
}

tsr_status tsr_bench_file_end(tsr_bench_file *file, uint32_t partial) {
    TRY(NEED(file));
    put_end(file, partial);
    tell(file, "suite", file->suite);
    tell(file, "host", file->host);
    return TSR_OK;
}

/* The hash is that of all bytes before its own line. */
static tsr_status add_hash(tsri_bytes *text) {
    char hex[65];
    text->size -= 2; /* the end of the object: a newline and a brace */
    TRY(tsri_base_bytes_append(text, ",\n", 2));
    TRY(tsri_base_hash_bytes(text->data, text->size, hex));
    return tsri_base_bytes_printf(text, " \"hash\": \"%s\"\n}\n", hex);
}

tsr_status tsr_bench_file_text(tsr_bench_file *file, uint32_t partial, char **text, size_t *n) {
    TRY(NEED(file));
    TRY(NEED(text));
    *text = NULL;
    put_end(file, partial);
    json_t *const parts[] = {json_integer(SCHEMA), file->suite,  file->engine, file->host,
                             file->devices,        file->models, file->rows};
    static const char *const names[] = {"schema",  "suite",  "engine", "host",
                                        "devices", "models", "rows"};
    json_t *all = json_object();
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        tsri_base_json_put(all, names[i], i ? json_incref(parts[i]) : parts[i]);
    tsri_bytes out = {0};
    char *printed = tsri_base_json_print(all, JSON_INDENT(1) | JSON_REAL_PRECISION(DIGITS));
    tsr_status status = printed ? tsri_base_bytes_append(&out, printed, strlen(printed))
                                : tsri_base_fail(TSR_E_HOST_MEMORY, "out of host memory");
    if (status == TSR_OK)
        status = add_hash(&out);
    free(printed);
    json_decref(all);
    if (status != TSR_OK) {
        tsri_base_bytes_clear(&out);
        return status;
    }
    *text = out.data;
    if (n)
        *n = out.size;
    return TSR_OK;
}
