/* cli/commands/train.c - tessera train: trains a model from scratch by a recipe, or trains an
 * existing model further. */
#include "cli/base/app.h"
#include "cli/base/help.h"
#include "cli/base/shown.h"
#include "cli/base/watch.h"
#include "cli/commands/commands.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct job {
    tsri_cli_app app;
    tsri_cli_list validation, set;
    const char *output, *recipe, *task;
    bool head_only, resume, dry_run, checkpointing, balance;
    uint64_t shown; /* when the line of progress was last drawn, in nanoseconds */
    bool other;     /* this is another rank than 0, which tells nothing */
    bool adapters;  /* adapters are trained, not the model's own weights */
} job;

/* ---- what is shown ---- */

static bool time_to_show(job *j) {
    const uint64_t ns = tsri_cli_now_ns();
    if (ns - j->shown < 100000000)
        return false;
    j->shown = ns;
    return true;
}

static void clear_line(job *j) {
    tsri_cli_clear_progress(&j->app);
}

static void show_preparing(job *j, const tsr_train_event *e) {
    char text[96];
    if (!time_to_show(j))
        return;
    snprintf(text, sizeof text, "reading %3d%%  %" PRIu64 " of %" PRIu64 " MiB",
             e->total ? (int)(e->done * 100 / e->total) : 100, e->done >> 20, e->total >> 20);
    tsri_cli_show(&j->app, text);
}

/* On a terminal, one line that is rewritten; elsewhere, and with --progress plain, a line for each line
 * of the log. */
static void show_step(job *j, const tsr_train_event *e) {
    const bool terminal = tsri_cli_shown_as(&j->app) == CLI_SHOWN_LINE;
    const uint64_t left = e->seconds_left > 0 ? (uint64_t)(e->seconds_left + 0.5) : 0;
    char kl[32] = "", waiting[32] = "";
    if (tsri_cli_shown_never(&j->app) ||
        (terminal ? !time_to_show(j) && e->step < e->steps : !e->logged))
        return;
    if (isfinite(e->kl))
        snprintf(kl, sizeof kl, "  kl %.4f", e->kl);
    if (isfinite(e->waiting))
        snprintf(waiting, sizeof waiting, "  %.0f %% waiting", 100 * e->waiting);
    const bool stays = !terminal || e->step == e->steps;
    fprintf(stderr,
            "%sstep %" PRIu64 "/%" PRIu64
            "  loss %.4f%s  %.0f tokens/s%s  rate %.3g  norm %.3g  %" PRIu64 ":%02" PRIu64
            " left%s",
            terminal ? "\r\033[K" : "", e->step, e->steps, e->loss, kl, e->tokens_per_second,
            waiting, e->learning_rate, e->grad_norm, left / 60, left % 60, stays ? "\n" : "");
    j->app.progress_shown = !stays;
}

static void show_evaluated(job *j, const tsr_train_event *e) {
    clear_line(j);
    fprintf(stderr, "step %" PRIu64 "/%" PRIu64 "  validation loss %.4f", e->step, e->steps,
            e->eval_loss);
    if (isfinite(e->eval_accuracy))
        fprintf(stderr, "  accuracy %.4f", e->eval_accuracy);
    if (isfinite(e->eval_f1))
        fprintf(stderr, "  F1 %.4f", e->eval_f1);
    fputs(e->best ? "  (the best so far)\n" : "\n", stderr);
    if (*e->text)
        fprintf(stderr, "  | ");
    for (const char *c = e->text; *c; c++) {
        fputc((unsigned char)*c >= ' ' || *c == '\n' ? *c : ' ', stderr);
        if (*c == '\n' && c[1])
            fprintf(stderr, "  | ");
    }
    if (*e->text)
        fputc('\n', stderr);
}

static double mebibytes(uint64_t bytes) {
    return (double)bytes / (1 << 20);
}

/* Prints a line of the plan: to standard output with --dry-run, otherwise as a note. */
__attribute__((format(PRINTF, 2, 3))) static void line(job *j, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (j->dry_run)
        tsri_cli_print(&j->app, "%s\n", text);
    else
        tsri_cli_note(&j->app, "%s", text);
}

/* For --dry-run: how many ranks can share the work. */
static void show_shards(job *j, const tsr_train_plan *p) {
    const char *up_to = p->shards == 1 ? "" : "up to ", *plural = p->shards == 1 ? "" : "s";
    char more[64] = "";
    if (p->shards < p->most_shards)
        snprintf(more, sizeof more, "; --set shards=%" PRIu32 " is for up to %" PRIu32,
                 p->most_shards, p->most_shards);
    line(j, "shards: %" PRIu32 " an update, for %s%" PRIu32 " rank%s%s", p->shards, up_to,
         p->shards, plural, more);
}

static void show_plan(job *j, const tsr_train_plan *p) {
    clear_line(j);
    j->adapters = !strcmp(p->learns, "LoRA");
    line(j, "model: %s, %" PRIu64 " parameters, to %s; learning: %s, %" PRIu64, p->family,
         p->parameters, p->task, p->learns, p->learning);
    if (p->S)
        line(j, "batches: %d x %d tokens from %d, %" PRIu64 " an update", p->B, p->T, p->S,
             p->accumulation);
    else
        line(j, "batches: %d x %d tokens, %" PRIu64 " an update", p->B, p->T, p->accumulation);
    if (j->dry_run)
        show_shards(j, p);
    line(j, "data: %" PRIu64 " examples, %" PRIu64 " tokens, %" PRIu64 " batches an epoch",
         p->examples, p->tokens, p->batches);
    line(j, "steps: %" PRIu64 ", %.2f epochs", p->steps,
         p->batches ? (double)(p->steps * p->accumulation) / (double)p->batches : 0.0);
    line(j,
         "memory: %.1f MiB: %.1f frozen weights, %.1f parameters, %.1f gradients, %.1f optimizer, "
         "%.1f activations, %.1f inputs",
         mebibytes(p->total_bytes), mebibytes(p->weight_bytes), mebibytes(p->parameter_bytes),
         mebibytes(p->gradient_bytes), mebibytes(p->optimizer_bytes),
         mebibytes(p->activation_bytes), mebibytes(p->input_bytes));
    if (p->process_bytes)
        line(j, "peak: %.1f MiB of this process", mebibytes(p->process_bytes));
}

static int told(void *data, const tsr_train_event *e) {
    job *j = data;
    if (e->kind == TSR_TRAIN_STEP) /* from now on there is progress to save */
        tsri_cli_watch_patience(CLI_PATIENT);
    if (e->kind == TSR_TRAIN_PLANNED && !(j->other && j->dry_run))
        show_plan(j, e->plan);
    else if (e->kind == TSR_TRAIN_WARNING && !j->other) {
        clear_line(j);
        fprintf(stderr, "tessera: warning: %s\n", e->text);
    } else if (j->app.quiet)
        return tsri_cli_signal();
    else if (e->kind == TSR_TRAIN_PREPARING)
        show_preparing(j, e);
    else if (e->kind == TSR_TRAIN_STEP)
        show_step(j, e);
    else if (e->kind == TSR_TRAIN_EVALUATED)
        show_evaluated(j, e);
    else if (e->kind == TSR_TRAIN_NOTE || e->kind == TSR_TRAIN_SAVED) {
        clear_line(j);
        tsri_cli_note(&j->app, e->kind == TSR_TRAIN_SAVED ? "%s was written" : "%s", e->text);
    }
    return tsri_cli_signal();
}

/* ---- the command ---- */

/* The number of a word of --task. */
static uint32_t task_of(const char *word) {
    static const char *const names[] = {"auto",      "generate", "fill-mask",
                                        "translate", "classify", "classify-tokens"};
    uint32_t task = 0;
    while (word && strcmp(names[task], word))
        task++;
    return task;
}

static int add_set(job *j, const char *text) {
    const char **grown = realloc(j->set.items, (j->set.n + 1) * sizeof *grown);
    if (!grown)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    j->set.items = grown;
    j->set.items[j->set.n++] = text;
    return CLI_OK;
}

static int train(job *j, const tsri_cli_list *data) {
    tsr_train_options options = {.struct_size = sizeof options,
                                 .data = data->items,
                                 .n_data = data->n,
                                 .validation = j->validation.items,
                                 .n_validation = j->validation.n,
                                 .output = j->output,
                                 .recipe = j->recipe,
                                 .model = j->app.model_name,
                                 .head_only = j->head_only,
                                 .resume = j->resume,
                                 .dry_run = j->dry_run,
                                 .balance = j->balance,
                                 .progress = told,
                                 .progress_data = j,
                                 .profile = j->app.profile ? tsri_cli_profiled : NULL,
                                 .profile_data = &j->app,
                                 .ranks = j->app.ranks,
                                 .task = task_of(j->task)};
    tsr_train_result result = {.struct_size = sizeof result};
    int code = CLI_OK;
    if (j->checkpointing)
        code = add_set(j, "gradient_checkpointing=true");
    options.set = j->set.items;
    options.n_set = j->set.n;
    tsr_ranks_info info = {.struct_size = sizeof info};
    if (code == CLI_OK)
        code = tsri_cli_status(tsr_ranks_info_get(j->app.ranks, &info));
    j->other = info.rank > 0;
    j->app.record = j->dry_run; /* kernels are chosen but not built */
    if (code == CLI_OK)
        code = tsri_cli_open_device(&j->app);
    if (code != CLI_OK)
        return code;
    const tsr_status status = tsr_train(j->app.device, &options, &result);
    clear_line(j);
    if (status == TSR_E_CANCELLED && result.stopped) { /* by a signal, to this rank or another */
        j->app.stopped_together = true;
        if (!j->other)
            tsri_cli_fail(CLI_OTHER, "%s", tsr_error_last());
        return 128 + result.stopped;
    }
    if (status == TSR_E_CANCELLED && tsri_cli_signal()) {
        tsri_cli_fail(CLI_OTHER, "%s", tsr_error_last());
        return 128 + tsri_cli_signal();
    }
    if (status == TSR_OK && result.finished)
        tsri_cli_note(&j->app,
                      j->adapters ? "%s holds adapters; use them with --lora %s"
                                  : "%s is a model; use it with -m %s",
                      j->output, j->output);
    if (status == TSR_E_STATE) /* the loss is not finite */
        return tsri_cli_fail(CLI_OTHER, "%s", tsr_error_last());
    return tsri_cli_status(status);
}

static void show_key(void *data, const char *name, const char *values, const char *initial,
                     const char *help) {
    (void)data;
    tsri_cli_help()->row(name, help, values, initial);
}

int tsri_cli_train(int argc, char **argv) {
    job j = {0};
    tsri_cli_list operands = {0};
    const tsri_cli_option own[] = {
        {"output", 'o', CLI_TEXT, &j.output, "OUT",
         "the new folder for the checkpoints, the log and the trained model", 0, 0, NULL},
        {"recipe", 0, CLI_TEXT, &j.recipe, "NAME|FILE",
         "train from scratch by this recipe: char-gpt, gpt-small, bert-mini, tagger-mini, "
         "transformer-base, bahdanau or a file",
         0, 0, NULL},
        {"model", 'm', CLI_TEXT, &j.app.model_name, "MODEL",
         "train this model further: a Hugging Face folder, or a name, as in every command", 0, 0,
         NULL},
        {"set", 0, CLI_LIST, &j.set, "KEY=VALUE", "change a setting; may be given several times", 0,
         0, NULL},
        {"validation", 0, CLI_LIST, &j.validation, "FILE",
         "validate on this file (default: a share of DATA)", 0, 0, NULL},
        {"task", 0, CLI_WORD, &j.task, "auto|generate|fill-mask|translate|classify|classify-tokens",
         "what to train for (default: auto, the model's own task)", 0, 0, NULL},
        {"head-only", 0, CLI_FLAG, &j.head_only, NULL,
         "train only the layers above the last hidden state", 0, 0, NULL},
        {"gradient-checkpointing", 0, CLI_FLAG, &j.checkpointing, NULL,
         "use less memory and more time; the same as --set gradient_checkpointing=true", 0, 0,
         NULL},
        {"balance", 0, CLI_FLAG, &j.balance, NULL,
         "of several ranks, give the faster ones more of an update; changes no byte", 0, 0, NULL},
        {"resume", 0, CLI_FLAG, &j.resume, NULL, "continue the run in OUT", 0, 0, NULL},
        {"dry-run", 0, CLI_FLAG, &j.dry_run, NULL,
         "only print the run's parameters, memory and steps; build no kernel, write no file", 0, 0,
         NULL},
        {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_rank_options(&j.app),
                                       tsri_cli_device_options(&j.app),
                                       tsri_cli_common_options(&j.app), NULL};
    int code = tsri_cli_parse(
        argc, argv,
        "tessera train DATA... -o OUT (--recipe NAME | --model MODEL) [--set KEY=VALUE]...",
        "Trains a model on text, JSONL, TSV or CSV files, and saves checkpoints. A run that is "
        "resumed from a\ncheckpoint ends with the same bytes as one that was never stopped. See "
        "docs/training.md.",
        tables, &operands);
    if (code == CLI_HELP) {
        tsri_cli_help()->heading(
            "keys of --set (in a recipe they are in \"training\"; from kind on, in "
            "\"model\")");
        tsr_train_keys(show_key, NULL);
    }
    if (code == CLI_OK && !j.output && !j.dry_run)
        code =
            tsri_cli_fail(CLI_USAGE, "train needs -o OUT, the new folder; see tessera help train");
    if (code == CLI_OK && !operands.n && !j.resume)
        code = tsri_cli_fail(CLI_USAGE, "train needs DATA, the files to train on; see tessera help "
                                        "train");
    if (code == CLI_OK) /* tsr_train compares the settings */
        code = tsri_cli_open_ranks(
            &j.app, argv[0], (const tsri_cli_option *[]){tsri_cli_device_options(&j.app), NULL});
    if (code == CLI_OK)
        code = train(&j, &operands);
    free(operands.items);
    free(j.set.items);
    free(j.validation.items);
    return tsri_cli_close(&j.app, code);
}
