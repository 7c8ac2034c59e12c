/* cli/evaluate.c - tessera evaluate: how well a model predicts a text. */
#include "cli/app.h"

#include <jansson.h>
#include <stdlib.h>

typedef struct job {
    tsri_cli_app app;
    const char *path;
    int64_t window, stride;
} job;

static int show_progress(void *data, uint64_t done, uint64_t total) {
    job *j = data;
    if (!j->app.quiet && !j->app.json && tsri_cli_is_terminal(2)) {
        fprintf(stderr, "\r\033[K");
        if (done < total)
            fprintf(stderr, "scoring %3d%%  %llu of %llu tokens", (int)(done * 100 / total),
                    (unsigned long long)done, (unsigned long long)total);
    }
    return tsri_cli_signal();
}

static void show(job *j, const tsr_perplexity *p) {
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

static void show_json(job *j, const tsr_perplexity *p) {
    json_t *all =
        json_pack("{s:i,s:s,s:f,s:f,s:f,s:I,s:I,s:I,s:I,s:I,s:f}", "schema", 1, "file", j->path,
                  "loss", p->loss, "perplexity", p->perplexity, "bits_per_byte", p->bits_per_byte,
                  "tokens", (json_int_t)p->tokens, "bytes", (json_int_t)p->bytes, "windows",
                  (json_int_t)p->windows, "window", (json_int_t)p->window, "stride",
                  (json_int_t)p->stride, "seconds", (double)p->nanoseconds * 1e-9);
    char *text = json_dumps(all, JSON_INDENT(1));
    tsri_cli_print(&j->app, "%s\n", text ? text : "");
    free(text);
    json_decref(all);
}

static int evaluate(job *j) {
    const tsr_perplexity_options options = {.struct_size = sizeof options,
                                            .window = j->window ? j->window : j->app.context,
                                            .stride = j->stride,
                                            .progress = show_progress,
                                            .progress_data = j};
    tsr_perplexity p = {.struct_size = sizeof p};
    char *text;
    size_t n;
    int code = tsri_cli_read_input(j->path, &text, &n);
    if (code == CLI_OK)
        code = tsri_cli_open_model(&j->app);
    if (code == CLI_OK) {
        const tsr_status status = tsr_evaluate_perplexity(j->app.model, text, n, &options, &p);
        if (status == TSR_E_FORMAT)
            code = tsri_cli_fail(CLI_FILE, "%s: %s", j->path, tsr_error_last());
        else if (status != TSR_E_CANCELLED || !tsri_cli_signal())
            code = tsri_cli_status(status);
        else
            code = 128 + tsri_cli_signal();
    }
    free(text);
    if (code == CLI_OK)
        (j->app.json ? show_json : show)(j, &p);
    return code;
}

int tsri_cli_evaluate(int argc, char **argv) {
    job j = {0};
    tsri_cli_list operands = {0};
    const tsri_cli_option own[] = {
        {"perplexity", 0, CLI_TEXT, &j.path, "FILE",
         "loss a token, perplexity and bits a byte of this text (- for standard input)", 0, 0,
         NULL},
        {"window", 0, CLI_INT, &j.window, "N",
         "tokens that the model sees at once; its context without it", 2, 1 << 30, NULL},
        {"stride", 0, CLI_INT, &j.stride, "N",
         "tokens from one window to the next; half a window without it", 1, 1 << 30, NULL},
        {0}};
    const tsri_cli_option *tables[] = {own,
                                       tsri_cli_model_options(&j.app),
                                       tsri_cli_device_options(&j.app),
                                       tsri_cli_json_option(&j.app),
                                       tsri_cli_common_options(&j.app),
                                       NULL};
    int code = tsri_cli_parse(argc, argv, "tessera evaluate --perplexity FILE [-m MODEL]",
                              "How well a model predicts a text. Each token is scored once, in "
                              "sliding windows, after at least window - stride others.",
                              tables, &operands);
    if (code == CLI_OK && operands.n)
        code = tsri_cli_fail(CLI_USAGE, "%s: evaluate takes no operands", operands.items[0]);
    if (code == CLI_OK && !j.path)
        code =
            tsri_cli_fail(CLI_USAGE, "evaluate wants --perplexity FILE; see tessera help evaluate");
    if (code == CLI_OK)
        code = evaluate(&j);
    free(operands.items);
    return tsri_cli_close(&j.app, code);
}
