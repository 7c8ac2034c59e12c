/* cli/shared/embedding.h - what embed, search and cluster share: opening the model, and running
 * texts through it. */
#ifndef TESSERA_CLI_SHARED_EMBEDDING_H
#define TESSERA_CLI_SHARED_EMBEDDING_H

#include "cli/shared/windows.h"

/* The values of --pooling. */
#define TSRI_CLI_POOLINGS "mean|cls|last|max|sqrt-mean|weighted-mean"

typedef struct tsri_cli_embedding {
    tsri_cli_app *app;
    const char *prompt, *prompt_text, *pooling; /* as in tsr_embed_options */
    tsr_embedder *embedder;
    tsr_embedder_info info;
    tsri_cli_windows windows;
    float *rows; /* of the current window */
} tsri_cli_embedding;

const tsri_cli_option *
tsri_cli_embedding_options(tsri_cli_embedding *e); /* --task --prompt --prompt-text --pooling */

/* Opens the model (without -m, the one of tools/get-minilm), and notes where it is not a
 * sentence-transformers folder. Each returns an exit code, and prints what went wrong. */
int tsri_cli_embedding_open(tsri_cli_embedding *e);
int tsri_cli_embedding_begin(tsri_cli_embedding *e); /* begins again with another prompt */
/* Embeds the current window, into `rows` [windows.window.n, width]; texts that are missing get
 * zeros. */
int tsri_cli_embedding_window(tsri_cli_embedding *e);
/* Runs `work` over all windows of a source: see cli/shared/windows.h. At the end it prints how many
 * texts were cut, of those that `work` counted in windows.counts[0], and returns CLI_MISS where
 * some had no text. */
int tsri_cli_embedding_run(tsri_cli_embedding *e, const tsri_cli_source *source,
                           int (*work)(void *data), void *data);
void tsri_cli_embedding_close(tsri_cli_embedding *e);

#endif
