/* cli/commands/evaluate/labels.c - tessera evaluate --labelled: measures how often a classifier is
 * right. */
#include "cli/base/json.h"
#include "cli/commands/evaluate/evaluate.h"
#include "cli/reading/input.h"
#include "cli/reading/texts.h"
#include "cli/shared/windows.h"

#include <stdlib.h>
#include <string.h>

typedef struct work {
    tsri_cli_evaluation *job;
    tsr_classifier *classifier;
    uint32_t labels;
    tsri_cli_texts texts, names; /* names: the label that each text should get */
    uint32_t *wanted, *given;    /* [texts] */
    float *scores;               /* [TSRI_CLI_WINDOW, labels] */
    tsr_label_score *each;       /* [labels] */
    tsri_cli_windows windows;    /* counts[0]: texts that were cut */
    size_t read, done;           /* texts */
} work;

static int show_progress(void *data, uint64_t done, uint64_t total) {
    work *w = data;
    return tsri_cli_windows_progress(&w->windows, done, total);
}

/* ---- the file ---- */

/* Reads a column of a table, or a field of a JSON Lines file, which begins with a brace. */
static int read_column(tsri_cli_evaluation *j, const tsr_string *held, const char *name,
                       tsri_cli_texts *out) {
    const bool json = held->data[strspn(held->data, " \n\r\t")] == '{';
    tsri_cli_source source = {
        .path = j->labelled, .numbers = true, .encoding = j->encoding, .held = held};
    *(json ? &source.field : &source.column) = name;
    return tsri_cli_texts_read(&j->app, out, &source);
}

/* The file is read once: it may be a pipe. */
static int read_file(work *w) {
    tsri_cli_evaluation *j = w->job;
    char *text;
    tsr_string held = {0};
    int code = tsri_cli_read_input(&j->app, j->labelled, j->encoding, &text, &held.size);
    held.data = text;
    if (code == CLI_OK)
        code = read_column(j, &held, j->text_field ? j->text_field : "text", &w->texts);
    if (code == CLI_OK)
        code = read_column(j, &held, j->label_field ? j->label_field : "label", &w->names);
    if (code == CLI_OK && !w->texts.n)
        code = tsri_cli_fail(CLI_FILE, "%s has a header and no texts", j->labelled);
    free(text);
    return code;
}

/* ---- labels ---- */

static int open_classifier(work *w) {
    static const char *const kinds[] = {"one label a text", "any number of labels a text",
                                        "a number a text",  "a label a word",
                                        "next or random",   "where an answer begins and ends"};
    tsri_cli_app *app = &w->job->app;
    const tsr_classify_options options = {.struct_size = sizeof options,
                                          .max_tokens = app->context,
                                          .progress = show_progress,
                                          .progress_data = w};
    int code = app->model_name
                   ? tsri_cli_open_model(app)
                   : tsri_cli_fail(CLI_USAGE,
                                   "evaluate --labelled needs -m MODEL, a model with a classifier");
    if (code == CLI_OK)
        code = tsri_cli_status(tsr_classifier_create(app->model, &options, &w->classifier));
    if (code != CLI_OK)
        return code;
    const tsr_classifier_kind kind = tsr_classifier_kind_of(w->classifier);
    if (kind != TSR_CLASSIFIER_SINGLE)
        return tsri_cli_fail(
            CLI_USAGE,
            "%s gives %s; accuracy and F1 need a classifier that gives each text exactly one label",
            app->model_name, kinds[kind]);
    w->labels = tsr_classifier_labels(w->classifier);
    w->wanted = calloc(w->texts.n, sizeof *w->wanted);
    w->given = calloc(w->texts.n, sizeof *w->given);
    w->scores = calloc(TSRI_CLI_WINDOW, w->labels * sizeof *w->scores);
    w->each = calloc(w->labels, sizeof *w->each);
    return w->wanted && w->given && w->scores && w->each
               ? CLI_OK
               : tsri_cli_fail(CLI_OTHER, "out of memory");
}

/* Finds a label by its name, or by its number where no label has that name. */
static bool find_label(const work *w, const tsr_string *name, uint32_t *out) {
    char *end;
    for (uint32_t l = 0; l < w->labels; l++) {
        const char *known = tsr_classifier_label(w->classifier, l);
        if (strlen(known) == name->size && !memcmp(known, name->data, name->size)) {
            *out = l;
            return true;
        }
    }
    const unsigned long number = strtoul(name->data, &end, 10);
    *out = (uint32_t)number;
    return name->size && name->size < 10 && strspn(name->data, "0123456789") == name->size &&
           number < w->labels;
}

static int no_label(const work *w, size_t i) {
    char some[256] = "";
    size_t used = 0;
    for (uint32_t l = 0; l < w->labels && used < 120; l++) {
        const int put = snprintf(some + used, sizeof some - used, "%s%.60s", l ? ", " : "",
                                 tsr_classifier_label(w->classifier, l));
        used += put > 0 ? (size_t)put : 0;
    }
    return tsri_cli_fail(CLI_FILE,
                         "%s: text %zu has the label \"%.60s\", which is not one of %s's %u%s%s%s",
                         w->job->labelled, i + 1, w->names.items[i].data, w->job->app.model_name,
                         w->labels, ": ", some, used >= 120 ? ", ..." : "");
}

static int find_labels(work *w) {
    for (size_t i = 0; i < w->names.n; i++)
        if (!find_label(w, &w->names.items[i], &w->wanted[i]))
            return no_label(w, i);
    return CLI_OK;
}

static uint32_t best(const float *scores, uint32_t n) {
    uint32_t found = 0;
    for (uint32_t l = 1; l < n; l++)
        found = scores[l] > scores[found] ? l : found;
    return found;
}

static int fill(void *data, size_t most, tsri_cli_window *window) {
    work *w = data;
    return tsri_cli_windows_add(&w->windows, w->texts.items, w->texts.n, &w->read, most, window);
}

/* Captures the number of each text's label. */
static int classify_window(void *data) {
    work *w = data;
    const tsri_cli_window *window = &w->windows.window;
    tsr_classify_stats stats = {.struct_size = sizeof stats};
    const tsr_status status =
        tsr_classify(w->classifier, window->texts, NULL, window->n, w->scores, &stats);
    w->windows.counts[0] += stats.cut;
    for (size_t i = 0; status == TSR_OK && i < window->n; i++) {
        const uint32_t label = best(w->scores + i * w->labels, w->labels);
        tsri_cli_write(&w->job->app, &label, sizeof label);
    }
    return tsri_cli_windows_status(&w->windows, status);
}

static int take_labels(void *data, const char *bytes, size_t n) {
    work *w = data;
    memcpy(w->given + w->done, bytes, n);
    w->done += n / sizeof *w->given;
    return CLI_OK;
}

static int classify(work *w) {
    w->windows.progress =
        (tsri_cli_progress){.app = &w->job->app, .doing = "classifying", .unit = "texts"};
    w->windows.fill = fill;
    w->windows.work = classify_window;
    w->windows.take = take_labels;
    w->windows.data = w;
    w->windows.total = w->texts.n;
    w->windows.always = w->windows.no_summary = true;
    return tsri_cli_windows_run(&w->windows);
}

/* ---- what is printed ---- */

static void show(work *w, const tsr_label_scores *s) {
    tsri_cli_app *app = &w->job->app;
    size_t width = 5;
    for (uint32_t l = 0; l < w->labels; l++) {
        const size_t n = strlen(tsr_classifier_label(w->classifier, l));
        width = n > width ? n : width;
    }
    tsri_cli_print(app, "%-14s %.4f, %llu of %llu texts\n", "accuracy", s->accuracy,
                   (unsigned long long)s->right, (unsigned long long)s->texts);
    tsri_cli_print(app, "%-14s %.4f, precision %.4f, recall %.4f\n", "macro F1", s->macro_f1,
                   s->macro_precision, s->macro_recall);
    tsri_cli_print(app, "%-14s %.4f\n%-14s %.4f\n\n", "micro F1", s->micro_f1, "weighted F1",
                   s->weighted_f1);
    tsri_cli_print(app, "%-*s  precision  recall      F1   texts   given\n", (int)width, "label");
    for (uint32_t l = 0; l < w->labels; l++) {
        const tsr_label_score *e = &w->each[l];
        tsri_cli_print(app, "%-*s  %9.4f  %6.4f  %6.4f  %6llu  %6llu\n", (int)width,
                       tsr_classifier_label(w->classifier, l), e->precision, e->recall, e->f1,
                       (unsigned long long)e->wanted, (unsigned long long)e->given);
    }
}

static void show_json(work *w, const tsr_label_scores *s) {
    json_t *labels = json_array();
    for (uint32_t l = 0; l < w->labels; l++) {
        const tsr_label_score *e = &w->each[l];
        tsri_cli_json_append(
            labels, json_pack("{s:s,s:f,s:f,s:f,s:I,s:I,s:I}", "label",
                              tsr_classifier_label(w->classifier, l), "precision", e->precision,
                              "recall", e->recall, "f1", e->f1, "texts", (json_int_t)e->wanted,
                              "given", (json_int_t)e->given, "right", (json_int_t)e->right));
    }
    tsri_cli_json_print(&w->job->app,
                        json_pack("{s:i,s:o,s:I,s:I,s:f,s:f,s:f,s:f,s:f,s:f,s:o}", "schema", 1,
                                  "file", tsri_cli_json_string(w->job->labelled), "texts",
                                  (json_int_t)s->texts, "right", (json_int_t)s->right, "accuracy",
                                  s->accuracy, "micro_f1", s->micro_f1, "macro_f1", s->macro_f1,
                                  "macro_precision", s->macro_precision, "macro_recall",
                                  s->macro_recall, "weighted_f1", s->weighted_f1, "labels", labels),
                        JSON_INDENT(1));
}

int tsri_cli_evaluate_labels(tsri_cli_evaluation *job) {
    work w = {.job = job};
    tsr_label_scores scores = {.struct_size = sizeof scores};
    const bool first = job->app.rank == 0;
    int code = first ? read_file(&w) : CLI_OK;
    if (code == CLI_OK)
        code = open_classifier(&w);
    if (code == CLI_OK)
        code = find_labels(&w);
    if (code == CLI_OK)
        code = classify(&w);
    if (code == CLI_OK && first)
        code = tsri_cli_status(
            tsr_evaluate_labels(w.given, w.wanted, w.texts.n, w.labels, w.each, &scores));
    if (code == CLI_OK && first) {
        (job->app.json ? show_json : show)(&w, &scores);
        if (w.windows.sums[0])
            tsri_cli_note(&job->app, "%llu texts were longer than the model can read, and were cut",
                          (unsigned long long)w.windows.sums[0]);
    }
    tsri_cli_windows_clear(&w.windows);
    tsr_classifier_destroy(&w.classifier);
    tsri_cli_texts_clear(&w.texts);
    tsri_cli_texts_clear(&w.names);
    free(w.wanted);
    free(w.given);
    free(w.scores);
    free(w.each);
    return code;
}
