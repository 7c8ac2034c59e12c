/* cli/commands/classify.c - tessera classify: labels texts, pairs of texts, or the words of a text.
 */
#include "cli/base/json.h"
#include "cli/commands/commands.h"
#include "cli/reading/input.h"
#include "cli/shared/windows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    tsri_cli_app app;
    tsri_cli_source source;
    bool pair, next;
    int64_t top_k;
    tsr_classifier *classifier;
    tsr_classifier_kind kind;
    uint32_t labels;
    tsri_cli_windows windows; /* counts[0]: texts that were cut */
    tsr_string *seconds;      /* [TSRI_CLI_WINDOW] */
    float *scores;            /* [TSRI_CLI_WINDOW, labels] */
    uint32_t *order;          /* [labels] */
    char **joined;            /* operands, two joined into one text */
    tsri_cli_list pairs;
} job;

static int show_progress(void *data, uint64_t done, uint64_t total) {
    job *j = data;
    return tsri_cli_windows_progress(&j->windows, done, total);
}

/* ---- labels of texts ---- */

/* Puts the top_k largest first; of equal ones, the one with the lower number. */
static void rank(job *j, const float *scores) {
    for (uint32_t l = 0; l < j->labels; l++)
        j->order[l] = l;
    for (uint32_t k = 0; k < j->top_k; k++) {
        uint32_t best = k;
        for (uint32_t l = k + 1; l < j->labels; l++)
            if (scores[j->order[l]] > scores[j->order[best]] ||
                (scores[j->order[l]] == scores[j->order[best]] && j->order[l] < j->order[best]))
                best = l;
        const uint32_t found = j->order[best];
        j->order[best] = j->order[k];
        j->order[k] = found;
    }
}

static void print_scores(job *j, size_t i) {
    const float *scores = j->scores + i * j->labels;
    rank(j, scores);
    for (uint32_t k = 0; k < j->top_k && !j->app.stopped; k++) {
        if (j->windows.window.wrong[i])
            tsri_cli_write(&j->app, "\n", 1);
        else
            tsri_cli_print(&j->app, "%s\t%.6g\n", tsr_classifier_label(j->classifier, j->order[k]),
                           (double)scores[j->order[k]]);
    }
}

static void print_object(job *j, json_t *object) {
    tsri_cli_json_print(&j->app, object, JSON_COMPACT | JSON_REAL_PRECISION(9));
}

static void print_scores_json(job *j, size_t i) {
    const float *scores = j->scores + i * j->labels;
    json_t *list = j->windows.window.wrong[i] ? json_null() : json_array();
    rank(j, scores);
    for (uint32_t k = 0; k < j->top_k && !j->windows.window.wrong[i]; k++)
        tsri_cli_json_append(
            list, json_pack("{s:s,s:o}", "label", tsr_classifier_label(j->classifier, j->order[k]),
                            "score", tsri_cli_json_number((double)scores[j->order[k]])));
    print_object(j, json_pack("{s:I,s:o}", "line", (json_int_t)(j->windows.window.first + i),
                              "labels", list));
}

/* Splits "first<TAB>second": the text becomes the first. Of ranks that all have it, the first says
 * where there is no TAB. */
static void split_pair(job *j, size_t i) {
    tsr_string *text = &j->windows.window.texts[i];
    const char *tab = text->size ? memchr(text->data, '\t', text->size) : NULL;
    const size_t n = tab ? (size_t)(tab - text->data) : text->size;
    j->seconds[i] = (tsr_string){.data = tab ? tab + 1 : "", .size = tab ? text->size - n - 1 : 0};
    text->size = n;
    if (tab || j->windows.window.wrong[i])
        return;
    j->windows.window.wrong[i] = true;
    j->windows.window.n_wrong++;
    if (j->app.split_layers && j->app.rank)
        return;
    tsri_cli_clear_progress(&j->app);
    tsri_cli_fail(CLI_MISS, "%s %" PRIu64 ": no TAB separates two texts",
                  tsri_cli_source_unit(&j->source), j->windows.window.first + i);
}

static tsr_status label_texts(job *j, tsr_classify_stats *stats) {
    for (size_t i = 0; j->pair && i < j->windows.window.n; i++)
        split_pair(j, i);
    const tsr_status status =
        tsr_classify(j->classifier, j->windows.window.texts, j->pair ? j->seconds : NULL,
                     j->windows.window.n, j->scores, stats);
    for (size_t i = 0; status == TSR_OK && i < j->windows.window.n; i++)
        (j->app.json ? print_scores_json : print_scores)(j, i);
    return status;
}

/* ---- what a text names ---- */

static void print_spans_json(job *j, size_t text, const tsr_span *spans, size_t n) {
    json_t *list = json_array();
    const char *data = j->windows.window.texts[text].data;
    for (size_t i = 0; i < n; i++) {
        const tsr_span *s = &spans[i];
        const size_t size = s->end - s->begin;
        json_t *words = tsri_cli_utf8_until(data + s->begin, size) == size
                            ? json_stringn(data + s->begin, size)
                            : json_null();
        tsri_cli_json_append(list,
                             json_pack("{s:o,s:s,s:o,s:I,s:I}", "text", words, "label", s->label,
                                       "score", tsri_cli_json_number((double)s->score), "begin",
                                       (json_int_t)s->begin, "end", (json_int_t)s->end));
    }
    print_object(j, json_pack("{s:I,s:o}", "line", (json_int_t)(j->windows.window.first + text),
                              "spans", list));
}

static int visit_spans(void *data, size_t text, const tsr_span *spans, size_t n) {
    job *j = data;
    if (j->app.json) {
        print_spans_json(j, text, spans, n);
        return j->app.stopped || tsri_cli_signal();
    }
    for (size_t i = 0; i < n; i++) {
        tsri_cli_write_line(&j->app, j->windows.window.texts[text].data + spans[i].begin,
                            spans[i].end - spans[i].begin);
        tsri_cli_print(&j->app, "\t%s\t%.6g\t%zu\t%zu\n", spans[i].label, (double)spans[i].score,
                       spans[i].begin, spans[i].end);
    }
    tsri_cli_write(&j->app, "\n", 1);
    return j->app.stopped || tsri_cli_signal();
}

/* ---- the whole ---- */

static int classify_window(void *data) {
    job *j = data;
    const tsri_cli_window *w = &j->windows.window;
    tsr_classify_stats stats = {.struct_size = sizeof stats};
    const tsr_status status =
        j->kind == TSR_CLASSIFIER_TOKENS
            ? tsr_classify_tokens(j->classifier, w->texts, w->n, visit_spans, j, &stats)
            : label_texts(j, &stats);
    j->windows.counts[0] += stats.cut;
    tsri_cli_flush(&j->app);
    return tsri_cli_windows_status(&j->windows, status);
}

static int each_window(job *j) {
    tsri_cli_windows *w = &j->windows;
    w->progress = (tsri_cli_progress){.app = &j->app, .doing = "classifying", .unit = "texts"};
    w->source = &j->source;
    w->work = classify_window;
    w->data = j;
    const int code = tsri_cli_windows_run(w);
    if ((code == CLI_OK || code == CLI_MISS) && w->sums[0])
        tsri_cli_note(&j->app,
                      "%" PRIu64 " of %" PRIu64
                      " texts were longer than the model can read, and were "
                      "cut",
                      w->sums[0], w->done);
    return code;
}

static int open_classifier(job *j) {
    int code = tsri_cli_open_model(&j->app);
    if (code != CLI_OK)
        return code;
    const tsr_classify_options options = {.struct_size = sizeof options,
                                          .next = j->next,
                                          .max_tokens = j->app.context,
                                          .progress = show_progress,
                                          .progress_data = j};
    code = tsri_cli_status(tsr_classifier_create(j->app.model, &options, &j->classifier));
    if (code != CLI_OK)
        return code;
    j->kind = tsr_classifier_kind_of(j->classifier);
    j->labels = tsr_classifier_labels(j->classifier);
    if (j->kind == TSR_CLASSIFIER_SPANS)
        return tsri_cli_fail(CLI_FILE, "%s answers questions about a text: use tessera answer",
                             j->app.model_name);
    j->top_k = j->top_k < j->labels ? j->top_k : j->labels;
    if (j->kind == TSR_CLASSIFIER_TOKENS && j->pair)
        return tsri_cli_fail(
            CLI_USAGE, "%s labels the words of a text: --pair needs a classifier of whole texts",
            j->app.model_name);
    j->scores = calloc(TSRI_CLI_WINDOW, j->labels * sizeof *j->scores);
    j->seconds = calloc(TSRI_CLI_WINDOW, sizeof *j->seconds);
    j->order = calloc(j->labels, sizeof *j->order);
    return j->scores && j->seconds && j->order ? CLI_OK : tsri_cli_fail(CLI_OTHER, "out of memory");
}

/* With --pair, each two operands are the texts of a pair. */
static int join_operands(job *j, const tsri_cli_list *operands) {
    j->source.texts = operands;
    if (!j->pair || !operands->n)
        return CLI_OK;
    if (operands->n % 2)
        return tsri_cli_fail(
            CLI_USAGE, "--pair needs an even number of texts, two for each pair; %zu were given",
            operands->n);
    j->pairs.n = operands->n / 2;
    j->joined = calloc(j->pairs.n, sizeof *j->joined);
    j->pairs.items = calloc(j->pairs.n, sizeof *j->pairs.items);
    for (size_t i = 0; j->joined && j->pairs.items && i < j->pairs.n; i++) {
        const char *first = operands->items[2 * i], *second = operands->items[2 * i + 1];
        if (strchr(first, '\t'))
            return tsri_cli_fail(CLI_USAGE, "%s: the first text of a pair must not contain a TAB",
                                 first);
        if (asprintf(&j->joined[i], "%s\t%s", first, second) < 0)
            j->joined[i] = NULL;
        j->pairs.items[i] = j->joined[i] ? j->joined[i] : "";
    }
    j->source.texts = &j->pairs;
    return j->joined && j->pairs.items ? CLI_OK : tsri_cli_fail(CLI_OTHER, "out of memory");
}

int tsri_cli_classify(int argc, char **argv) {
    job j = {.top_k = 1};
    tsri_cli_list operands = {0};
    const tsri_cli_option own[] = {
        {"file", 'f', CLI_TEXT, &j.source.path, "FILE",
         "one text per line; - is standard input, the default", 0, 0, NULL},
        {"top-k", 'k', CLI_INT, &j.top_k, "K",
         "print the K most likely labels of each text (default: 1)", 1, 1 << 20, NULL},
        {"pair", 0, CLI_FLAG, &j.pair, NULL,
         "label pairs of texts: two texts per line with a TAB between them, or two operands per "
         "pair",
         0, 0, NULL},
        {"next-sentence", 0, CLI_FLAG, &j.next, NULL,
         "tell whether the second text of a pair follows the first: next or random", 0, 0, NULL},
        {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_lines_options(&j.source),
                                       tsri_cli_split_options(&j.app),
                                       tsri_cli_running_options(&j.app, true), NULL};
    int code = tsri_cli_parse(
        argc, argv, "tessera classify -m MODEL [--top-k K] [TEXT... | -f FILE|-]",
        "Labels each text with the model's classifier, and prints K lines \"label<TAB>score\" per "
        "text. A score\nis a probability, or the number itself for a regression (config.json's "
        "problem_type). A model that\nlabels words gives the names in each text as "
        "\"words<TAB>label<TAB>score<TAB>begin<TAB>end\" (begin\nand end in bytes), with an empty "
        "line after each text.",
        tables, &operands);
    if (code == CLI_OK && !j.app.model_name)
        code = tsri_cli_fail(CLI_USAGE, "classify needs -m MODEL, a model with a classifier");
    if (code == CLI_OK && operands.n && j.source.path)
        code = tsri_cli_fail(CLI_USAGE, "%s: give texts or -f FILE, not both", operands.items[0]);
    j.pair |= j.next;
    if (code == CLI_OK)
        code = join_operands(&j, &operands);
    if (code == CLI_OK)
        code = tsri_cli_open_ranks(&j.app, argv[0], tables);
    if (code == CLI_OK)
        code = open_classifier(&j);
    if (code == CLI_OK)
        code = each_window(&j);
    tsri_cli_windows_clear(&j.windows);
    tsr_classifier_destroy(&j.classifier);
    for (size_t i = 0; j.joined && i < j.pairs.n; i++)
        free(j.joined[i]);
    free(j.joined);
    free(j.pairs.items);
    free(j.seconds);
    free(j.scores);
    free(j.order);
    free(operands.items);
    return tsri_cli_close(&j.app, code);
}
