/* task/results/report_tools.c - results for other programs: JUnit's XML, the fields of llama.cpp's
 * llama-bench, and the JSON of a badge. */
#include "task/results/results.h"

#include "base/error.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_job(const tsri_results_row *r) {
    return strcmp(r->kind, "peak") != 0 && strcmp(r->kind, "op") != 0;
}

/* ---- JUnit ---- */

/* XML 1.0 has neither most control characters nor U+FFFE and U+FFFF. */
static tsr_status xml(tsri_bytes *out, const char *text) {
    for (; text && *text; text++) {
        const unsigned char c = (unsigned char)*text;
        const char *word = c == '<'    ? "&lt;"
                           : c == '>'  ? "&gt;"
                           : c == '&'  ? "&amp;"
                           : c == '"'  ? "&quot;"
                           : c < 32    ? " "
                           : c == 0x7f ? " "
                                       : NULL;
        if (!strncmp(text, "\xef\xbf\xbe", 3) || !strncmp(text, "\xef\xbf\xbf", 3)) {
            word = "?";
            text += 2;
        }
        TRY(tsri_base_bytes_append(out, word ? word : text, word ? strlen(word) : 1));
    }
    return TSR_OK;
}

/* The mean time of a run, which JUnit calls the time of a test. */
static double seconds_of(const tsri_results_row *r) {
    double sum = 0;
    for (size_t i = 0; i < r->n; i++)
        sum += tsri_results_seconds(r, r->samples[i]);
    return r->n ? sum / (double)r->n : 0;
}

static tsr_status junit_row(const tsri_results_row *r, tsri_bytes *out) {
    char name[TSRI_RESULTS_NAME], value[TSRI_RESULTS_VALUE];
    const char *mark = !strcmp(r->status, "unsupported")       ? "skipped"
                       : !strcmp(r->status, "failed-accuracy") ? "failure"
                       : !strcmp(r->status, "error")           ? "error"
                                                               : NULL;
    tsri_results_row_name(r, name);
    tsri_results_print_value(r->median, r->unit, value);
    TRY(tsri_base_bytes_append(out, "  <testcase classname=\"", 23));
    TRY(xml(out, r->model_name ? r->model_name : r->kind));
    TRY(tsri_base_bytes_append(out, "\" name=\"", 8));
    TRY(xml(out, name));
    TRY(xml(out, r->peer ? " by " : ""));
    TRY(xml(out, r->peer));
    TRY(tsri_base_bytes_printf(out, "\" time=\"%.9f\">", seconds_of(r)));
    if (mark) {
        TRY(tsri_base_bytes_printf(out, "<%s message=\"", mark));
        TRY(xml(out, *r->reason ? r->reason : r->status));
        TRY(tsri_base_bytes_append(out, "\"/>", 3));
    }
    TRY(tsri_base_bytes_printf(out, "<system-out>%s%s%s", value, r->noisy ? ", noisy" : "",
                               !strcmp(r->status, "throttled") ? ", throttled" : ""));
    if (!mark && *r->reason) {
        TRY(tsri_base_bytes_append(out, ": ", 2));
        TRY(xml(out, r->reason));
    }
    static const char end[] = "</system-out></testcase>\n";
    return tsri_base_bytes_append(out, end, sizeof end - 1);
}

/* The case of a device that was left out, or that failed before its first row. */
static tsr_status junit_unmeasured(const tsr_results *t, size_t d, tsri_bytes *out) {
    static const char begin[] = "  <testcase classname=\"device\" name=\"not measured\" "
                                "time=\"0\"><skipped message=\"",
                      end[] = "\"/></testcase>\n";
    TRY(tsri_base_bytes_append(out, begin, sizeof begin - 1));
    TRY(xml(out, tsri_results_unmeasured(t, json_array_get(t->devices, d))));
    return tsri_base_bytes_append(out, end, sizeof end - 1);
}

static tsr_status junit_suite(const tsr_results *t, size_t d, tsri_bytes *out) {
    const bool measured = tsri_results_has_rows(t, d);
    size_t all = 0, failures = 0, errors = 0, skipped = 0;
    for (size_t i = 0; i < t->n; i++) {
        const tsri_results_row *r = &t->rows[i];
        if (r->device_index != d)
            continue;
        all++;
        failures += !strcmp(r->status, "failed-accuracy");
        errors += !strcmp(r->status, "error");
        skipped += !strcmp(r->status, "unsupported");
    }
    all += !measured;
    skipped += !measured;
    TRY(tsri_base_bytes_append(out, " <testsuite name=\"", 18));
    TRY(xml(out, tsri_results_text(json_array_get(t->devices, d), "name")));
    TRY(tsri_base_bytes_printf(
        out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" timestamp=\"", all,
        failures, errors, skipped));
    TRY(xml(out, tsri_results_text(t->suite, "began")));
    TRY(tsri_base_bytes_append(out, "\">\n", 3));
    for (size_t i = 0; i < t->n; i++)
        if (t->rows[i].device_index == d)
            TRY(junit_row(&t->rows[i], out));
    if (!measured)
        TRY(junit_unmeasured(t, d, out));
    return tsri_base_bytes_append(out, " </testsuite>\n", 14);
}

tsr_status tsri_results_junit(const tsr_results *const *results, size_t count, tsri_bytes *out) {
    static const char head[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
    TRY(tsri_base_bytes_append(out, head, sizeof head - 1));
    for (size_t f = 0; f < count; f++)
        for (size_t d = 0; d < json_array_size(results[f]->devices); d++)
            TRY(junit_suite(results[f], d, out));
    return tsri_base_bytes_append(out, "</testsuites>\n", 14);
}

/* ---- llama-bench ---- */

static void mean_of(const double *values, size_t n, double *mean, double *deviation) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    *mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - *mean) * (values[i] - *mean);
    *deviation = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
}

static void put_times(const tsri_results_row *r, json_t *entry) {
    json_t *ns = json_array(), *ts = json_array();
    double mean, deviation, sum = 0, squares = 0, mean_ns;
    mean_of(r->samples, r->n, &mean, &deviation);
    for (size_t i = 0; i < r->n; i++)
        sum += (double)r->tokens / r->samples[i] * 1e9;
    mean_ns = sum / (double)r->n;
    for (size_t i = 0; i < r->n; i++) {
        const double one = (double)r->tokens / r->samples[i] * 1e9;
        squares += (one - mean_ns) * (one - mean_ns);
        tsri_base_json_append(ns, json_integer((json_int_t)fmin(one, 9e18)));
        tsri_base_json_append(ts, json_real(r->samples[i]));
    }
    const double deviation_ns = r->n > 1 ? sqrt(squares / (double)(r->n - 1)) : 0;
    tsri_base_json_put(entry, "avg_ns", json_integer((json_int_t)fmin(mean_ns, 9e18)));
    tsri_base_json_put(entry, "stddev_ns", json_integer((json_int_t)fmin(deviation_ns, 9e18)));
    tsri_base_json_put(entry, "avg_ts", json_real(mean));
    tsri_base_json_put(entry, "stddev_ts", json_real(deviation));
    tsri_base_json_put(entry, "samples_ns", ns);
    tsri_base_json_put(entry, "samples_ts", ts);
}

static bool has_flash(const tsri_results_row *r) {
    const json_t *kernel;
    size_t i;
    json_array_foreach(
        json_object_get(r->json, "kernels"), i,
        kernel) if (!strcmp(tsri_results_text(kernel, "op"), "attention") &&
                    strstr(tsri_results_text(kernel, "variant"), "flash")) return true;
    return false;
}

/* What keys and values are kept in, by ggml's names; older files don't say it. */
static const char *kv_type(const json_t *model) {
    const char *kept = tsri_results_text(model, "kv_dtype");
    return !kept ? "default" : !strcmp(kept, "q8") ? "q8_0" : kept;
}

/* What llama-bench's settings are here. Its comparison joins rows whose settings are equal, and
 * null equals nothing, so none is null. */
static void put_settings(const tsr_results *t, const tsri_results_row *r, json_t *entry) {
    const char *commit = tsri_results_text(t->engine, "commit"),
               *build = commit ? commit : tsri_results_text(t->engine, "version"),
               *cpu = tsri_results_text(t->host, "cpu"), *kept = kv_type(r->model);
    const bool gpu = !strcmp(tsri_results_text(r->device, "type"), "gpu"),
               prompt = !strcmp(r->kind, "prompt");
    const int64_t threads = tsri_results_whole(r->device, "threads"),
                  cores = tsri_results_whole(t->host, "cores"), at_once = prompt ? r->tokens : 1;
    const struct {
        const char *key, *text;
    } texts[] = {{"cpu_info", cpu ? cpu : ""},
                 {"gpu_info", gpu ? tsri_results_text(r->device, "name") : ""},
                 {"backends", tsri_results_text(r->device, "backend")},
                 {"model_filename", r->model_name},
                 {"cpu_mask", "0x0"},
                 {"type_k", kept},
                 {"type_v", kept},
                 {"split_mode", "none"},
                 {"tensor_split", "0.00"},
                 {"tensor_buft_overrides", "none"},
                 {"devices", tsri_results_text(r->device, "name")},
                 {"test_time", tsri_results_text(t->suite, "began")}};
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {{"build_number", 0},
                   {"model_size", tsri_results_whole(r->model, "bytes")},
                   {"model_n_params", tsri_results_whole(r->model, "parameters")},
                   {"n_batch", at_once},
                   {"n_ubatch", at_once},
                   {"n_threads", threads > 0 ? threads : cores},
                   {"poll", 0},
                   {"n_gpu_layers", gpu ? 99 : 0},
                   {"main_gpu", 0},
                   {"n_prompt", prompt ? r->tokens : 0},
                   {"n_gen", prompt ? 0 : r->tokens},
                   {"n_depth", r->depth}};
    tsri_base_json_put(entry, "build_commit",
                       json_stringn(build, (size_t)tsri_results_cut(build, 8)));
    tsri_base_json_put(entry, "model_type",
                       json_sprintf("%s %s", r->model_name, r->class_name ? r->class_name : ""));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        tsri_base_json_put(entry, texts[i].key, json_string(texts[i].text));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        tsri_base_json_put(entry, numbers[i].key,
                           json_integer(numbers[i].value > 0 ? numbers[i].value : 0));
    tsri_base_json_put(entry, "cpu_strict", json_false());
    tsri_base_json_put(entry, "no_kv_offload", json_false());
    tsri_base_json_put(entry, "flash_attn", json_boolean(has_flash(r)));
    tsri_base_json_put(entry, "use_mmap", json_false());
    tsri_base_json_put(entry, "embeddings", json_false());
    tsri_base_json_put(entry, "no_op_offload", json_integer(0));
}

/* llama-bench measures one sequence, and its own engine. */
static bool is_llama_bench(const tsri_results_row *r) {
    return (!strcmp(r->kind, "prompt") || !strcmp(r->kind, "generate")) && r->n && !r->peer &&
           r->model && r->batch == 1 && r->tokens > 0 && r->lowest > 0 &&
           !strcmp(r->unit, "tokens/s");
}

tsr_status tsri_results_llama_bench(const tsr_results *const *results, size_t count,
                                    tsri_bytes *out) {
    json_t *all = json_array();
    for (size_t f = 0; f < count; f++)
        for (size_t i = 0; i < results[f]->n; i++) {
            const tsri_results_row *r = &results[f]->rows[i];
            if (!is_llama_bench(r))
                continue;
            json_t *entry = json_object();
            put_settings(results[f], r, entry);
            put_times(r, entry);
            tsri_base_json_append(all, entry);
        }
    char *text = tsri_base_json_print(all, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
    json_decref(all);
    if (!text)
        return tsri_base_fail(TSR_E_HOST_MEMORY, "no memory for the report");
    const tsr_status status = tsri_base_bytes_printf(out, "%s\n", text);
    free(text);
    return status;
}

/* ---- a badge ---- */

/* The harmonic mean of the shares of the roofline of all jobs; one without a rate makes it 0. */
tsr_status tsri_results_badge(const tsr_results *const *results, size_t count, tsri_bytes *out) {
    double sum = 0;
    size_t jobs = 0;
    bool failed = false;
    for (size_t f = 0; f < count; f++)
        for (size_t i = 0; i < results[f]->n; i++) {
            const tsri_results_row *r = &results[f]->rows[i];
            if (r->peer || !is_job(r))
                continue;
            failed |= !strcmp(r->status, "failed-accuracy") || !strcmp(r->status, "error");
            if (r->roofline > 0) {
                sum += 1 / r->roofline;
                jobs++;
            }
        }
    const double share = jobs ? (double)jobs / sum : 0;
    const char *const color = failed         ? "red"
                              : !jobs        ? "lightgrey"
                              : share >= 0.6 ? "brightgreen"
                              : share >= 0.4 ? "green"
                                             : "yellow";
    if (failed || !jobs)
        return tsri_base_bytes_printf(out,
                                      "{\"schemaVersion\": 1, \"label\": \"tessera bench\", "
                                      "\"message\": \"%s\", \"color\": \"%s\"}\n",
                                      failed ? "failed" : "not measured", color);
    return tsri_base_bytes_printf(
        out,
        "{\"schemaVersion\": 1, \"label\": \"tessera bench\", \"message\": \"%.0f %% of the "
        "roofline, %zu jobs\", \"color\": \"%s\"}\n",
        share * 100, jobs, color);
}
