/* cli/commands/cluster.c - tessera cluster: groups similar lines. */
#include "cli/base/json.h"
#include "cli/commands/commands.h"
#include "cli/shared/embedding.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    tsri_cli_app app;
    tsri_cli_embedding embedding;
    tsri_cli_source source;
    const char *lines_path;
    int64_t k, min_size;
    float threshold;
    bool has_threshold, centres;
    uint64_t seed;
    float *vectors;
    uint64_t n;
    size_t room;
    uint32_t width;
    char *bytes; /* of all texts, one after the other; starts [n + 1] says where each begins */
    size_t *starts, n_texts, starts_room, used, bytes_room;
    tsri_cli_progress progress;
} job;

/* ---- what is grouped ---- */

/* *items grows to hold `needed` of `size` bytes. */
static int grow(void *items, size_t *room, size_t needed, size_t size) {
    void *old, *grown;
    size_t wanted = *room ? *room : 1024;
    if (needed <= *room)
        return CLI_OK;
    while (wanted < needed)
        wanted *= 2;
    memcpy(&old, items, sizeof old);
    if (wanted > SIZE_MAX / size || !(grown = realloc(old, wanted * size)))
        return tsri_cli_fail(CLI_OTHER, "out of memory: clustering holds all vectors in memory");
    memcpy(items, &grown, sizeof grown);
    *room = wanted;
    return CLI_OK;
}

static int keep_text(job *j, const char *text, size_t size) {
    int code = grow(&j->starts, &j->starts_room, j->n_texts + 2, sizeof *j->starts);
    if (code == CLI_OK)
        code = grow(&j->bytes, &j->bytes_room, j->used + size + 1, 1);
    if (code != CLI_OK)
        return code;
    if (size)
        memcpy(j->bytes + j->used, text, size);
    j->starts[j->n_texts++] = j->used;
    j->used += size;
    j->starts[j->n_texts] = j->used;
    return CLI_OK;
}

static int take_window(void *data) {
    job *j = data;
    const tsri_cli_window *w = &j->embedding.windows.window;
    const size_t numbers = w->n * j->width;
    int code = tsri_cli_embedding_window(&j->embedding);
    if (code == CLI_OK)
        code = grow(&j->vectors, &j->room, (size_t)j->n * j->width + numbers, sizeof *j->vectors);
    if (code != CLI_OK)
        return code;
    memcpy(j->vectors + (size_t)j->n * j->width, j->embedding.rows, numbers * sizeof *j->vectors);
    j->n += w->n;
    for (size_t i = 0; code == CLI_OK && i < w->n; i++)
        code = keep_text(j, w->texts[i].data, w->texts[i].size);
    return code;
}

static int embed_texts(job *j) {
    int code = tsri_cli_embedding_open(&j->embedding);
    j->width = j->embedding.info.width;
    if (code == CLI_OK)
        code = tsri_cli_embedding_run(&j->embedding, &j->source, take_window, j);
    return code;
}

static int read_texts(job *j) {
    const tsri_cli_source source = {.path = j->lines_path,
                                    .column = j->source.column,
                                    .field = j->source.field,
                                    .encoding = j->source.encoding};
    tsri_cli_lines *lines = NULL;
    tsri_cli_line line = {0};
    int code = tsri_cli_lines_open(&j->app, &source, &lines);
    while (code == CLI_OK && (code = tsri_cli_lines_next(lines, &line)) == CLI_OK && line.text)
        code = keep_text(j, line.text, line.size);
    if (code == CLI_OK && j->n_texts != j->n)
        code = tsri_cli_fail(CLI_FILE,
                             "%s has %zu texts and %s has %" PRIu64
                             " rows: the vectors were not made from these lines",
                             j->lines_path, j->n_texts, j->source.path, j->n);
    if (code == CLI_OK)
        code = tsri_cli_lines_end(lines);
    tsri_cli_lines_close(&lines);
    return code;
}

static int read_vectors(job *j) {
    tsr_vectors *file = NULL;
    int code = tsri_cli_status(tsr_vectors_open(j->source.path, &file));
    if (code != CLI_OK)
        return code;
    j->n = tsr_vectors_rows(file);
    j->width = tsr_vectors_width(file);
    code = grow(&j->vectors, &j->room, (size_t)j->n * j->width + 1, sizeof *j->vectors);
    if (code == CLI_OK)
        code = tsri_cli_status(tsr_vectors_read(file, 0, (size_t)j->n, j->vectors));
    tsr_vectors_close(&file);
    return code == CLI_OK && j->lines_path ? read_texts(j) : code;
}

/* An .npy file, by its first bytes. */
static bool is_vectors(const char *path) {
    char head[6] = "";
    FILE *file = path && strcmp(path, "-") ? fopen(path, "rb") : NULL;
    const bool found = file && fread(head, 1, sizeof head, file) == sizeof head &&
                       !memcmp(head, "\x93NUMPY", sizeof head);
    if (file)
        fclose(file);
    return found;
}

/* ---- the groups ---- */

static int show_progress(void *data, uint64_t done, uint64_t total) {
    job *j = data;
    return tsri_cli_progress_show(&j->progress, done, total ? (double)done / (double)total : 1);
}

static void print_text(job *j, uint64_t row) {
    if (row < j->n_texts)
        tsri_cli_write_line(&j->app, j->bytes + j->starts[row],
                            j->starts[row + 1] - j->starts[row]);
    else
        tsri_cli_print(&j->app, "%" PRIu64, row + 1);
}

/* Adds the text, where it is known, and prints the object. */
static void print_object(job *j, json_t *object, uint64_t row) {
    if (row < j->n_texts)
        tsri_cli_json_put(
            object, "text",
            tsri_cli_json_text(j->bytes + j->starts[row], j->starts[row + 1] - j->starts[row]));
    tsri_cli_json_print(&j->app, object, JSON_COMPACT | JSON_REAL_PRECISION(9));
}

static void print_rows_json(job *j, const tsr_clusters *found) {
    for (uint64_t i = 0; i < found->rows && !j->app.stopped; i++) {
        const int32_t c = found->cluster[i];
        json_t *object = json_pack("{s:I,s:i,s:o,s:b}", "line", (json_int_t)i + 1, "cluster",
                                   (int)c, "cosine", tsri_cli_json_number((double)found->cosine[i]),
                                   "nearest", c >= 0 && found->nearest[c] == i);
        print_object(j, object, i);
    }
}

static void print_centres_json(job *j, const tsr_clusters *found) {
    for (uint32_t c = 0; c < found->n && !j->app.stopped; c++) {
        const uint64_t row = found->nearest[c];
        json_t *object = json_pack("{s:I,s:I,s:I}", "cluster", (json_int_t)c, "size",
                                   (json_int_t)found->size[c], "line", (json_int_t)row + 1);
        print_object(j, object, row);
    }
}

static void print_rows(job *j, const tsr_clusters *found) {
    for (uint64_t i = 0; i < found->rows && !j->app.stopped; i++) {
        const int32_t c = found->cluster[i];
        tsri_cli_print(&j->app, "%d\t%.6f\t%s\t", (int)c, (double)found->cosine[i],
                       c >= 0 && found->nearest[c] == i ? "*" : "");
        print_text(j, i);
        tsri_cli_write(&j->app, "\n", 1);
    }
}

static void print_centres(job *j, const tsr_clusters *found) {
    for (uint32_t c = 0; c < found->n && !j->app.stopped; c++) {
        tsri_cli_print(&j->app, "%" PRIu32 "\t%" PRIu64 "\t", c, found->size[c]);
        print_text(j, found->nearest[c]);
        tsri_cli_write(&j->app, "\n", 1);
    }
}

static int group(job *j) {
    const tsr_cluster_options options = {.struct_size = sizeof options,
                                         .k = (uint32_t)j->k,
                                         .threshold = j->threshold,
                                         .min_size = (uint32_t)j->min_size,
                                         .seed = j->seed,
                                         .progress = show_progress,
                                         .progress_data = j};
    tsr_clusters *found = NULL;
    j->progress = (tsri_cli_progress){.app = &j->app, .doing = "clustering", .unit = "steps"};
    const tsr_status status = tsr_cluster(j->vectors, j->n, j->width, &options, &found);
    tsri_cli_progress_end(&j->progress, false);
    if (status != TSR_OK)
        return tsri_cli_run_status(status);
    if (j->app.json)
        (j->centres ? print_centres_json : print_rows_json)(j, found);
    else
        (j->centres ? print_centres : print_rows)(j, found);
    uint64_t alone = j->n;
    for (uint32_t c = 0; c < found->n; c++)
        alone -= found->size[c];
    tsri_cli_note(&j->app, "%" PRIu32 " clusters of %" PRIu64 " lines; %" PRIu64 " in none",
                  found->n, j->n - alone, alone);
    tsr_clusters_free(&found);
    return CLI_OK;
}

int tsri_cli_cluster(int argc, char **argv) {
    job j = {.embedding = {.app = &j.app}, .min_size = 2};
    tsri_cli_list operands = {0};
    const tsri_cli_option own[] = {
        {"clusters", 'k', CLI_INT, &j.k, "K", "make K clusters by k-means", 1, 1 << 30, NULL},
        {"threshold", 0, CLI_REAL, &j.threshold, "C",
         "find communities instead: lines whose cosine is at least C belong together", 0.001, 1,
         &j.has_threshold},
        {"min-size", 0, CLI_INT, &j.min_size, "N",
         "a community has at least N lines (default: 2); lines in no community are in cluster -1",
         1, 1 << 30, NULL},
        {"seed", 's', CLI_SEED, &j.seed, "S",
         "the seed that draws the first centres of k-means (default: 0)", 0, 0, NULL},
        {"centres|centers", 0, CLI_FLAG, &j.centres, NULL,
         "print one line per cluster: its number, its size, the line nearest to its centre", 0, 0,
         NULL},
        {"lines", 0, CLI_TEXT, &j.lines_path, "FILE",
         "the texts that the vectors of an .npy file were made from, to show them", 0, 0, NULL},
        {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_lines_options(&j.source),
                                       tsri_cli_embedding_options(&j.embedding),
                                       tsri_cli_running_options(&j.app, true), NULL};
    int code = tsri_cli_parse(
        argc, argv, "tessera cluster (-k K | --threshold C) [FILE|E.npy|-]",
        "Groups lines, or the vectors of an .npy file, by cosine. For each line, in order, it "
        "prints\n\"cluster<TAB>cosine to its centre<TAB>*<TAB>text\", where the * marks the line "
        "nearest to each\ncentre. Clusters are numbered from 0, the largest first; the same seed "
        "gives the same output. All\nvectors are held in memory. --json prints an object for each "
        "line: \"line\", "
        "\"cluster\", \"cosine\",\n\"nearest\" (the *) and \"text\"; and with --centres, for each "
        "cluster: \"cluster\", \"size\", \"line\"\nand \"text\".",
        tables, &operands);
    if (code == CLI_OK && (operands.n > 1 || (j.k != 0) == j.has_threshold))
        code = tsri_cli_fail(CLI_USAGE, "cluster takes at most one file, and either -k K or "
                                        "--threshold C; see tessera help cluster");
    j.source.path = code == CLI_OK && operands.n ? operands.items[0] : NULL;
    const bool vectors = code == CLI_OK && is_vectors(j.source.path);
    if (code == CLI_OK && j.lines_path && !vectors)
        code =
            tsri_cli_fail(CLI_USAGE, "--lines is for the vectors of an .npy file, and %s is text",
                          j.source.path ? j.source.path : "standard input");
    if (code == CLI_OK)
        code = vectors ? read_vectors(&j) : embed_texts(&j);
    const bool partly = code == CLI_MISS;
    if (code == CLI_OK || partly)
        code = group(&j);
    free(j.vectors);
    free(j.bytes);
    free(j.starts);
    tsri_cli_embedding_close(&j.embedding);
    free(operands.items);
    return tsri_cli_close(&j.app, code == CLI_OK && partly ? CLI_MISS : code);
}
