/* cli/commands/evaluate/translations.c - tessera evaluate --parallel and --hypotheses: BLEU and
 * chrF. */
#include "cli/base/json.h"
#include "cli/commands/evaluate/evaluate.h"
#include "cli/reading/texts.h"
#include "cli/shared/translating.h"

#include <stdlib.h>
#include <string.h>

typedef struct work {
    tsri_cli_evaluation *job;
    tsri_cli_texts sources, references, translations;
    tsri_cli_translating translating;
    size_t taken; /* sources */
    bool bleu, chrf;
} work;

/* ---- scores ---- */

static int choose_metrics(work *w) {
    const char *list = w->job->metrics ? w->job->metrics : "bleu,chrf";
    for (const char *at = list;; at++) {
        const size_t n = strcspn(at, ",");
        const bool bleu = n == 4 && !strncmp(at, "bleu", n);
        const bool chrf = n == 4 && !strncmp(at, "chrf", n);
        if (!bleu && !chrf)
            return tsri_cli_fail(CLI_USAGE,
                                 "--metric %s: %.*s is not a metric; give bleu, chrf, or both",
                                 list, (int)n, at);
        w->bleu |= bleu;
        w->chrf |= chrf;
        at += n;
        if (!*at)
            return CLI_OK;
    }
}

static size_t count_exact(const work *w) {
    size_t exact = 0;
    for (size_t i = 0; i < w->references.n; i++) {
        const tsr_string *a = &w->translations.items[i], *b = &w->references.items[i];
        exact += a->size == b->size && !memcmp(a->data, b->data, a->size);
    }
    return exact;
}

static double ratio(const tsr_bleu *b) {
    return b->reference_length ? (double)b->length / (double)b->reference_length : 0;
}

static void show(work *w, const tsr_bleu *b, const tsr_chrf *c) {
    tsri_cli_app *app = &w->job->app;
    if (w->bleu)
        tsri_cli_print(app,
                       "BLEU|%s = %.2f %.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %llu "
                       "ref_len = %llu)\n",
                       tsr_bleu_signature(), b->score, b->precision[0], b->precision[1],
                       b->precision[2], b->precision[3], b->brevity_penalty, ratio(b),
                       (unsigned long long)b->length, (unsigned long long)b->reference_length);
    if (w->chrf)
        tsri_cli_print(app, "chrF2|%s = %.2f\n", tsr_chrf_signature(), c->score);
    tsri_cli_print(app, "exact = %zu of %zu lines\n", count_exact(w), w->references.n);
}

static void show_json(work *w, const tsr_bleu *b, const tsr_chrf *c) {
    json_t *all = json_pack("{s:i,s:I,s:I}", "schema", 1, "lines", (json_int_t)w->references.n,
                            "exact", (json_int_t)count_exact(w));
    if (w->bleu)
        tsri_cli_json_put(all, "bleu",
                          json_pack("{s:f,s:[ffff],s:f,s:f,s:I,s:I,s:s}", "score", b->score,
                                    "precisions", b->precision[0], b->precision[1], b->precision[2],
                                    b->precision[3], "brevity_penalty", b->brevity_penalty, "ratio",
                                    ratio(b), "hyp_len", (json_int_t)b->length, "ref_len",
                                    (json_int_t)b->reference_length, "signature",
                                    tsr_bleu_signature()));
    if (w->chrf)
        tsri_cli_json_put(all, "chrf",
                          json_pack("{s:f,s:f,s:f,s:s}", "score", c->score, "precision",
                                    c->precision, "recall", c->recall, "signature",
                                    tsr_chrf_signature()));
    tsri_cli_json_print(&w->job->app, all, JSON_INDENT(1));
}

static int score(work *w, const char *path) {
    const tsr_string *translations = w->translations.items, *references = w->references.items;
    tsr_bleu bleu = {.struct_size = sizeof bleu};
    tsr_chrf chrf = {.struct_size = sizeof chrf};
    tsr_status status = TSR_OK;
    if (w->bleu)
        status = tsr_evaluate_bleu(translations, references, w->references.n, &bleu);
    if (w->chrf && status == TSR_OK)
        status = tsr_evaluate_chrf(translations, references, w->references.n, &chrf);
    if (status != TSR_OK)
        return tsri_cli_file_status(status, path);
    (w->job->app.json ? show_json : show)(w, &bleu, &chrf);
    return CLI_OK;
}

static int finish(work *w, int code) {
    tsri_cli_windows_clear(&w->translating.windows);
    tsri_cli_texts_clear(&w->sources);
    tsri_cli_texts_clear(&w->references);
    tsri_cli_texts_clear(&w->translations);
    return code;
}

/* ---- lines of two files ---- */

int tsri_cli_evaluate_hypotheses(tsri_cli_evaluation *job) {
    work w = {.job = job};
    const tsri_cli_source hypotheses = {.path = job->hypotheses, .encoding = job->encoding},
                          references = {.path = job->references, .encoding = job->encoding};
    int code = choose_metrics(&w);
    if (job->app.rank) /* rank 0 alone reads and prints */
        return finish(&w, code);
    if (code == CLI_OK)
        code = tsri_cli_texts_read(&job->app, &w.translations, &hypotheses);
    if (code == CLI_OK)
        code = tsri_cli_texts_read(&job->app, &w.references, &references);
    if (code == CLI_OK && w.translations.n != w.references.n)
        code = tsri_cli_fail(CLI_FILE,
                             "%s has %zu lines and %s has %zu; they need equally many, because "
                             "line i of one belongs to line i of the other",
                             job->hypotheses, w.translations.n, job->references, w.references.n);
    if (code == CLI_OK)
        code = score(&w, job->hypotheses);
    return finish(&w, code);
}

/* ---- a translator ---- */

/* Reads source<TAB>translation; what follows a second TAB is left out. */
static int split_lines(work *w) {
    tsri_cli_texts lines = {0};
    const char *path = w->job->parallel;
    const tsri_cli_source source = {.path = path, .encoding = w->job->encoding};
    int code = tsri_cli_texts_read(&w->job->app, &lines, &source);
    if (code == CLI_OK && !lines.n)
        code =
            tsri_cli_fail(CLI_FILE, "%s is empty; it needs lines \"source<TAB>translation\"", path);
    for (size_t i = 0; i < lines.n && code == CLI_OK; i++) {
        const char *text = lines.items[i].data, *end = text + lines.items[i].size;
        const char *tab = memchr(text, '\t', lines.items[i].size);
        if (!tab) {
            code = tsri_cli_fail(
                CLI_FILE, "%s: line %zu has no TAB; each line must be \"source<TAB>translation\"",
                path, i + 1);
            break;
        }
        const char *second = memchr(tab + 1, '\t', (size_t)(end - tab - 1));
        code = tsri_cli_texts_add(&w->sources, text, (size_t)(tab - text));
        if (code == CLI_OK)
            code = tsri_cli_texts_add(&w->references, tab + 1,
                                      (size_t)((second ? second : end) - tab - 1));
    }
    tsri_cli_texts_clear(&lines);
    return code;
}

static int fill(void *data, size_t most, tsri_cli_window *window) {
    const tsri_cli_translating *t = data;
    work *w = t->data;
    return tsri_cli_windows_add(&t->windows, w->sources.items, w->sources.n, &w->taken, most,
                                window);
}

/* Captures the size of a translation, and then the translation. */
static int give_line(void *data, const tsr_translated *line) {
    work *w = data;
    tsri_cli_app *app = &w->job->app;
    const uint64_t size = line->n ? line->best[0].size : 0;
    if (line->status != TSR_OK) {
        w->translating.windows.code =
            tsri_cli_fail(CLI_OTHER, "%s: line %llu: %s", w->job->parallel,
                          (unsigned long long)line->line + 1, line->error);
        return 1;
    }
    return !tsri_cli_write(app, &size, sizeof size) ||
           !tsri_cli_write(app, size ? line->best[0].text : "", size) || tsri_cli_signal();
}

static int take_lines(void *data, const char *bytes, size_t n) {
    const tsri_cli_translating *t = data;
    work *w = t->data;
    int code = CLI_OK;
    for (const char *end = bytes + n; bytes < end && code == CLI_OK;) {
        uint64_t size;
        memcpy(&size, bytes, sizeof size);
        bytes += sizeof size;
        code = tsri_cli_texts_add(&w->translations, bytes, size);
        bytes += size;
    }
    return code;
}

static int translate(work *w) {
    tsri_cli_evaluation *j = w->job;
    tsri_cli_translating *t = &w->translating;
    tsr_generate_options search = {.struct_size = sizeof search};
    int code = tsri_cli_searching_translation(&j->searching, j->app.model, &search);
    if (code != CLI_OK)
        return code;
    t->options = (tsr_translate_options){.struct_size = sizeof t->options,
                                         .batch = (uint32_t)j->batch,
                                         .source = j->from,
                                         .target = j->to,
                                         .search = &search};
    t->windows.fill = fill;
    t->windows.take = take_lines;
    t->windows.total = w->sources.n;
    t->windows.always = true;
    t->translated = give_line;
    t->data = w;
    code = tsri_cli_translating_run(t, &j->app);
    const double seconds = (double)t->stats.nanoseconds * 1e-9;
    if (code == CLI_OK)
        tsri_cli_note(&j->app, "%llu lines in %.2f s, %.1f a second",
                      (unsigned long long)t->stats.lines, seconds,
                      seconds > 0 ? (double)t->stats.lines / seconds : 0.0);
    return code;
}

int tsri_cli_evaluate_parallel(tsri_cli_evaluation *job) {
    work w = {.job = job};
    int code = choose_metrics(&w);
    if (code == CLI_OK && job->app.rank == 0)
        code = split_lines(&w);
    if (code == CLI_OK && !job->app.model_name)
        job->app.model_name = "translate-de-en";
    if (code == CLI_OK)
        code = tsri_cli_open_model(&job->app);
    if (code == CLI_OK)
        code = translate(&w);
    if (code == CLI_OK && job->app.rank == 0)
        code = score(&w, job->parallel);
    return finish(&w, code);
}
