/* cli/commands/translate.c - tessera translate: translates line by line. */
#include "cli/commands/commands.h"
#include "cli/reading/input.h"
#include "cli/shared/searching.h"
#include "cli/shared/translating.h"

#include <stdlib.h>
#include <string.h>

typedef struct job {
    tsri_cli_app app;
    tsri_cli_searching searching;
    tsri_cli_progress progress;
    tsri_cli_list operands;
    tsri_cli_source source;
    tsri_cli_lines *lines;
    const char *from, *to, *prefix;
    int64_t batch, most;
    float repeat_penalty;
    bool no_split, has_most, has_repeat_penalty;
    uint32_t n_best;
    bool scores;
    uint64_t cut;                  /* lines that were cut */
    int code;                      /* of reading */
    tsri_cli_translating together; /* with other ranks */
} job;

static int next_line(void *data, int wait, const char **text, size_t *size) {
    job *j = data;
    tsri_cli_line line;
    if (tsri_cli_signal() || j->code != CLI_OK)
        return 0;
    if (!wait && tsri_cli_lines_would_wait(j->lines))
        return -1;
    if (wait)
        tsri_cli_flush(&j->app); /* the writer of the lines may be waiting for these translations */
    j->code = tsri_cli_lines_next(j->lines, &line);
    if (j->code != CLI_OK || !line.text)
        return 0;
    j->cut += line.cut;
    *text = line.text;
    *size = line.size;
    return 1;
}

/* Prints a translation as one line: line ends inside it become spaces. */
static bool put_text(job *j, const char *text, size_t size) {
    bool going = true;
    while (going && size) {
        const size_t n = strcspn(text, "\r\n");
        const size_t plain = n < size ? n : size;
        going = tsri_cli_write(&j->app, text, plain);
        text += plain;
        size -= plain;
        if (going && size) {
            const char blank = *text == '\r' || *text == '\n' ? ' ' : *text;
            going = tsri_cli_write(&j->app, &blank, 1);
            text++;
            size--;
        }
    }
    return going;
}

/* Prints n_best lines for each line of input; those for which there is no result are empty. Of ranks
 * that all translate it, the first says why. */
static int take_line(void *data, const tsr_translated *line) {
    job *j = data;
    bool going = true;
    if (line->status != TSR_OK && !(j->app.split_layers && j->app.rank))
        tsri_cli_fail(CLI_MISS, "%s", line->error);
    for (uint32_t i = 0; going && i < j->n_best; i++) {
        if (i < line->n) {
            going = put_text(j, line->best[i].text, line->best[i].size);
            if (going && j->scores && line->parts)
                going = tsri_cli_print(&j->app, "\t%.6f", (double)line->best[i].score);
        }
        going = going && tsri_cli_write(&j->app, "\n", 1);
    }
    return !going || tsri_cli_signal();
}

static int on_progress(void *data, uint64_t done, uint64_t read) {
    job *j = data;
    const uint64_t all = tsri_cli_lines_total(j->lines);
    double share = -1;
    if (all && read) /* the bytes of what was read, but for what is not done of it */
        share = (double)tsri_cli_lines_taken(j->lines) / (double)all * (double)done / (double)read;
    return tsri_cli_progress_show(&j->progress, done, share);
}

static void tell(job *j, const tsr_translate_stats *s) {
    const double seconds = (double)s->nanoseconds * 1e-9;
    tsri_cli_note(&j->app,
                  "%llu lines in %.2f s, %.1f a second; %llu tokens read, %llu written, %.1f a "
                  "second",
                  (unsigned long long)s->lines, seconds,
                  seconds > 0 ? (double)s->lines / seconds : 0.0,
                  (unsigned long long)s->source_tokens, (unsigned long long)s->target_tokens,
                  seconds > 0 ? (double)s->target_tokens / seconds : 0.0);
    if (s->cut)
        tsri_cli_note(&j->app, "%llu lines were longer than the model can read, and were split",
                      (unsigned long long)s->cut);
    if (j->cut)
        tsri_cli_note(&j->app, "lines were cut at %d bytes: %llu", (int)TSRI_CLI_MOST_LINE,
                      (unsigned long long)j->cut);
}

static int count_failed(const tsr_translate_stats *stats) {
    return !stats->failed
               ? CLI_OK
               : tsri_cli_fail(CLI_MISS, "%llu of %llu lines have no translation",
                               (unsigned long long)stats->failed, (unsigned long long)stats->lines);
}

/* Alone: the library reads ahead as far as it needs to. */
static int translate(job *j, tsr_translate_options *options) {
    tsr_translate_stats stats = {.struct_size = sizeof stats};
    options->progress = on_progress;
    options->progress_data = j;
    j->progress = (tsri_cli_progress){.app = &j->app, .doing = "translating", .unit = "tokens"};
    const tsr_status status = tsr_translate(j->app.model, options, next_line, take_line, j, &stats);
    tsri_cli_progress_end(&j->progress, false);
    if (status != TSR_OK && (status != TSR_E_CANCELLED || !j->app.stopped || tsri_cli_signal()))
        return j->code == CLI_OK ? tsri_cli_status(status)
                                 : j->code; /* reading failed first, and said so */
    if (status == TSR_OK)
        tell(j, &stats);
    const int code = count_failed(&stats);
    return code != CLI_OK ? code : j->code == CLI_OK ? tsri_cli_lines_end(j->lines) : j->code;
}

/* With other ranks: each translates windows of lines. */
static int translate_together(job *j, tsr_translate_options *options) {
    tsri_cli_translating *t = &j->together;
    t->windows.source = &j->source;
    t->options = *options;
    t->translated = take_line;
    t->data = j;
    const int code = tsri_cli_translating_run(t, &j->app);
    if ((code != CLI_OK && code != CLI_MISS) || j->app.rank > 0)
        return code;
    if (!j->app.stopped)
        tell(j, &t->stats);
    const int missed = count_failed(&t->stats);
    return code == CLI_OK ? missed : code;
}

static int run(job *j) {
    tsr_generate_options search = {.struct_size = sizeof search};
    tsr_translate_options options = {.struct_size = sizeof options,
                                     .batch = (uint32_t)j->batch,
                                     .source = j->from,
                                     .target = j->to,
                                     .target_prefix = j->prefix,
                                     .no_split = j->no_split,
                                     .search = &search};
    const int code = tsri_cli_searching_translation(&j->searching, j->app.model, &search);
    if (code != CLI_OK)
        return code;
    if (j->has_most)
        search.max_new_tokens = j->most;
    if (j->has_repeat_penalty)
        search.repeat_penalty = j->repeat_penalty;
    j->scores = j->searching.has_n_best;
    j->n_best = search.n_best ? search.n_best : 1;
    return (j->app.ranks ? translate_together : translate)(j, &options);
}

int tsri_cli_translate(int argc, char **argv) {
    job j = {0};
    const tsri_cli_option own[] = {
        {"file", 'f', CLI_TEXT, &j.source.path, "FILE",
         "the file with the lines to translate; - is standard input", 0, 0, NULL},
        {"from|source-lang", 0, CLI_TEXT, &j.from, "LANGUAGE",
         "the language of the lines, as the model's files name it, such as de, de_DE or deu_Latn",
         0, 0, NULL},
        {"to|target-lang", 0, CLI_TEXT, &j.to, "LANGUAGE", "the language of the translations", 0, 0,
         NULL},
        {"target-prefix", 0, CLI_TEXT, &j.prefix, "TEXT", "begin every translation with this text",
         0, 0, NULL},
        {"no-split", 0, CLI_FLAG, &j.no_split, NULL,
         "fail on lines longer than the model can read, instead of splitting them into sentences",
         0, 0, NULL},
        {"batch-size", 0, CLI_INT, &j.batch, "N", "translate N sentences at once (default: 32)", 1,
         4096, NULL},
        {"max-new-tokens|max-length", 'n', CLI_INT, &j.most, "N",
         "at most N tokens per translation (default: the model's number, or 256)", 1, 1 << 30,
         &j.has_most},
        {"repeat-penalty|repetition-penalty", 0, CLI_REAL, &j.repeat_penalty, "R",
         "above 1: avoid tokens that the translation already has", 1e-3, 1e3,
         &j.has_repeat_penalty},
        {0}};
    const tsri_cli_option *tables[] = {own,
                                       tsri_cli_encoding_option(&j.source.encoding),
                                       tsri_cli_searching_options(&j.searching),
                                       tsri_cli_split_options(&j.app),
                                       tsri_cli_running_options(&j.app, false),
                                       NULL};
    int code = tsri_cli_parse(
        argc, argv, "tessera translate [options] [TEXT... | -f FILE|-]",
        "Translates each line into one line, in order; empty lines stay empty. Without TEXT or -f, "
        "standard\ninput is read; without -m, the bundled model translates German to English.",
        tables, &j.operands);
    if (code == CLI_OK && j.operands.n && j.source.path)
        code =
            tsri_cli_fail(CLI_USAGE, "%s: give the text or -f FILE, not both", j.operands.items[0]);
    j.source.texts = &j.operands;
    if (code == CLI_OK)
        code = tsri_cli_open_ranks(&j.app, argv[0], tables);
    if (code == CLI_OK && !j.app.ranks)
        code = tsri_cli_lines_open(&j.app, &j.source, &j.lines);
    if (code == CLI_OK && !j.app.model_name)
        j.app.model_name = "translate-de-en";
    if (code == CLI_OK)
        code = tsri_cli_open_model(&j.app);
    if (code == CLI_OK)
        code = run(&j);
    tsri_cli_lines_close(&j.lines);
    tsri_cli_windows_clear(&j.together.windows);
    tsri_cli_searching_clear(&j.searching);
    free(j.operands.items);
    return tsri_cli_close(&j.app, code);
}
