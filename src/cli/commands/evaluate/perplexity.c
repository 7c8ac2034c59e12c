/* cli/commands/evaluate/perplexity.c - tessera evaluate --perplexity: measures how well a model
 * predicts a text. */
#include "cli/base/json.h"
#include "cli/base/shown.h"
#include "cli/commands/evaluate/evaluate.h"
#include "cli/reading/input.h"

#include <stdlib.h>
#include <string.h>

static int show_progress(void *data, uint64_t done, uint64_t total) {
    tsri_cli_evaluation *j = data;
    char text[96];
    snprintf(text, sizeof text, "scoring %3d%%  %llu of %llu tokens", (int)(done * 100 / total),
             (unsigned long long)done, (unsigned long long)total);
    if (done < total)
        tsri_cli_show(&j->app, text);
    else
        tsri_cli_clear_progress(&j->app);
    return tsri_cli_signal();
}

static void show(tsri_cli_evaluation *j, const tsr_perplexity *p) {
    const double seconds = (double)p->nanoseconds * 1e-9;
    tsri_cli_print(&j->app, "%-14s %.6f nats a token\n", "loss", p->loss);
    tsri_cli_print(&j->app, "%-14s %.4f\n", "perplexity", p->perplexity);
    tsri_cli_print(&j->app, "%-14s %.6f\n", "bits a byte", p->bits_per_byte);
    tsri_cli_print(&j->app, "%-14s %llu scored, %llu bytes\n", "tokens",
                   (unsigned long long)p->tokens, (unsigned long long)p->bytes);
    tsri_cli_print(&j->app, "%-14s %llu of %lld tokens, stride %lld\n", "windows",
                   (unsigned long long)p->windows, (long long)p->window, (long long)p->stride);
    tsri_cli_print(&j->app, "%-14s %.2f s, %.0f tokens a second\n", "time", seconds,
                   seconds > 0 ? (double)p->tokens / seconds : 0.0);
}

static void show_json(tsri_cli_evaluation *j, const tsr_perplexity *p) {
    json_t *all = json_pack(
        "{s:i,s:o,s:o,s:o,s:o,s:I,s:I,s:I,s:I,s:I,s:f}", "schema", 1, "file",
        tsri_cli_json_string(j->perplexity), "loss", tsri_cli_json_number(p->loss), "perplexity",
        tsri_cli_json_number(p->perplexity), "bits_per_byte",
        tsri_cli_json_number(p->bits_per_byte), "tokens", (json_int_t)p->tokens, "bytes",
        (json_int_t)p->bytes, "windows", (json_int_t)p->windows, "window", (json_int_t)p->window,
        "stride", (json_int_t)p->stride, "seconds", (double)p->nanoseconds * 1e-9);
    tsri_cli_json_print(&j->app, all, JSON_INDENT(1));
}

int tsri_cli_evaluate_perplexity(tsri_cli_evaluation *j) {
    const tsr_perplexity_options options = {.struct_size = sizeof options,
                                            .window = j->window ? j->window : j->app.context,
                                            .stride = j->stride,
                                            .progress = show_progress,
                                            .progress_data = j,
                                            .ranks = j->app.ranks};
    tsr_perplexity p = {.struct_size = sizeof p};
    char *text = NULL;
    size_t n = 0;
    int code = CLI_OK;
    if (j->app.rank == 0)
        code = tsri_cli_read_input(&j->app, j->perplexity, j->encoding, &text, &n);
    if (code == CLI_OK)
        code = tsri_cli_open_model(&j->app);
    if (code == CLI_OK) {
        const tsr_status status = tsr_evaluate_perplexity(j->app.model, text, n, &options, &p);
        code = tsri_cli_file_status(status, j->perplexity);
    }
    free(text);
    if (code == CLI_OK && j->app.rank == 0)
        (j->app.json ? show_json : show)(j, &p);
    return code;
}
