/* task/show/plot.c - writes the logs of training runs as one page: plot.html with the numbers in
 * it.
 */
#include "tessera/plot.h"

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/structs.h"
#include "task/show/html_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LOG = 1 << 30, MOST_DRAWN = 4000, DEPTH = 8 };

typedef struct series {
    double *steps, *values;
    size_t n, steps_room, values_room;
} series;

/* The fields of a log that are drawn; `other` is another name for the same field, or
 * NULL. */
static const struct {
    const char *name, *other;
} fields[] = {
    {"loss", "train_loss"},         {"eval_loss", "validation_loss"},      {"lr", "learning_rate"},
    {"grad_norm", "gradient_norm"}, {"tokens_per_second", "tokens_per_s"}, {"waiting", NULL}};
enum { FIELDS = sizeof fields / sizeof *fields };

typedef struct run {
    char *name;
    series drawn[FIELDS];
} run;

struct tsr_plot {
    run *runs;
    size_t n, room;
};

tsr_status tsr_plot_create(tsr_plot **out) {
    TRY(NEED(out));
    return tsri_base_new(1, sizeof **out, out);
}

static void clear_run(run *r) {
    for (int f = 0; f < FIELDS; f++) {
        free(r->drawn[f].steps);
        free(r->drawn[f].values);
    }
    free(r->name);
}

void tsr_plot_destroy(tsr_plot **plot) {
    if (!*plot)
        return;
    for (size_t i = 0; i < (*plot)->n; i++)
        clear_run(&(*plot)->runs[i]);
    free((*plot)->runs);
    free(*plot);
    *plot = NULL;
}

/* ---- a log ---- */

static tsr_status add_number(series *s, double step, double value) {
    while (s->n && s->steps[s->n - 1] >= step)
        s->n--;
    TRY(tsri_base_grow(&s->steps, &s->steps_room, s->n + 1, sizeof *s->steps));
    TRY(tsri_base_grow(&s->values, &s->values_room, s->n + 1, sizeof *s->values));
    s->steps[s->n] = step;
    s->values[s->n++] = value;
    return TSR_OK;
}

/* Drops what was logged after this step: a resumed run does these steps again. */
static void forget_from(run *r, double step) {
    for (int f = 0; f < FIELDS; f++)
        while (r->drawn[f].n && r->drawn[f].steps[r->drawn[f].n - 1] > step)
            r->drawn[f].n--;
}

/* *used: the line is a JSON object. A line without "step" has other information, and is skipped. */
static tsr_status add_line(run *r, const char *line, size_t n, bool *used) {
    json_t *object = NULL;
    tsr_status status = tsri_base_json_parse(line, n, DEPTH, "log", &object);
    if (status == TSR_E_HOST_MEMORY)
        return status;
    const json_t *step = status == TSR_OK ? json_object_get(object, "step") : NULL;
    *used = status == TSR_OK && json_is_object(object);
    status = TSR_OK;
    if (json_is_number(step))
        forget_from(r, json_number_value(step));
    for (int f = 0; f < FIELDS && json_is_number(step) && status == TSR_OK; f++) {
        const json_t *value = json_object_get(object, fields[f].name);
        value = value ? value : json_object_get(object, fields[f].other);
        if (json_is_number(value) && isfinite(json_number_value(value)))
            status = add_number(&r->drawn[f], json_number_value(step), json_number_value(value));
    }
    json_decref(object);
    return status;
}

static bool is_blank(const char *line, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!strchr(" \t\r", line[i]))
            return false;
    return true;
}

static tsr_status add_lines(run *r, const tsri_bytes *text, tsr_plot_log *log) {
    uint64_t number = 0;
    for (size_t at = 0; at < text->size;) {
        const char *line = text->data + at, *end = memchr(line, '\n', text->size - at);
        const size_t n = end ? (size_t)(end - line) : text->size - at;
        bool used = true;
        number++;
        if (!is_blank(line, n))
            TRY(add_line(r, line, n, &used));
        if (!used && !end)
            log->cut = 1;
        else if (!used && !log->skipped++)
            log->first_skipped = number;
        at += n + (end != NULL);
    }
    for (int f = 0; f < FIELDS; f++)
        log->points += r->drawn[f].n;
    return TSR_OK;
}

tsr_status tsr_plot_add(tsr_plot *plot, const char *path, const char *name, tsr_plot_log *out) {
    TRY(NEED(plot));
    TRY(NEED(path));
    TRY(NEED(name));
    tsr_plot_log log = {.struct_size = sizeof log};
    tsri_bytes text = {0};
    run r = {0};
    TRY(tsri_base_check_out("tsr_plot_log", out));
    TRY(tsri_base_read_whole(path, MOST_LOG, &text));
    r.name = tsri_base_copy_text(name, strlen(name));
    if (r.name) /* a file's name may be any bytes */
        r.name[tsr_plain_text(r.name, strlen(r.name))] = '\0';
    tsr_status status = r.name ? add_lines(&r, &text, &log) : TSR_E_HOST_MEMORY;
    tsri_base_bytes_clear(&text);
    if (status == TSR_OK && !log.points)
        status = tsri_base_fail(TSR_E_FORMAT,
                                "%s: no line is a step of a training run, which is a JSON object "
                                "with \"step\" and \"loss\"",
                                path);
    if (status == TSR_OK)
        status = tsri_base_grow(&plot->runs, &plot->room, plot->n + 1, sizeof *plot->runs);
    if (status != TSR_OK) {
        clear_run(&r);
        return status;
    }
    plot->runs[plot->n++] = r;
    tsri_base_give(&log, sizeof log, out);
    return TSR_OK;
}

/* ---- the page ---- */

/* [[steps], [values]]: means over `every` neighbours, each at the step of the last of them. */
static json_t *series_json(const series *s) {
    json_t *steps = json_array(), *values = json_array();
    const size_t every = (s->n + MOST_DRAWN - 1) / MOST_DRAWN;
    for (size_t i = 0; i < s->n; i += every) {
        const size_t end = i + every < s->n ? i + every : s->n;
        double sum = 0;
        for (size_t k = i; k < end; k++)
            sum += s->values[k];
        tsri_base_json_append(steps, json_real(s->steps[end - 1]));
        tsri_base_json_append(values, json_real(sum / (double)(end - i)));
    }
    return json_pack("[o,o]", steps, values);
}

static json_t *run_json(const run *r) {
    json_t *drawn = json_object();
    for (int f = 0; f < FIELDS; f++)
        if (r->drawn[f].n)
            tsri_base_json_put(drawn, fields[f].name, series_json(&r->drawn[f]));
    return json_pack("{s:s,s:o}", "name", r->name, "series", drawn);
}

tsr_status tsr_plot_write_page(const tsr_plot *plot, const char *path) {
    TRY(NEED(plot));
    TRY(NEED(path));
    if (!plot->n)
        return tsri_base_fail(TSR_E_STATE, "no run was added; a page needs at least one");
    tsri_bytes page = {0};
    json_t *runs = json_array();
    for (size_t i = 0; i < plot->n; i++)
        tsri_base_json_append(runs, run_json(&plot->runs[i]));
    json_t *all = json_pack("{s:s,s:o}", "version", TESSERA_VERSION, "runs", runs);
    char *json = tsri_base_json_print(all, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(all);
    tsr_status status =
        json ? tsri_task_html_page_append(tsri_task_html_page_find("show/plot.html"), json, &page)
             : tsri_base_fail(TSR_E_HOST_MEMORY, "no memory for the page");
    if (status == TSR_OK)
        status = tsri_base_write_whole(path, page.data, page.size);
    free(json);
    tsri_base_bytes_clear(&page);
    return status;
}
