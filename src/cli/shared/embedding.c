/* cli/shared/embedding.c - opens an embedder and runs texts through it, for embed, search and
 * cluster. */
#include "cli/shared/embedding.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const tsri_cli_option *tsri_cli_embedding_options(tsri_cli_embedding *e) {
    static tsri_cli_option rows[2];
    const tsri_cli_option all[] = {
        {"prompt", 0, CLI_TEXT, &e->prompt, "NAME",
         "put the prompt of this name, from the model's files, before each text; \"\" for none", 0,
         0, NULL},
        {0}};
    memcpy(rows, all, sizeof all);
    return rows;
}

static int show_progress(void *data, uint64_t done, uint64_t total) {
    tsri_cli_embedding *e = data;
    const double part = total ? (double)done / (double)total : 1;
    return tsri_cli_progress_show(&e->progress, e->done + done,
                                  tsri_cli_lines_share(e->lines, e->before, e->after, part));
}

int tsri_cli_embedding_begin(tsri_cli_embedding *e) {
    const tsr_embed_options options = {.struct_size = sizeof options,
                                       .max_tokens = e->app->context,
                                       .prompt = e->prompt,
                                       .progress = show_progress,
                                       .progress_data = e};
    e->info.struct_size = sizeof e->info;
    tsr_embedder_destroy(&e->embedder);
    const int code = tsri_cli_status(tsr_embedder_create(e->app->model, &options, &e->embedder));
    return code == CLI_OK ? tsri_cli_status(tsr_embedder_info_get(e->embedder, &e->info)) : code;
}

int tsri_cli_embedding_open(tsri_cli_embedding *e) {
    tsri_cli_app *app = e->app;
    if (!app->model_name)
        app->model_name = "all-MiniLM-L6-v2";
    int code = tsri_cli_open_model(app);
    if (code == CLI_OK)
        code = tsri_cli_embedding_begin(e);
    if (code == CLI_OK && !e->info.has_modules)
        tsri_cli_note(app,
                      "%s has no modules.json: each vector is the mean of the last hidden states, "
                      "and is not normalised",
                      app->model_name);
    return code;
}

int tsri_cli_embedding_windows(tsri_cli_embedding *e, const tsri_cli_source *source,
                               int (*each)(void *data, tsr_embed_stats *stats), void *data) {
    e->progress = (tsri_cli_progress){.app = e->app, .doing = "embedding", .unit = "texts"};
    int code = tsri_cli_lines_open(e->app, source, &e->lines);
    tsri_cli_progress_show(&e->progress, 0, -1);
    while (code == CLI_OK && !e->app->stopped) {
        tsr_embed_stats stats = {.struct_size = sizeof stats};
        e->before = tsri_cli_lines_taken(e->lines);
        code = tsri_cli_window_fill(e->app, e->lines, &e->window);
        e->after = tsri_cli_lines_taken(e->lines);
        if (code != CLI_OK || e->window.n == 0)
            break;
        code = each(data, &stats);
        e->done += e->window.n;
        e->cut += stats.cut;
        e->progress.done = e->done;
    }
    tsri_cli_progress_end(&e->progress, code == CLI_OK && !e->app->stopped);
    if (code == CLI_OK && e->cut)
        tsri_cli_note(e->app,
                      "%" PRIu64 " of %" PRIu64 " texts were longer than %" PRId64
                      " tokens and were cut",
                      e->cut, e->done, e->info.max_tokens);
    if (code == CLI_OK)
        code = tsri_cli_window_end(e->app, e->lines, &e->window);
    return code;
}

typedef struct vectors {
    tsri_cli_embedding *e;
    float *rows;
    int (*take)(void *data, const float *vectors);
    void *data;
} vectors;

static int embed_window(void *data, tsr_embed_stats *stats) {
    vectors *v = data;
    const tsri_cli_window *w = &v->e->window;
    const int code = tsri_cli_run_status(tsr_embed(v->e->embedder, w->texts, w->n, v->rows, stats));
    if (code != CLI_OK)
        return code;
    const size_t width = v->e->info.width;
    for (size_t i = 0; i < w->n; i++)
        if (w->wrong[i])
            memset(v->rows + i * width, 0, width * sizeof *v->rows);
    return v->take(v->data, v->rows);
}

int tsri_cli_embedding_run(tsri_cli_embedding *e, const tsri_cli_source *source,
                           int (*rows)(void *data, const float *vectors), void *data) {
    vectors v = {.e = e, .take = rows, .data = data};
    v.rows = malloc(TSRI_CLI_WINDOW * (size_t)e->info.width * sizeof *v.rows);
    const int code = v.rows ? tsri_cli_embedding_windows(e, source, embed_window, &v)
                            : tsri_cli_fail(CLI_OTHER, "out of memory");
    free(v.rows);
    return code;
}

void tsri_cli_embedding_close(tsri_cli_embedding *e) {
    tsri_cli_window_clear(&e->window);
    tsri_cli_lines_close(&e->lines);
    tsr_embedder_destroy(&e->embedder);
}
