/* cli/commands/bench/format.c - writes the results of a benchmark as Markdown, CSV, JSON or JSON
 * Lines. */
#include "cli/commands/bench/format.h"
#include "cli/base/json.h"

#include <stdlib.h>
#include <string.h>

static const char *status_name(uint32_t status) {
    static const char *const names[] = {"ok", "unsupported", "failed-accuracy", "error"};
    return status < sizeof names / sizeof *names ? names[status] : "error";
}

static const char *kind_name(uint32_t kind) {
    static const char *const names[] = {"peak", "prompt", "generate", "train"};
    return kind < sizeof names / sizeof *names ? names[kind] : "peak";
}

static void nothing(tsri_cli_bench_writer *w) {
    (void)w;
}

static void no_device(tsri_cli_bench_writer *w, const tsri_cli_bench_subject *s) {
    (void)w;
    (void)s;
}

/* ---- Markdown ---- */

/* A rate for people to read: "236.4 GFLOP/s", "3.1 us". */
static void print_value(double value, const char *unit, char out[48]) {
    if (!strcmp(unit, "s"))
        snprintf(out, 48, "%.2f us", value * 1e6);
    else if (!strcmp(unit, "tokens/s"))
        snprintf(out, 48, "%.1f", value);
    else
        snprintf(out, 48, "%.1f G%s", value * 1e-9, unit);
}

static void md_device(tsri_cli_bench_writer *w, const tsri_cli_bench_subject *s) {
    const tsr_facts *f = &s->device->facts;
    tsri_cli_print(w->app, "tessera %s, %s / %s (driver %s, %u compute units, %s threads)\n",
                   TESSERA_VERSION, f->platform, f->name, f->driver, f->compute_units,
                   s->threads ? "limited" : "all");
    if (s->model)
        tsri_cli_print(w->app, "model %s, weights %s\n", s->model,
                       s->dtype ? s->dtype : "as stored");
    tsri_cli_print(w->app,
                   "\n| test | batch | tokens/s or peak | lowest .. highest | roofline | predicted "
                   "| host / device MiB | error of bound | kernels "
                   "|\n|---|---|---|---|---|---|---|---|---|\n");
}

static void md_row(tsri_cli_bench_writer *w, const tsri_cli_bench_subject *s,
                   const tsr_bench_row *r) {
    char median[48] = "-", lowest[48] = "-", highest[48] = "-", share[24] = "", memory[48] = "",
         gate[48] = "", batch[24] = "", predicted[48] = "";
    (void)s;
    if (r->status == TSR_BENCH_OK) {
        print_value(r->median, r->unit, median);
        print_value(r->lowest, r->unit, lowest);
        print_value(r->highest, r->unit, highest);
    }
    if (r->roofline > 0)
        snprintf(share, sizeof share, "%.0f %%", r->roofline * 100);
    if (r->predicted > 0)
        print_value(r->predicted, r->unit, predicted);
    if (r->kind != TSR_BENCH_PEAK) {
        snprintf(memory, sizeof memory, "%.0f / %.0f", (double)r->host_bytes / (1 << 20),
                 (double)r->device_bytes / (1 << 20));
        snprintf(batch, sizeof batch, "%lld", (long long)r->batch);
    }
    if (r->bound > 0)
        snprintf(gate, sizeof gate, "%.1e of %.0e", r->error, r->bound);
    tsri_cli_print(w->app, "| %s | %s | %s | %s .. %s | %s | %s | %s | %s | %s%s%s |\n", r->test,
                   batch, r->status == TSR_BENCH_OK ? median : status_name(r->status), lowest,
                   highest, share, predicted, memory, gate, r->kernels,
                   *r->kernels && *r->reason ? ": " : "", r->reason);
    tsri_cli_flush(w->app);
}

/* ---- JSON ---- */

static json_t *device_json(const tsri_cli_bench_subject *s) {
    const tsr_facts *f = &s->device->facts;
    return json_pack("{s:s,s:s,s:s,s:s,s:s,s:I,s:I,s:s?,s:s?}", "backend", s->device->backend,
                     "platform", f->platform, "name", f->name, "driver", f->driver, "version",
                     f->version, "compute_units", (json_int_t)f->compute_units, "threads",
                     (json_int_t)s->threads, "model", s->model, "dtype", s->dtype);
}

static void add_number(json_t *to, const char *name, bool known, double value) {
    tsri_cli_json_put(to, name, known ? json_real(value) : json_null());
}

static json_t *row_json(const tsri_cli_bench_subject *s, const tsr_bench_row *r) {
    const bool ok = r->status == TSR_BENCH_OK, work = r->kind != TSR_BENCH_PEAK;
    json_t *row = json_pack("{s:i,s:s,s:s,s:s,s:s,s:s,s:s}", "schema", 1, "device",
                            s->device->facts.name, "test", r->test, "kind", kind_name(r->kind),
                            "status", status_name(r->status), "reason", r->reason, "unit", r->unit);
    add_number(row, "median", ok, r->median);
    add_number(row, "lowest", ok, r->lowest);
    add_number(row, "highest", ok, r->highest);
    tsri_cli_json_put(row, "runs", json_integer(r->runs));
    if (!work)
        return row;
    tsri_cli_json_put(row, "tokens", json_integer(r->tokens));
    tsri_cli_json_put(row, "depth", json_integer(r->depth));
    tsri_cli_json_put(row, "batch", json_integer(r->batch));
    add_number(row, "roofline", r->roofline > 0, r->roofline);
    add_number(row, "predicted", r->predicted > 0, r->predicted);
    add_number(row, "flops", r->flops > 0, r->flops);
    add_number(row, "bytes", r->bytes > 0, r->bytes);
    /* JSON has no infinity: where logits are not numbers, the error is null. */
    add_number(row, "error", r->bound > 0 && r->error < 1e300, r->error);
    add_number(row, "bound", r->bound > 0, r->bound);
    tsri_cli_json_put(row, "host_bytes", json_integer((json_int_t)r->host_bytes));
    tsri_cli_json_put(row, "device_bytes", json_integer((json_int_t)r->device_bytes));
    tsri_cli_json_put(row, "kernels", json_string(r->kernels));
    return row;
}

static void json_begin(tsri_cli_bench_writer *w) {
    w->devices = json_array();
    w->rows = json_array();
}

static void json_device(tsri_cli_bench_writer *w, const tsri_cli_bench_subject *s) {
    tsri_cli_json_append(w->devices, device_json(s));
}

static void json_row(tsri_cli_bench_writer *w, const tsri_cli_bench_subject *s,
                     const tsr_bench_row *r) {
    tsri_cli_json_append(w->rows, row_json(s, r));
}

static void print_json(tsri_cli_bench_writer *w, json_t *value, size_t flags) {
    tsri_cli_json_print(w->app, value, flags);
    tsri_cli_flush(w->app);
}

static void json_end(tsri_cli_bench_writer *w) {
    print_json(w,
               json_pack("{s:i,s:s,s:o,s:o}", "schema", 1, "engine", "tessera " TESSERA_VERSION,
                         "devices", w->devices, "rows", w->rows),
               JSON_INDENT(1));
}

static void jsonl_device(tsri_cli_bench_writer *w, const tsri_cli_bench_subject *s) {
    print_json(w,
               json_pack("{s:i,s:s,s:o}", "schema", 1, "engine", "tessera " TESSERA_VERSION,
                         "device", device_json(s)),
               JSON_COMPACT);
}

static void jsonl_row(tsri_cli_bench_writer *w, const tsri_cli_bench_subject *s,
                      const tsr_bench_row *r) {
    print_json(w, row_json(s, r), JSON_COMPACT);
}

/* ---- CSV ---- */

static void csv_begin(tsri_cli_bench_writer *w) {
    tsri_cli_print(w->app,
                   "schema,engine,platform,device,driver,model,dtype,threads,test,kind,tokens,"
                   "depth,batch,status,unit,median,lowest,highest,runs,roofline,error,bound,"
                   "host_bytes,device_bytes,kernels,reason,predicted\n");
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
    const char *const who[] = {
        "tessera " TESSERA_VERSION, f->platform, f->name, f->driver, s->model, s->dtype};
    tsri_cli_print(w->app, "1,");
    for (size_t i = 0; i < sizeof who / sizeof *who; i++)
        csv_text(w, who[i], ",");
    tsri_cli_print(w->app, "%lld,", (long long)s->threads);
    csv_text(w, r->test, ",");
    tsri_cli_print(w->app, "%s,%lld,%lld,%lld,%s,%s,", kind_name(r->kind), (long long)r->tokens,
                   (long long)r->depth, (long long)r->batch, status_name(r->status), r->unit);
    if (r->status == TSR_BENCH_OK)
        tsri_cli_print(w->app, "%.9g,%.9g,%.9g,", r->median, r->lowest, r->highest);
    else
        tsri_cli_print(w->app, ",,,");
    tsri_cli_print(w->app, "%u,%.6g,%.6g,%.6g,%llu,%llu,", r->runs, r->roofline, r->error, r->bound,
                   (unsigned long long)r->host_bytes, (unsigned long long)r->device_bytes);
    csv_text(w, r->kernels, ",");
    csv_text(w, r->reason, ",");
    tsri_cli_print(w->app, "%.6g\n", r->predicted);
    tsri_cli_flush(w->app);
}

const tsri_cli_bench_format *tsri_cli_bench_format_named(const char *name) {
    static const tsri_cli_bench_format formats[] = {
        {"md", nothing, md_device, md_row, nothing},
        {"csv", csv_begin, no_device, csv_row, nothing},
        {"json", json_begin, json_device, json_row, json_end},
        {"jsonl", nothing, jsonl_device, jsonl_row, nothing}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!strcmp(formats[i].name, name))
            return &formats[i];
    return NULL;
}
