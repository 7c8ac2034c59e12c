/* cli/commands/search/search.c - tessera search: finds the lines of a corpus that are nearest to a
 * question. */
#include "cli/base/json.h"
#include "cli/commands/commands.h"
#include "cli/reading/input.h"
#include "cli/shared/embedding.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    tsri_cli_app app;
    tsri_cli_embedding embedding;
    tsri_cli_source lines;
    const char *index_path, *query;
    char *given; /* the question, where it was read from standard input */
    size_t query_size;
    int64_t k;
    tsr_vectors *index;
    tsr_hit *hits;
    uint32_t n;
    char **texts; /* [n] the hits' texts, where --lines is given */
    size_t *sizes;
} job;

/* A model may name a prompt for questions; then it is put before the question. */
static void choose_prompt(job *j) {
    const char *names = j->embedding.info.prompt_names;
    static const char query[] = "query";
    const size_t n = sizeof query - 1;
    for (const char *at = names; at && *at; at = strchr(at, ','), at = at ? at + 2 : NULL)
        if (!strncmp(at, query, n) && (at[n] == 0 || at[n] == ','))
            j->embedding.prompt = query;
}

static int open_all(job *j) {
    int code = tsri_cli_status(tsr_vectors_open(j->index_path, &j->index));
    if (code == CLI_OK)
        code = tsri_cli_embedding_open(&j->embedding);
    if (code != CLI_OK || j->embedding.prompt || j->embedding.prompt_text ||
        (j->app.task && *j->app.task))
        return code;
    choose_prompt(j);
    if (!j->embedding.prompt)
        return CLI_OK;
    tsri_cli_note(
        &j->app,
        "the model's prompt for queries is put before the question; --prompt \"\" puts none");
    return tsri_cli_embedding_begin(&j->embedding);
}

static int find(job *j) {
    const tsr_string query = {.data = j->query, .size = j->query_size};
    tsr_embed_stats stats = {.struct_size = sizeof stats};
    const uint64_t rows = tsr_vectors_rows(j->index);
    const uint32_t k = (uint32_t)((uint64_t)j->k < rows ? (uint64_t)j->k : rows ? rows : 1);
    float *vector = malloc(j->embedding.info.width * sizeof *vector);
    j->hits = calloc(k, sizeof *j->hits);
    int code = vector && j->hits ? CLI_OK : tsri_cli_fail(CLI_OTHER, "out of memory");
    if (code == CLI_OK)
        code = tsri_cli_run_status(tsr_embed(j->embedding.embedder, &query, 1, vector, &stats));
    if (code == CLI_OK && stats.cut)
        tsri_cli_note(&j->app, "the question is longer than %" PRId64 " tokens and was cut",
                      j->embedding.info.max_tokens);
    if (code == CLI_OK)
        code = tsri_cli_status(
            tsr_search(j->index, vector, j->embedding.info.width, k, j->hits, &j->n));
    free(vector);
    return code;
}

/* Takes the question from an operand, or from standard input without its last line end. */
static int take_question(job *j, const char *operand) {
    j->query = operand;
    j->query_size = strlen(operand);
    if (strcmp(operand, "-"))
        return CLI_OK;
    const int code =
        tsri_cli_read_input(&j->app, NULL, j->lines.encoding, &j->given, &j->query_size);
    j->query = j->given;
    if (code == CLI_OK)
        j->query_size = tsri_cli_line_size(j->query, j->query_size);
    return code;
}

/* ---- their texts ---- */

static int keep_text(job *j, const tsri_cli_line *line) {
    for (uint32_t i = 0; i < j->n; i++)
        if (j->hits[i].row + 1 == line->number) {
            j->texts[i] = malloc(line->size + 1);
            if (!j->texts[i])
                return tsri_cli_fail(CLI_OTHER, "out of memory");
            memcpy(j->texts[i], line->text, line->size);
            j->sizes[i] = line->size;
        }
    return CLI_OK;
}

/* Reads the whole file: if it has not as many lines as the index has rows, it is another corpus. */
static int read_lines(job *j) {
    tsri_cli_lines *lines = NULL;
    tsri_cli_line line = {0};
    uint64_t count = 0;
    j->texts = calloc(j->n + (size_t)1, sizeof *j->texts);
    j->sizes = calloc(j->n + (size_t)1, sizeof *j->sizes);
    int code = j->texts && j->sizes ? tsri_cli_lines_open(&j->app, &j->lines, &lines)
                                    : tsri_cli_fail(CLI_OTHER, "out of memory");
    while (code == CLI_OK && (code = tsri_cli_lines_next(lines, &line)) == CLI_OK && line.text) {
        count = line.number;
        code = keep_text(j, &line);
    }
    if (code == CLI_OK && count != tsr_vectors_rows(j->index))
        code = tsri_cli_fail(CLI_FILE,
                             "%s has %" PRIu64 " texts and %s has %" PRIu64
                             " rows: the index was not made from these lines",
                             j->lines.path, count, j->index_path, tsr_vectors_rows(j->index));
    if (code == CLI_OK)
        code = tsri_cli_lines_end(lines);
    tsri_cli_lines_close(&lines);
    return code;
}

static void print_hits_json(job *j) {
    for (uint32_t i = 0; i < j->n; i++) {
        json_t *hit = json_pack("{s:I,s:o}", "line", (json_int_t)j->hits[i].row + 1, "cosine",
                                tsri_cli_json_number((double)j->hits[i].cosine));
        if (j->texts)
            tsri_cli_json_put(hit, "text", tsri_cli_json_text(j->texts[i], j->sizes[i]));
        tsri_cli_json_print(&j->app, hit, JSON_COMPACT | JSON_REAL_PRECISION(9));
    }
}

static void print_hits(job *j) {
    for (uint32_t i = 0; i < j->n; i++) {
        tsri_cli_print(&j->app, "%.6f\t%" PRIu64, (double)j->hits[i].cosine, j->hits[i].row + 1);
        if (j->texts) {
            tsri_cli_write(&j->app, "\t", 1);
            tsri_cli_write_line(&j->app, j->texts[i], j->sizes[i]);
        }
        tsri_cli_write(&j->app, "\n", 1);
    }
}

int tsri_cli_search(int argc, char **argv) {
    job j = {.embedding = {.app = &j.app}, .k = 10};
    tsri_cli_list operands = {0};
    const tsri_cli_option own[] = {
        {"index", 'i', CLI_TEXT, &j.index_path, "E.npy",
         "the vectors of the corpus, written by tessera embed -o E.npy", 0, 0, NULL},
        {"lines", 0, CLI_TEXT, &j.lines.path, "FILE",
         "the corpus, to show the texts of the lines found; - is standard input", 0, 0, NULL},
        {"top-k", 'k', CLI_INT, &j.k, "K", "show K lines (default: 10)", 1, 1 << 30, NULL},
        {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_lines_options(&j.lines),
                                       tsri_cli_embedding_options(&j.embedding),
                                       tsri_cli_running_options(&j.app, true), NULL};
    int code = tsri_cli_parse(
        argc, argv, "tessera search QUERY|- --index E.npy [--lines FILE] [-k K]",
        "Finds the lines nearest to a question by cosine, and prints \"cosine<TAB>line<TAB>text\", "
        "the nearest\nfirst. The corpus is embedded once, by tessera embed with the same model.\n"
        "--json prints an object for each line found: \"line\", \"cosine\" and, with --lines, "
        "\"text\".",
        tables, &operands);
    if (code == CLI_OK && (operands.n != 1 || !j.index_path))
        code = tsri_cli_fail(
            CLI_USAGE, "search needs one question, and --index E.npy; see tessera help search");
    if (code == CLI_OK)
        code = take_question(&j, operands.items[0]);
    if (code == CLI_OK)
        code = open_all(&j);
    if (code == CLI_OK)
        code = find(&j);
    if (code == CLI_OK && j.lines.path)
        code = read_lines(&j);
    if (code == CLI_OK || code == CLI_MISS) /* some texts are not UTF-8: the hits are right */
        (j.app.json ? print_hits_json : print_hits)(&j);
    for (uint32_t i = 0; j.texts && i < j.n; i++)
        free(j.texts[i]);
    free(j.texts);
    free(j.given);
    free(j.sizes);
    free(j.hits);
    tsr_vectors_close(&j.index);
    tsri_cli_embedding_close(&j.embedding);
    free(operands.items);
    return tsri_cli_close(&j.app, code);
}
