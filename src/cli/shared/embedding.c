/* cli/shared/embedding.c - opens an embedder and runs texts through it, for embed, search and
 * cluster. */
#include "cli/shared/embedding.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const tsri_cli_option *tsri_cli_embedding_options(tsri_cli_embedding *e) {
    static tsri_cli_option rows[5];
    const tsri_cli_option all[] = {
        {"task", 0, CLI_TEXT, &e->app->task, "NAME",
         "of a model that has adapters by task (jina-embeddings-v3), take this one, with its "
         "instruction before each text; \"\" for none (default: the model's default_task, else "
         "none)",
         0, 0, NULL},
        {"prompt", 0, CLI_TEXT, &e->prompt, "NAME",
         "put the prompt of this name, from the model's files, before each text; \"\" for none", 0,
         0, NULL},
        {"prompt-text", 0, CLI_TEXT, &e->prompt_text, "TEXT",
         "put TEXT before each text, such as E5's \"query: \"; for models whose files list no "
         "prompts",
         0, 0, NULL},
        {"pooling", 0, CLI_WORD, &e->pooling, TSRI_CLI_POOLINGS,
         "how the vectors of a text's tokens become one (default: as the model's files say, else "
         "mean; for a bare decoder, such as LlamaModel, last)",
         0, 0, NULL},
        {0}};
    memcpy(rows, all, sizeof all);
    return rows;
}

static int show_progress(void *data, uint64_t done, uint64_t total) {
    tsri_cli_embedding *e = data;
    return tsri_cli_windows_progress(&e->windows, done, total);
}

int tsri_cli_embedding_begin(tsri_cli_embedding *e) {
    const tsr_embed_options options = {.struct_size = sizeof options,
                                       .max_tokens = e->app->context,
                                       .prompt = e->prompt,
                                       .prompt_text = e->prompt_text,
                                       .pooling = e->pooling,
                                       .progress = show_progress,
                                       .progress_data = e};
    e->info.struct_size = sizeof e->info;
    e->windows.progress.app = e->app;
    tsr_embedder_destroy(&e->embedder);
    const int code = tsri_cli_status(tsr_embedder_create(e->app->model, &options, &e->embedder));
    return code == CLI_OK ? tsri_cli_status(tsr_embedder_info_get(e->embedder, &e->info)) : code;
}

/* What a vector is, where no file says it and one pooling is taken. */
static const char *pooled_as(const char *pooling) {
    static const char *const words[][2] = {{"mean", "the mean of the last hidden states"},
                                           {"first", "the last hidden state of the first token"},
                                           {"last", "the last hidden state of the last token"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i][0], pooling))
            return words[i][1];
    return "pooled from the last hidden states";
}

int tsri_cli_embedding_open(tsri_cli_embedding *e) {
    tsri_cli_app *app = e->app;
    app->vectors = 1;
    if (!app->model_name)
        app->model_name = "all-MiniLM-L6-v2";
    int code = tsri_cli_open_model(app);
    if (code == CLI_OK)
        code = tsri_cli_embedding_begin(e);
    if (code == CLI_OK && *e->info.tasks && !*e->info.task && !app->task)
        tsri_cli_note(app, "%s has adapters for the tasks %s; none is taken: --task NAME takes one",
                      app->model_name, e->info.tasks);
    if (code == CLI_OK && !e->info.has_modules)
        tsri_cli_note(app, "%s has no modules.json: each vector is %s, and is not normalised",
                      app->model_name, pooled_as(e->info.pooling));
    return code;
}

int tsri_cli_embedding_window(tsri_cli_embedding *e) {
    tsri_cli_windows *all = &e->windows;
    const tsri_cli_window *w = &all->window;
    const size_t width = e->info.width;
    tsr_embed_stats stats = {.struct_size = sizeof stats};
    const int code =
        tsri_cli_windows_status(all, tsr_embed(e->embedder, w->texts, w->n, e->rows, &stats));
    all->counts[0] += stats.cut;
    for (size_t i = 0; i < w->n; i++)
        if (w->wrong[i])
            memset(e->rows + i * width, 0, width * sizeof *e->rows);
    return code;
}

int tsri_cli_embedding_run(tsri_cli_embedding *e, const tsri_cli_source *source,
                           int (*work)(void *data), void *data) {
    tsri_cli_windows *w = &e->windows;
    e->rows = malloc(TSRI_CLI_WINDOW * (size_t)e->info.width * sizeof *e->rows);
    if (!e->rows)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    w->progress = (tsri_cli_progress){.app = e->app, .doing = "embedding", .unit = "texts"};
    w->source = source;
    w->work = work;
    w->data = data;
    const int code = tsri_cli_windows_run(w);
    if ((code == CLI_OK || code == CLI_MISS) && w->sums[0])
        tsri_cli_note(e->app,
                      "%" PRIu64 " of %" PRIu64 " texts were longer than %" PRId64
                      " tokens and were cut",
                      w->sums[0], w->done, e->info.max_tokens);
    return code;
}

void tsri_cli_embedding_close(tsri_cli_embedding *e) {
    tsri_cli_windows_clear(&e->windows);
    tsr_embedder_destroy(&e->embedder);
    free(e->rows);
}
