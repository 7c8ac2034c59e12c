/* task/results/report_text.c - results as Markdown for people, and as CSV. */
#include "task/results/results.h"

#include "base/error.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- Markdown ---- */

/* A cell's text: what Markdown would take as its own is escaped. */
static tsr_status cell(tsri_bytes *out, const char *text) {
    for (; text && *text; text++) {
        if (strchr("|\\`*_<>[]", *text))
            TRY(tsri_base_bytes_append(out, "\\", 1));
        TRY(tsri_base_bytes_append(out, strchr("\r\n\t", *text) ? " " : text, 1));
    }
    return TSR_OK;
}

static tsr_status md_head(const tsr_results *t, size_t d, tsri_bytes *out) {
    const json_t *device = json_array_get(t->devices, d);
    const char *class_name = tsri_results_text(t->suite, "class"),
               *cpu = tsri_results_text(t->host, "cpu"), *os = tsri_results_text(t->host, "os");
    char engine[TSRI_RESULTS_NAME];
    tsri_results_engine_name(t, engine);
    TRY(tsri_base_bytes_append(out, "## ", 3));
    TRY(cell(out, tsri_results_text(device, "name")));
    TRY(tsri_base_bytes_append(out, "\n\n", 2));
    TRY(cell(out, engine));
    TRY(tsri_base_bytes_printf(
        out, ", %s %" PRId64 "%s%s%s, began ", tsri_results_text(t->suite, "name"),
        tsri_results_whole(t->suite, "version"), class_name ? " class " : "",
        class_name ? class_name : "", tsri_results_is_partial(t) ? ", partial" : ""));
    TRY(cell(out, tsri_results_text(t->suite, "began")));
    TRY(tsri_base_bytes_append(out, ", on ", 5));
    TRY(cell(out, cpu ? cpu : "a host of unknown CPU"));
    TRY(tsri_base_bytes_append(out, ", ", 2));
    TRY(cell(out, os ? os : "unknown OS"));
    TRY(tsri_base_bytes_append(out, ", platform ", 11));
    TRY(cell(out, tsri_results_text(device, "platform")));
    TRY(tsri_base_bytes_append(out, ", driver ", 9));
    TRY(cell(out, tsri_results_text(device, "driver")));
    TRY(tsri_base_bytes_append(out, ", ", 2));
    TRY(tsri_results_sensors(t, d, out));
    static const char table[] =
        ".\n\n| model | test | class | batch | median | p90 | p99 | lowest .. "
        "highest | roofline | bound by "
        "| said |\n|---|---|---|---:|---:|---:|---:|---:|---:|---|---|\n";
    return tsri_base_bytes_append(out, table, sizeof table - 1);
}

/* A device that was left out, or that failed before its first row. */
static tsr_status md_unmeasured(const tsr_results *t, const json_t *device, tsri_bytes *out) {
    TRY(tsri_base_bytes_append(out, "## ", 3));
    TRY(cell(out, tsri_results_text(device, "name")));
    TRY(tsri_base_bytes_append(out, "\n\nNothing was measured: ", 24));
    TRY(cell(out, tsri_results_unmeasured(t, device)));
    return tsri_base_bytes_append(out, ".\n", 2);
}

/* "noisy; throttled: why" */
static tsr_status said(const tsri_results_row *r, tsri_bytes *out) {
    const bool ok = !strcmp(r->status, "ok");
    TRY(cell(out, r->peer ? r->peer : ""));
    TRY(cell(out, r->peer && (r->noisy || !ok || *r->reason) ? "; " : ""));
    TRY(cell(out, r->noisy ? "noisy" : ""));
    TRY(cell(out, r->noisy && (!ok || *r->reason) ? "; " : ""));
    TRY(cell(out, ok ? "" : r->status));
    TRY(cell(out, !ok && *r->reason ? ": " : ""));
    return cell(out, r->reason);
}

static tsr_status md_row(const tsri_results_row *r, tsri_bytes *out) {
    char value[5][TSRI_RESULTS_VALUE], share[24] = "", batch[24] = "";
    const double values[] = {r->median, r->p90, r->p99, r->lowest, r->highest};
    for (int i = 0; i < 5; i++)
        tsri_results_print_value(values[i], r->unit, value[i]);
    if (isfinite(r->roofline))
        snprintf(share, sizeof share, "%.0f %%", r->roofline * 100);
    if (r->batch >= 0)
        snprintf(batch, sizeof batch, "%" PRId64, r->batch);
    TRY(tsri_base_bytes_append(out, "| ", 2));
    TRY(cell(out, r->model_name));
    TRY(tsri_base_bytes_append(out, " | ", 3));
    TRY(cell(out, r->test));
    TRY(tsri_base_bytes_printf(out, " | %s | %s | %s | %s | %s | %s .. %s | %s | %s | ",
                               r->class_name ? r->class_name : "", batch, value[0], value[1],
                               value[2], value[3], value[4], share,
                               r->bound_by ? r->bound_by : ""));
    TRY(said(r, out));
    return tsri_base_bytes_append(out, " |\n", 3);
}

tsr_status tsri_results_md(const tsr_results *const *results, size_t count, tsri_bytes *out) {
    for (size_t f = 0; f < count; f++) {
        const tsr_results *t = results[f];
        for (size_t d = 0; d < json_array_size(t->devices); d++) {
            if (out->size)
                TRY(tsri_base_bytes_append(out, "\n", 1));
            if (!tsri_results_has_rows(t, d)) {
                TRY(md_unmeasured(t, json_array_get(t->devices, d), out));
                continue;
            }
            TRY(md_head(t, d, out));
            for (size_t i = 0; i < t->n; i++)
                if (t->rows[i].device_index == d)
                    TRY(md_row(&t->rows[i], out));
        }
    }
    return tsri_base_bytes_append(out, "", 0);
}

/* ---- CSV ---- */

/* A field in quotes; a spreadsheet takes text that begins like a formula for one, so it gets a '. */
static tsr_status field(tsri_bytes *out, const char *text) {
    TRY(tsri_base_bytes_append(out, "\"", 1));
    if (text && strchr("=+-@", *text) && *text)
        TRY(tsri_base_bytes_append(out, "'", 1));
    for (; text && *text; text++)
        TRY(tsri_base_bytes_append(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1));
    return tsri_base_bytes_append(out, "\",", 2);
}

static tsr_status csv_number(tsri_bytes *out, double value) {
    return isfinite(value) ? tsri_base_bytes_printf(out, "%.10g,", value)
                           : tsri_base_bytes_append(out, ",", 1);
}

static tsr_status csv_whole(tsri_bytes *out, int64_t value) {
    return value >= 0 ? tsri_base_bytes_printf(out, "%" PRId64 ",", value)
                      : tsri_base_bytes_append(out, ",", 1);
}

static tsr_status csv_row(const tsr_results *t, const tsri_results_row *r, tsri_bytes *out) {
    const char *const texts[] = {t->name,
                                 tsri_results_text(t->engine, "version"),
                                 tsri_results_text(t->engine, "commit"),
                                 tsri_results_text(t->suite, "name"),
                                 tsri_results_text(t->suite, "class"),
                                 tsri_results_text(t->suite, "began"),
                                 tsri_results_text(r->device, "platform"),
                                 tsri_results_text(r->device, "name"),
                                 tsri_results_text(r->device, "driver"),
                                 r->peer,
                                 r->model_name,
                                 tsri_results_text(r->model, "dtype"),
                                 tsri_results_text(r->model, "kv_dtype"),
                                 tsri_results_text(r->model, "compute"),
                                 r->model_hash,
                                 r->test,
                                 r->kind,
                                 r->class_name,
                                 r->scenario,
                                 r->status,
                                 r->unit,
                                 r->bound_by,
                                 r->reason};
    const double numbers[] = {r->median,
                              r->lowest,
                              r->highest,
                              r->p90,
                              r->p99,
                              r->roofline,
                              r->predicted,
                              tsri_results_number(r->json, "first_token"),
                              tsri_results_number(r->json, "per_token"),
                              r->flops,
                              r->bytes};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        TRY(field(out, texts[i]));
    TRY(csv_whole(out, r->tokens));
    TRY(csv_whole(out, r->depth));
    TRY(csv_whole(out, r->batch));
    TRY(tsri_base_bytes_printf(out, "%d,%zu,", r->noisy, r->n));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        TRY(csv_number(out, numbers[i]));
    for (size_t i = 0; i < r->n; i++)
        TRY(tsri_base_bytes_printf(out, "%s%.10g", i ? " " : "", r->samples[i]));
    return tsri_base_bytes_append(out, "\r\n", 2);
}

tsr_status tsri_results_csv(const tsr_results *const *results, size_t count, tsri_bytes *out) {
    static const char head[] =
        "file,version,commit,suite,suite_class,began,platform,device,driver,peer,model,dtype,"
        "kv_dtype,compute,model_hash,test,kind,class,scenario,status,unit,bound_by,reason,tokens,"
        "depth,batch,noisy,"
        "runs,median,lowest,highest,p90,p99,roofline,predicted,first_token,per_token,flops,bytes,"
        "samples\r\n";
    TRY(tsri_base_bytes_append(out, head, sizeof head - 1));
    for (size_t f = 0; f < count; f++)
        for (size_t i = 0; i < results[f]->n; i++)
            TRY(csv_row(results[f], &results[f]->rows[i], out));
    return TSR_OK;
}
