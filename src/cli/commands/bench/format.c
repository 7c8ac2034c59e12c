/* cli/commands/bench/format.c - writes the results of a benchmark as Markdown, CSV, JSON or JSON
 * Lines, and to a file. */
#include "cli/commands/bench/format.h"
#include "cli/base/build.h"

#include <stdlib.h>
#include <string.h>

struct tsri_cli_bench_format {
    const char *name;
    void (*begin)(tsri_cli_bench_writer *w); /* NULL: nothing to do, here and below */
    void (*device)(tsri_cli_bench_writer *w, const tsri_cli_bench_subject *s);
    void (*row)(tsri_cli_bench_writer *w, const tsri_cli_bench_subject *s, const tsr_bench_row *r);
};

/* Whether an earlier kernel of the row is the same variant, with another tuning. */
static bool is_again(const tsr_bench_row *r, uint32_t kernel) {
    for (uint32_t i = 0; i < kernel; i++)
        if (!strcmp(r->kernels[i].op, r->kernels[kernel].op) &&
            !strcmp(r->kernels[i].variant, r->kernels[kernel].variant))
            return true;
    return false;
}

/* "linear/packed attention/lanes" */
static void print_kernels(tsri_cli_bench_writer *w, const tsr_bench_row *r) {
    for (uint32_t i = 0; i < r->n_kernels; i++)
        if (!is_again(r, i))
            tsri_cli_print(w->app, "%s%s/%s", i ? " " : "", r->kernels[i].op,
                           r->kernels[i].variant);
}

/* ---- Markdown ---- */

/* A rate for people to read: "236.4 GFLOP/s", "3.1 us". */
static void print_value(double value, const char *unit, char out[48]) {
    if (!strcmp(unit, "s") && value >= 1)
        snprintf(out, 48, "%.2f s", value);
    else if (!strcmp(unit, "s") && value >= 1e-3)
        snprintf(out, 48, "%.2f ms", value * 1e3);
    else if (!strcmp(unit, "s"))
        snprintf(out, 48, "%.2f us", value * 1e6);
    else if (!strcmp(unit, "tokens/s"))
        snprintf(out, 48, "%.1f", value);
    else if (!strcmp(unit, "FLOP/s") || !strcmp(unit, "OP/s") || !strcmp(unit, "B/s"))
        snprintf(out, 48, "%.1f G%s", value * 1e-9, unit);
    else
        snprintf(out, 48, "%.1f %s", value, unit);
}

/* The predicted rate, and what takes the most of its time: "1045.2 (memory 83 %)". */
static void print_predicted(const tsr_bench_row *r, char out[80]) {
    const char *bound = tsr_bench_bound_name(r->bound_by);
    char rate[48];
    double all = 0;
    for (uint32_t i = TSR_BENCH_BOUND_MEMORY; i <= TSR_BENCH_BOUND_LAUNCHES; i++)
        all += r->predicted_seconds[i];
    print_value(r->predicted, r->unit, rate);
    if (all > 0 && *bound)
        snprintf(out, 80, "%s (%s %.0f %%)", rate, bound,
                 100 * r->predicted_seconds[r->bound_by] / all);
}

/* What options say of the model. */
static void md_model(tsri_cli_app *app, const tsri_cli_bench_subject *s) {
    tsri_cli_print(app, "model %s", s->model);
    for (size_t i = 0; i < app->loras.n; i++)
        tsri_cli_print(app, " + %s", app->loras.items[i]);
    tsri_cli_print(app, ", weights %s", s->dtype ? s->dtype : "as stored");
    if (app->kv_dtype_name)
        tsri_cli_print(app, ", keys and values %s", app->kv_dtype_name);
    if (app->compute_name)
        tsri_cli_print(app, ", products %s", app->compute_name);
    tsri_cli_print(app, "\n");
}

static void md_device(tsri_cli_bench_writer *w, const tsri_cli_bench_subject *s) {
    const tsr_facts *f = &s->device->facts;
    tsri_cli_print(w->app, "tessera %s, %s / %s (driver %s, %u compute units, %s threads)\n",
                   TESSERA_VERSION, f->platform, f->name, f->driver, f->compute_units,
                   s->threads ? "limited" : "all");
    if (s->model)
        md_model(w->app, s);
    tsri_cli_print(w->app,
                   "\n| test | batch | tokens/s or peak | lowest .. highest | roofline | predicted "
                   "| host / device MiB | error of bound | kernels "
                   "|\n|---|---|---|---|---|---|---|---|---|\n");
    tsri_cli_flush(w->app);
}

static void md_row(tsri_cli_bench_writer *w, const tsri_cli_bench_subject *s,
                   const tsr_bench_row *r) {
    char median[48] = "-", lowest[48] = "-", highest[48] = "-", share[24] = "", memory[48] = "",
         gate[48] = "", batch[24] = "", predicted[80] = "";
    const char *const class_name = r->storage ? r->storage : r->model ? r->model->kept : "";
    (void)s;
    if (r->n_samples) {
        print_value(r->median, r->unit, median);
        print_value(r->lowest, r->unit, lowest);
        print_value(r->highest, r->unit, highest);
    }
    if (r->roofline > 0)
        snprintf(share, sizeof share, "%.0f %%", r->roofline * 100);
    if (r->predicted > 0)
        print_predicted(r, predicted);
    if (r->host_bytes || r->device_bytes)
        snprintf(memory, sizeof memory, "%.0f / %.0f", (double)r->host_bytes / (1 << 20),
                 (double)r->device_bytes / (1 << 20));
    if (r->batch)
        snprintf(batch, sizeof batch, "%lld", (long long)r->batch);
    if (r->bound > 0)
        snprintf(gate, sizeof gate, "%.1e of %.0e", r->error, r->bound);
    tsri_cli_print(
        w->app, "| %s%s%s%s%s | %s | %s%s%s | %s .. %s | %s | %s | %s | %s | ", r->test,
        s->model || !*class_name ? "" : " ", s->model ? "" : class_name, r->peer ? " by " : "",
        r->peer ? r->peer : "", batch, r->n_samples ? median : tsr_bench_status_name(r->status),
        r->n_samples && r->status != TSR_BENCH_OK ? ", " : "",
        r->n_samples && r->status != TSR_BENCH_OK ? tsr_bench_status_name(r->status) : "", lowest,
        highest, share, predicted, memory, gate);
    print_kernels(w, r);
    tsri_cli_print(w->app, "%s%s%s |\n", r->n_kernels && *r->reason ? ": " : "", r->reason,
                   r->noisy ? " (noisy)" : "");
    tsri_cli_flush(w->app);
}

/* ---- CSV ---- */

static void csv_begin(tsri_cli_bench_writer *w) {
    tsri_cli_print(w->app,
                   "schema,engine,platform,device,driver,model,dtype,threads,test,kind,tokens,"
                   "depth,batch,status,unit,median,lowest,highest,runs,roofline,error,bound,"
                   "host_bytes,device_bytes,kernels,reason,predicted,p90,noisy\n");
}

/* A field in quotes, with its own quotes doubled, and what follows it. */
static void csv_text(tsri_cli_bench_writer *w, const char *text, const char *behind) {
    tsri_cli_write(w->app, "\"", 1);
    for (const char *c = text ? text : ""; *c; c++)
        tsri_cli_write(w->app, *c == '"' ? "\"\"" : c, *c == '"' ? 2 : 1);
    tsri_cli_print(w->app, "\"%s", behind);
}

static void csv_row(tsri_cli_bench_writer *w, const tsri_cli_bench_subject *s,
                    const tsr_bench_row *r) {
    const tsr_facts *f = &s->device->facts;
    const char *const who[] = {r->peer ? r->peer : "tessera " TESSERA_VERSION,
                               f->platform,
                               f->name,
                               f->driver,
                               r->model ? r->model->name : s->model,
                               r->model ? r->model->dtype : s->dtype};
    tsri_cli_print(w->app, "2,");
    for (size_t i = 0; i < sizeof who / sizeof *who; i++)
        csv_text(w, who[i], ",");
    tsri_cli_print(w->app, "%lld,", (long long)s->threads);
    csv_text(w, r->test, ",");
    tsri_cli_print(w->app, "%s,%lld,%lld,%lld,%s,%s,", tsr_bench_kind_name(r->kind),
                   (long long)r->tokens, (long long)r->depth, (long long)r->batch,
                   tsr_bench_status_name(r->status), r->unit);
    if (r->n_samples)
        tsri_cli_print(w->app, "%.9g,%.9g,%.9g,", r->median, r->lowest, r->highest);
    else
        tsri_cli_print(w->app, ",,,");
    tsri_cli_print(w->app, "%u,%.6g,%.6g,%.6g,%llu,%llu,\"", r->n_samples, r->roofline, r->error,
                   r->bound, (unsigned long long)r->host_bytes,
                   (unsigned long long)r->device_bytes);
    print_kernels(w, r);
    tsri_cli_print(w->app, "\",");
    csv_text(w, r->reason, ",");
    tsri_cli_print(w->app, "%.6g,%.9g,%u\n", r->predicted, r->p90, r->noisy);
    tsri_cli_flush(w->app);
}

/* ---- all of them ---- */

static const tsri_cli_bench_format formats[] = {{"md", NULL, md_device, md_row},
                                                {"csv", csv_begin, NULL, csv_row},
                                                {"json", NULL, NULL, NULL},
                                                {"jsonl", NULL, NULL, NULL}};

static void print_line(void *data, const char *text) {
    tsri_cli_bench_writer *w = data;
    tsri_cli_print(w->app, "%s\n", text);
    tsri_cli_flush(w->app);
}

int tsri_cli_bench_begin(tsri_cli_app *app, const char *format, const char *path,
                         const tsr_bench_file_options *options, tsri_cli_bench_writer *out) {
    tsr_bench_file_options all = *options;
    tsri_cli_output refused;
    *out = (tsri_cli_bench_writer){.app = app, .path = path};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!strcmp(formats[i].name, format))
            out->format = &formats[i];
    all.commit = tsri_cli_built.commit;
    all.compiler = tsri_cli_built.compiler;
    all.flags = tsri_cli_built.flags;
    all.build_type = tsri_cli_built.type;
    if (!strcmp(format, "jsonl")) {
        all.line = print_line;
        all.line_data = out;
    }
    int code = tsri_cli_output_begin(app, path, &refused); /* before anything is measured */
    tsri_cli_output_end(&refused, CLI_OTHER);
    if (code == CLI_OK)
        code = tsri_cli_status(tsr_bench_file_create(&all, &out->file));
    if (code == CLI_OK && out->format->begin)
        out->format->begin(out);
    return code;
}

int tsri_cli_bench_device(tsri_cli_bench_writer *w, const tsri_cli_bench_subject *s) {
    if (w->format->device)
        w->format->device(w, s);
    return tsri_cli_status(tsr_bench_file_device(w->file, s->device, (uint32_t)s->threads));
}

/* Replaces the file by the results as of now. */
static int save(tsri_cli_bench_writer *w, const char *text, size_t n) {
    tsri_cli_output out;
    int code = tsri_cli_output_begin(w->app, w->path, &out);
    if (code != CLI_OK)
        return code;
    tsri_cli_output_write(&out, text, n);
    return tsri_cli_output_end(&out, CLI_OK);
}

int tsri_cli_bench_row(tsri_cli_bench_writer *w, const tsri_cli_bench_subject *s,
                       const tsr_bench_row *row) {
    char *text = NULL;
    size_t n = 0;
    if (w->format->row && !row->unfinished)
        w->format->row(w, s, row);
    int code = tsri_cli_status(tsr_bench_file_row(w->file, row));
    w->filled = true;
    if (code == CLI_OK && w->path) /* a driver may end the process, or the user while it compiles */
        code = tsri_cli_status(tsr_bench_file_text(w->file, 1, &text, &n));
    if (text)
        code = save(w, text, n);
    tsr_text_free(text);
    return code;
}

int tsri_cli_bench_left_out(tsri_cli_bench_writer *w, const tsr_device_info *device) {
    tsr_device_info out = *device;
    out.facts.usable = 0; /* nor is one here that needs a bundle */
    tsri_cli_note(w->app, "%s / %s is left out: %s", out.facts.platform, out.facts.name,
                  out.facts.reason);
    w->filled = true;
    return tsri_cli_status(tsr_bench_file_device(w->file, &out, 0));
}

int tsri_cli_bench_end(tsri_cli_bench_writer *w, int code, bool partial) {
    const bool json = w->format && !strcmp(w->format->name, "json"),
               failed = code != CLI_OK && code != CLI_MISS,
               wanted = !failed || partial || w->filled;
    char *text = NULL;
    size_t n = 0;
    int ended = CLI_OK;
    if (w->file && wanted)
        ended = tsri_cli_status(tsr_bench_file_end(w->file, partial || failed));
    if (w->file && wanted && ended == CLI_OK && (json || w->path))
        ended = tsri_cli_status(tsr_bench_file_text(w->file, partial || failed, &text, &n));
    if (text && json) {
        tsri_cli_write(w->app, text, n);
        tsri_cli_flush(w->app);
    }
    if (text && w->path)
        ended = save(w, text, n);
    tsr_text_free(text);
    tsr_bench_file_destroy(&w->file);
    return ended == CLI_OK ? code : ended;
}
