/* task/results/report_page.c - results as one file for a browser: report.html with the numbers in
 * it. The files go into it as they are, but for samples of long rows; the page draws them. */
#include "task/results/results.h"
#include "task/show/html_page.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SAMPLES = 200 }; /* drawn as dots; more are thinned evenly by order */

static json_t *samples_json(const tsri_results_row *r) {
    json_t *list = json_array();
    const size_t n = r->n < MOST_SAMPLES ? r->n : MOST_SAMPLES;
    for (size_t i = 0; i < n; i++)
        tsri_base_json_append(list, json_real(r->samples[n < 2 ? 0 : i * (r->n - 1) / (n - 1)]));
    return list;
}

/* Of a run at the row's median. */
static json_t *seconds_json(const tsri_results_row *r) {
    const double seconds = r->n ? tsri_results_seconds(r, r->median) : 0;
    return seconds > 0 ? json_real(seconds) : json_null();
}

/* Devices without rows, with the reason. */
static json_t *unmeasured_json(const tsr_results *t) {
    json_t *list = json_array();
    const json_t *device;
    size_t d;
    json_array_foreach(t->devices, d, device) {
        if (tsri_results_has_rows(t, d))
            continue;
        json_t *one = json_object();
        tsri_base_json_put(one, "name", json_string(tsri_results_text(device, "name")));
        tsri_base_json_put(one, "reason", json_string(tsri_results_unmeasured(t, device)));
        tsri_base_json_append(list, one);
    }
    return list;
}

/* Of each device, what sensors said beside its rows. */
static json_t *sensors_json(const tsr_results *t) {
    json_t *list = json_array();
    for (size_t d = 0; d < json_array_size(t->devices); d++) {
        tsri_bytes text = {0};
        const tsr_status status = tsri_results_sensors(t, d, &text);
        tsri_base_json_append(list, json_string(status == TSR_OK ? text.data : ""));
        tsri_base_bytes_clear(&text);
    }
    return list;
}

static json_t *file_json(const tsr_results *t) {
    json_t *file = json_copy(t->root), *rows = json_array();
    for (size_t i = 0; i < t->n; i++) {
        json_t *row = json_copy((json_t *)t->rows[i].json);
        tsri_base_json_put(row, "samples", samples_json(&t->rows[i]));
        tsri_base_json_put(row, "runs", json_integer((json_int_t)t->rows[i].n));
        tsri_base_json_put(row, "run_seconds", seconds_json(&t->rows[i]));
        tsri_base_json_append(rows, row);
    }
    tsri_base_json_put(file, "rows", rows);
    tsri_base_json_put(file, "unmeasured", unmeasured_json(t));
    tsri_base_json_put(file, "sensors", sensors_json(t));
    tsri_base_json_put(file, "file", json_string(t->name));
    return file;
}

tsr_status tsri_results_html(const tsr_results *const *results, size_t count, tsri_bytes *out) {
    json_t *files = json_array();
    for (size_t f = 0; f < count; f++)
        tsri_base_json_append(files, file_json(results[f]));
    json_t *all = json_pack("{s:s,s:o}", "version", TESSERA_VERSION, "files", files);
    char *json = tsri_base_json_print(all, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(all);
    const tsr_status status =
        json
            ? tsri_task_html_page_append(tsri_task_html_page_find("results/report.html"), json, out)
            : tsri_base_fail(TSR_E_HOST_MEMORY, "no memory for the page");
    free(json);
    return status;
}
