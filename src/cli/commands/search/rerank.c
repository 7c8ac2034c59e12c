/* cli/commands/search/rerank.c - tessera rerank: orders texts by how well they answer a question, by a model
 * that reads the question and a text together. */
#include "cli/base/json.h"
#include "cli/commands/commands.h"
#include "cli/reading/input.h"
#include "cli/shared/windows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct hit {
    uint64_t line;
    float score;
    char *text; /* [size] */
    size_t size;
} hit;

typedef struct job {
    tsri_cli_app app;
    tsri_cli_source source;
    int64_t k;
    tsr_string query;
    const char *instruction, *prompt, *prompt_text;
    tsr_ranker *ranker;
    tsri_cli_windows windows; /* counts[0]: texts that were cut */
    float *scores;            /* [TSRI_CLI_WINDOW] */
    hit *hits;                /* [k] the best so far, best first */
    size_t n;
} job;

static int show_progress(void *data, uint64_t done, uint64_t total) {
    job *j = data;
    return tsri_cli_windows_progress(&j->windows, done, total);
}

/* Keeps the text if it is among the k best; of equal ones, the earlier line comes first. */
static int keep(job *j, uint64_t line, float score, tsr_string text) {
    size_t at = j->n;
    while (at && j->hits[at - 1].score < score)
        at--;
    if (at == (size_t)j->k)
        return CLI_OK;
    char *copy = malloc(text.size + 1);
    if (!copy)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    memcpy(copy, text.data, text.size);
    if (j->n == (size_t)j->k)
        free(j->hits[--j->n].text);
    memmove(j->hits + at + 1, j->hits + at, (j->n - at) * sizeof *j->hits);
    j->hits[at] = (hit){.line = line, .score = score, .text = copy, .size = text.size};
    j->n++;
    return CLI_OK;
}

static int rank_window(void *data) {
    job *j = data;
    const tsri_cli_window *w = &j->windows.window;
    tsr_classify_stats stats = {.struct_size = sizeof stats};
    const tsr_status status = tsr_rank(j->ranker, j->query, w->texts, w->n, j->scores, &stats);
    j->windows.counts[0] += stats.cut;
    int code = tsri_cli_windows_status(&j->windows, status);
    for (size_t i = 0; code == CLI_OK && i < w->n; i++)
        if (!w->wrong[i])
            code = keep(j, w->first + i, j->scores[i], w->texts[i]);
    return code;
}

static int each_window(job *j) {
    tsri_cli_windows *w = &j->windows;
    w->progress = (tsri_cli_progress){.app = &j->app, .doing = "ranking", .unit = "texts"};
    w->source = &j->source;
    w->work = rank_window;
    w->data = j;
    const int code = tsri_cli_windows_run(w);
    if ((code == CLI_OK || code == CLI_MISS) && w->sums[0])
        tsri_cli_note(
            &j->app,
            "%" PRIu64 " of %" PRIu64
            " texts were longer than the model can read beside the question, and were cut",
            w->sums[0], w->done);
    return code;
}

static void print_hit(job *j, const hit *h) {
    if (j->app.json) {
        tsri_cli_json_print(&j->app,
                            json_pack("{s:I,s:o,s:o}", "line", (json_int_t)h->line, "score",
                                      tsri_cli_json_number((double)h->score), "text",
                                      tsri_cli_json_text(h->text, h->size)),
                            JSON_COMPACT | JSON_REAL_PRECISION(9));
        return;
    }
    tsri_cli_print(&j->app, "%.6f\t%" PRIu64 "\t", (double)h->score, h->line);
    tsri_cli_write_line(&j->app, h->text, h->size);
    tsri_cli_write(&j->app, "\n", 1);
}

static int open_ranker(job *j) {
    int code = tsri_cli_open_model(&j->app);
    if (code != CLI_OK)
        return code;
    const tsr_rank_options options = {.struct_size = sizeof options,
                                      .max_tokens = j->app.context,
                                      .instruction = j->instruction,
                                      .prompt = j->prompt,
                                      .prompt_text = j->prompt_text,
                                      .progress = show_progress,
                                      .progress_data = j};
    code = tsri_cli_status(tsr_ranker_create(j->app.model, &options, &j->ranker));
    j->scores = calloc(TSRI_CLI_WINDOW, sizeof *j->scores);
    j->hits = calloc((size_t)j->k + 1, sizeof *j->hits);
    if (code == CLI_OK && (!j->scores || !j->hits))
        code = tsri_cli_fail(CLI_OTHER, "out of memory");
    return code;
}

int tsri_cli_rerank(int argc, char **argv) {
    job j = {.k = 10};
    tsri_cli_list operands = {0}, texts = {0};
    const tsri_cli_option own[] = {
        {"file", 'f', CLI_TEXT, &j.source.path, "FILE",
         "the texts, one a line; - is standard input, the default", 0, 0, NULL},
        {"top-k", 'k', CLI_INT, &j.k, "K", "show the K best texts (default: 10)", 1, 1 << 24, NULL},
        {"instruction", 0, CLI_TEXT, &j.instruction, "TEXT",
         "what a language model (Qwen3-Reranker) should look for in the texts", 0, 0, NULL},
        {"prompt", 0, CLI_TEXT, &j.prompt, "NAME",
         "put the prompt of this name, from the model's files, before the question; \"\" for none "
         "(default: the model's default_prompt_name)",
         0, 0, NULL},
        {"prompt-text", 0, CLI_TEXT, &j.prompt_text, "TEXT",
         "put TEXT before the question; for models whose files list no prompts", 0, 0, NULL},
        {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_lines_options(&j.source),
                                       tsri_cli_running_options(&j.app, true), NULL};
    int code = tsri_cli_parse(
        argc, argv, "tessera rerank -m MODEL QUESTION [TEXT... | -f FILE|-] [-k K]",
        "Orders texts by how well they answer a question, and prints \"score<TAB>line<TAB>text\", "
        "the best first.\nThe model is a cross-encoder, or a language model like Qwen3-Reranker or "
        "bge-reranker-v2-gemma: it\nreads the question and a text together, which takes longer "
        "than "
        "to compare vectors (tessera search)\nand judges better. A score is between 0 and 1.",
        tables, &operands);
    if (code == CLI_OK && !j.app.model_name)
        code = tsri_cli_fail(CLI_USAGE,
                             "rerank needs -m MODEL, a cross-encoder or another model that ranks");
    if (code == CLI_OK && !operands.n)
        code = tsri_cli_fail(CLI_USAGE, "rerank needs a question; see tessera help rerank");
    if (code == CLI_OK && !strcmp(operands.items[0], "-"))
        code = tsri_cli_fail(CLI_USAGE, "rerank -: standard input has the texts; give the question "
                                        "as an operand");
    if (code == CLI_OK && operands.n > 1 && j.source.path)
        code = tsri_cli_fail(CLI_USAGE, "%s: give texts or -f FILE, not both", operands.items[1]);
    if (code == CLI_OK) {
        j.query = (tsr_string){operands.items[0], strlen(operands.items[0])};
        texts = (tsri_cli_list){.items = operands.items + 1, .n = operands.n - 1};
        j.source.texts = &texts;
        code = open_ranker(&j);
    }
    if (code == CLI_OK)
        code = each_window(&j);
    for (size_t i = 0; (code == CLI_OK || code == CLI_MISS) && i < j.n; i++)
        print_hit(&j, &j.hits[i]);
    for (size_t i = 0; i < j.n; i++)
        free(j.hits[i].text);
    tsri_cli_windows_clear(&j.windows);
    tsr_ranker_destroy(&j.ranker);
    free(j.hits);
    free(j.scores);
    free(operands.items);
    return tsri_cli_close(&j.app, code);
}
