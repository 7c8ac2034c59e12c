/* cli/commands/bench/compare.c - tessera bench compare: what two files of results show. */
#include "cli/base/json.h"
#include "cli/commands/bench/results.h"
#include "cli/commands/commands.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const verdicts[] = {"~",      "faster",  "slower",      "lost",
                                       "gained", "no rate", "only before", "only after"};

int tsri_cli_bench_read_share(const char *option, const char *text, double *out) {
    char *end;
    const double value = strtod(text, &end);
    if (end == text || (*end && strcmp(end, "%") != 0) || !(value > 0 && value < 100))
        return tsri_cli_fail(CLI_USAGE, "%s %s: give a percentage, as in %s 3%%", option, text,
                             option);
    *out = value / 100;
    return CLI_OK;
}

/* ---- text ---- */

/* A value for people: "236.4 G" of FLOP/s, "3.1 ms". */
static void print_value(double value, const char *unit, char out[48]) {
    const bool seconds = !strcmp(unit, "s"), counted = strlen(unit) > 6;
    static const char *const large[] = {"", "k", "M", "G", "T", "P"}, *const small[] = {"", "m",
                                                                                        "u", "n"};
    int step = 0;
    if (!isfinite(value)) {
        snprintf(out, 48, "-");
        return;
    }
    for (; seconds && value < 1 && step < 3; step++)
        value *= 1000;
    for (; !seconds && !counted && value >= 1000 && step < 5; step++)
        value /= 1000;
    snprintf(out, 48, "%.*f %s%s",
             value < 10    ? 2
             : value < 100 ? 1
                           : 0,
             value, seconds ? small[step] : large[step], unit);
}

static void print_row(tsri_cli_bench_comparing *c, const tsr_compared *r) {
    char before[48], after[48], batch[32] = "", interval[64] = "";
    print_value(r->before, r->unit, before);
    print_value(r->after, r->unit, after);
    if (r->batch)
        snprintf(batch, sizeof batch, " batch %" PRId64, r->batch);
    if (isfinite(r->ratio) && isfinite(r->high))
        snprintf(interval, sizeof interval, "%.3f | %.3f .. %.3f | %.2g", r->ratio, r->low, r->high,
                 r->p);
    else if (isfinite(r->ratio))
        snprintf(interval, sizeof interval, "%.3f | too few runs | %.2g", r->ratio, r->p);
    else
        snprintf(interval, sizeof interval, " | | ");
    const bool device = c->devices_differ && r->device;
    tsri_cli_print(c->app, "| %s%s%s%s%s%s%s%s%s%s | %s | %s | %s | %s%s%s%s |\n",
                   r->model ? r->model : "", r->model ? " " : "", r->test, r->class_name ? " " : "",
                   r->class_name ? r->class_name : "", r->peer ? " by " : "",
                   r->peer ? r->peer : "", batch, device ? " on " : "", device ? r->device : "",
                   before, after, interval, verdicts[r->verdict], r->throttled ? ", throttled" : "",
                   *r->why ? ": " : "", r->why);
}

static void print_summary(tsri_cli_bench_comparing *c) {
    const tsr_compare_summary *s = &c->summary;
    tsri_cli_print(c->app,
                   "\n%" PRIu32 " slower or lost, %" PRIu32 " faster, %" PRIu32
                   " without a difference that is shown",
                   s->regressions, s->faster, s->same);
    if (s->gained + s->without_rate)
        tsri_cli_print(c->app, ", %" PRIu32 " gained a rate, %" PRIu32 " without one", s->gained,
                       s->without_rate);
    if (s->only_before + s->only_after)
        tsri_cli_print(c->app, ", %" PRIu32 " on one side only", s->only_before + s->only_after);
    if (isfinite(s->ratio))
        tsri_cli_print(c->app, "; %.3f times as fast in the mean", s->ratio);
    tsri_cli_print(c->app, "\n");
    if (s->partial_before)
        tsri_cli_print(c->app, "BEFORE is partial: its run was stopped before its end.\n");
    if (s->partial_after)
        tsri_cli_print(c->app,
                       "AFTER is partial: its run was stopped before its end. A row that it lacks "
                       "and that had a rate counts as lost.\n");
    if (c->peaks_differ)
        tsri_cli_print(c->app,
                       "The device's own peaks differ: the machine was not in the same state, "
                       "so differences may not be the engine's. A duel\n(tessera bench duel) "
                       "takes turns.\n");
}

/* ---- JSON ---- */

static json_t *text_json(const char *text) {
    return text ? json_string(text) : json_null();
}

static json_t *row_json(const tsr_compared *r) {
    json_t *row = json_object();
    const struct {
        const char *key, *text;
    } texts[] = {{"device", r->device}, {"model", r->model},
                 {"test", r->test},     {"class", r->class_name},
                 {"peer", r->peer},     {"unit", r->unit},
                 {"why", r->why},       {"verdict", r->verdict ? verdicts[r->verdict] : "same"}};
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"before", r->before}, {"after", r->after}, {"ratio", r->ratio},
                   {"low", r->low},       {"high", r->high},   {"p", r->p}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        tsri_cli_json_put(row, texts[i].key, text_json(texts[i].text));
    tsri_cli_json_put(row, "batch", r->batch ? json_integer(r->batch) : json_null());
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        tsri_cli_json_put(row, numbers[i].key, tsri_cli_json_number(numbers[i].value));
    tsri_cli_json_put(row, "values_before", json_integer(r->n_before));
    tsri_cli_json_put(row, "values_after", json_integer(r->n_after));
    tsri_cli_json_put(row, "by_runs", json_boolean(r->by_runs));
    tsri_cli_json_put(row, "throttled", json_boolean(r->throttled));
    tsri_cli_json_put(row, "peak", json_boolean(r->peak));
    return row;
}

static json_t *summary_json(const tsr_compare_summary *s) {
    json_t *summary = json_object();
    const struct {
        const char *key;
        uint32_t n;
    } counts[] = {{"rows", s->rows},
                  {"same", s->same},
                  {"faster", s->faster},
                  {"regressions", s->regressions},
                  {"gained", s->gained},
                  {"without_rate", s->without_rate},
                  {"only_before", s->only_before},
                  {"only_after", s->only_after},
                  {"partial_before", s->partial_before},
                  {"partial_after", s->partial_after}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        tsri_cli_json_put(summary, counts[i].key, json_integer(counts[i].n));
    tsri_cli_json_put(summary, "ratio", tsri_cli_json_number(s->ratio));
    return summary;
}

/* ---- both ---- */

/* Sees before the first row is printed whether the rows are of more than one device. */
static int look(void *data, const tsr_compared *row) {
    tsri_cli_bench_comparing *c = data;
    const char *device = row->device ? row->device : "";
    if (!*c->device)
        snprintf(c->device, sizeof c->device, "%s", device);
    c->devices_differ |= strncmp(c->device, device, sizeof c->device - 1) != 0;
    return 0;
}

static int take(void *data, const tsr_compared *row) {
    tsri_cli_bench_comparing *c = data;
    c->peaks_differ |=
        row->peak && (row->verdict == TSR_VERDICT_SLOWER || row->verdict == TSR_VERDICT_FASTER);
    if (c->rows)
        tsri_cli_json_append(c->rows, row_json(row));
    else if (row->verdict != TSR_VERDICT_NO_RATE)
        print_row(c, row);
    return c->app->stopped;
}

int tsri_cli_bench_show_comparison(tsri_cli_app *app, tsr_results **before, size_t n_before,
                                   tsr_results **after, size_t n_after,
                                   const tsr_compare_options *options) {
    tsri_cli_bench_comparing c = {.app = app, .summary = {.struct_size = sizeof c.summary}};
    const double confidence = options->confidence > 0 ? options->confidence : 0.95;
    if (app->json)
        c.rows = json_array();
    /* Rows are printed only once it is known that the sides can be compared. */
    tsr_status status = tsr_results_compare((const tsr_results *const *)before, n_before,
                                            (const tsr_results *const *)after, n_after, options,
                                            look, &c, &c.summary);
    c.devices_differ &= !options->across_devices; /* there each side has one */
    if (status == TSR_OK && !app->json)
        tsri_cli_print(app,
                       "| row | before | after | times as fast | %g %% interval | p | shown "
                       "|\n|---|---:|---:|---:|---|---:|---|\n",
                       confidence * 100);
    if (status == TSR_OK)
        status = tsr_results_compare((const tsr_results *const *)before, n_before,
                                     (const tsr_results *const *)after, n_after, options, take, &c,
                                     &c.summary);
    if (status != TSR_OK) {
        json_decref(c.rows);
        return tsri_cli_status(status);
    }
    if (app->json) {
        json_t *all = json_object();
        tsri_cli_json_put(all, "confidence", json_real(confidence));
        tsri_cli_json_put(all, "rows", c.rows);
        tsri_cli_json_put(all, "summary", summary_json(&c.summary));
        tsri_cli_json_print(app, all, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    } else
        print_summary(&c);
    return c.summary.regressions ? CLI_MISS : CLI_OK;
}

int tsri_cli_bench_compare(int argc, char **argv) {
    tsri_cli_app app = {0};
    tsri_cli_list paths = {0};
    tsr_compare_options options = {.struct_size = sizeof options};
    const char *most = "3%", *confidence = "95%";
    bool across = false;
    tsr_results **results = NULL;
    const tsri_cli_option own[] = {
        {"fail-above", 0, CLI_TEXT, &most, "N%",
         "a row that is shown to be slower by more is a regression: exit code 1 (default: 3%)", 0,
         0, NULL},
        {"confidence", 0, CLI_TEXT, &confidence, "N%",
         "how sure a difference must be to be shown (default: 95%)", 0, 0, NULL},
        {"across-devices", 0, CLI_FLAG, &across, NULL, "compare two devices, one in each file", 0,
         0, NULL},
        {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_json_option(&app),
                                       tsri_cli_common_options(&app), NULL};
    int code = tsri_cli_parse(
        argc, argv, "tessera bench compare BEFORE AFTER [--fail-above N%]",
        "Compares the same rows of two files of results: how many times as fast the second is, as "
        "the median of\nthe ratios, with an interval and the Mann-Whitney test; ~ where no "
        "difference is shown. Exit code 1:\na row is slower, or lost its rate; peaks and another "
        "engine's rows are shown, but not counted. Files whose\nsuite, devices, weights or dtypes "
        "differ are refused.",
        tables, &paths);
    if (code == CLI_OK && paths.n != 2)
        code = tsri_cli_fail(CLI_USAGE, "bench compare needs two files, BEFORE and AFTER");
    if (code == CLI_OK)
        code = tsri_cli_bench_read_share("--fail-above", most, &options.fail_above);
    if (code == CLI_OK)
        code = tsri_cli_bench_read_share("--confidence", confidence, &options.confidence);
    options.across_devices = across;
    if (code == CLI_OK)
        code = tsri_cli_bench_open(&paths, &results);
    if (code == CLI_OK)
        code = tsri_cli_bench_show_comparison(&app, results, 1, results + 1, 1, &options);
    tsri_cli_bench_close(results, paths.n);
    free(paths.items);
    return tsri_cli_close(&app, code);
}
