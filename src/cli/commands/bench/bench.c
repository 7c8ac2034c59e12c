/* cli/commands/bench/bench.c - tessera bench: measures a device's peaks, and a model's speed on it.
 */
#include "cli/base/watch.h"
#include "cli/commands/bench/format.h"
#include "cli/commands/bench/suite.h"
#include "cli/commands/commands.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SIZES = 32 };

typedef struct sizes {
    int64_t at[MOST_SIZES];
    uint32_t n;
} sizes;

typedef struct job {
    tsri_cli_app app;
    const char *shape, *format_name, *path;
    const char *prompts, *generates, *depths, *batches, *trains;
    int64_t repeats;
    bool peaks_alone;
    tsri_cli_bench_writer writer;
    tsri_cli_bench_subject subject;
    tsr_device_info info;
    tsr_model_options model_options;
    char *name, told[64]; /* told: what was last said to be measured */
    sizes p, n, d, b, t;
} job;

/* "512" or "128,512". */
static int read_sizes(const char *option, const char *text, int64_t lowest, sizes *out) {
    out->n = 0;
    for (const char *at = text; *at;) {
        char *end;
        const long long value = strtoll(at, &end, 10);
        if (end == at || (*end && *end != ',') || value < lowest || value > 1 << 24 ||
            out->n == MOST_SIZES)
            return tsri_cli_fail(
                CLI_USAGE,
                "%s %s: give at most %d whole numbers from %lld to %d, separated by commas", option,
                text, MOST_SIZES, (long long)lowest, 1 << 24);
        out->at[out->n++] = value;
        at = *end ? end + 1 : end;
    }
    return CLI_OK;
}

/* 0 tokens: the test is left out. */
static void leave_out_zeros(sizes *of) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < of->n; i++)
        if (of->at[i])
            of->at[kept++] = of->at[i];
    of->n = kept;
}

static int show(void *data, const tsr_bench_row *row) {
    job *j = data;
    const int code = tsri_cli_bench_row(&j->writer, &j->subject, row);
    return tsri_cli_signal() || j->app.stopped || code != CLI_OK;
}

/* Told before every run; said once for each row. */
static int tell(void *data, const char *what) {
    job *j = data;
    if (j->app.verbose && strncmp(what, j->told, sizeof j->told - 1) != 0)
        tsri_cli_note(&j->app, "measuring %s", what);
    snprintf(j->told, sizeof j->told, "%s", what);
    return tsri_cli_signal();
}

static int bench_device(void *data) {
    job *j = data;
    const tsr_bench_options options = {.struct_size = sizeof options,
                                       .repeats = (uint32_t)j->repeats,
                                       .prompts = j->p.at,
                                       .n_prompts = j->p.n,
                                       .generates = j->n.at,
                                       .n_generates = j->n.n,
                                       .depths = j->d.at,
                                       .n_depths = j->d.n,
                                       .batches = j->b.at,
                                       .n_batches = j->b.n,
                                       .progress = tell,
                                       .progress_data = j,
                                       .trains = j->t.at,
                                       .n_trains = j->t.n};
    tsr_bench_summary summary = {.struct_size = sizeof summary};
    int code = tsri_cli_bench_open_device(&j->app, &j->info);
    if (code != CLI_OK)
        return code;
    j->subject = (tsri_cli_bench_subject){.model = j->peaks_alone ? NULL : j->name,
                                          .dtype = j->app.dtype_name,
                                          .device = &j->info,
                                          .threads = j->app.threads};
    code = tsri_cli_bench_device(&j->writer, &j->subject);
    if (code != CLI_OK)
        return code;
    const tsr_status status = tsr_bench(j->app.engine, j->app.device, j->subject.model,
                                        &j->model_options, &options, show, j, &summary);
    return tsri_cli_bench_close_device(&j->app, status, &summary);
}

static int prepare(job *j) {
    int code = tsri_cli_refuse_profile(&j->app, "bench");
    if (code == CLI_OK)
        code = read_sizes("-p", j->prompts, 0, &j->p);
    if (code == CLI_OK)
        code = read_sizes("-n", j->generates, 0, &j->n);
    if (code == CLI_OK)
        code = read_sizes("-d", j->depths, 0, &j->d);
    if (code == CLI_OK)
        code = read_sizes("-b", j->batches, 1, &j->b);
    if (code == CLI_OK)
        code = read_sizes("--train", j->trains, 0, &j->t);
    leave_out_zeros(&j->t);
    leave_out_zeros(&j->p);
    leave_out_zeros(&j->n);
    if (code == CLI_OK && j->shape && j->app.model_name)
        code = tsri_cli_fail(CLI_USAGE, "--shape stands in place of a model: leave out -m");
    if (code == CLI_OK && j->t.n && j->app.loras.n)
        code =
            tsri_cli_fail(CLI_USAGE, "--train times steps that change all weights of a model, and "
                                     "adapters have no part in them: leave out --lora or --train");
    if (code == CLI_OK)
        code = tsri_cli_model_settings(&j->app, &j->model_options);
    const char *model = j->shape ? j->shape : j->app.model_name ? j->app.model_name : "shakespeare";
    if (code == CLI_OK && asprintf(&j->name, "%s%s", j->shape ? "shape:" : "", model) < 0)
        code = tsri_cli_fail(CLI_OTHER, "out of memory");
    if (code == CLI_OK && !j->peaks_alone) { /* examined before anything is measured */
        code = tsri_cli_status(tsr_model_open(j->name, NULL, &j->model_options, &j->app.model));
        tsr_model_close(&j->app.model);
    }
    return code;
}

static int run(job *j) {
    const tsr_bench_file_options options = {.struct_size = sizeof options};
    return tsri_cli_bench_run(&j->app, j->format_name, j->path, &options, &j->writer, bench_device,
                              j);
}

/* The common table without the letter -d for the device: here -d is the depth. */
static const tsri_cli_option *device_options(tsri_cli_app *app) {
    static tsri_cli_option rows[16];
    const tsri_cli_option *all = tsri_cli_device_options(app);
    for (size_t i = 0; i < 15 && all[i].names; i++) {
        rows[i] = all[i];
        rows[i].letter = rows[i].letter == 'd' ? 0 : rows[i].letter;
    }
    return rows;
}

static int bench(int argc, char **argv) {
    job j = {.format_name = "md",
             .prompts = "512",
             .generates = "128",
             .depths = "0,512",
             .batches = "1",
             .trains = "0",
             .repeats = 5};
    const tsri_cli_option own[] = {
        {"shape", 0, CLI_TEXT, &j.shape, "NAME",
         "measure a model with random weights instead: llama-15m, llama-110m, smollm2-135m, "
         "llama-1b, gpt2-124m, gpt-10m, char-gpt or tiny",
         0, 0, NULL},
        {"n-prompt", 'p', CLI_TEXT, &j.prompts, "N,..",
         "read prompts of N tokens (default: 512); 0: none", 0, 0, NULL},
        {"n-gen", 'n', CLI_TEXT, &j.generates, "N,..", "generate N tokens (default: 128); 0: none",
         0, 0, NULL},
        {"depth", 'd', CLI_TEXT, &j.depths, "N,..", "after N tokens of context (default: 0,512)", 0,
         0, NULL},
        {"train", 0, CLI_TEXT, &j.trains, "N,..",
         "run training steps with sequences of N tokens (default: 0, none)", 0, 0, NULL},
        {"batch", 'b', CLI_TEXT, &j.batches, "N,..", "run N sequences at once (default: 1)", 0, 0,
         NULL},
        {"repeat", 'r', CLI_INT, &j.repeats, "N",
         "measure N runs, and print their median (default: 5)", 1, 1000, NULL},
        {"peaks", 0, CLI_FLAG, &j.peaks_alone, NULL, "measure only the device's peaks", 0, 0, NULL},
        {"format", 0, CLI_WORD, &j.format_name, "md|csv|json|jsonl",
         "print the results as a Markdown table, CSV, JSON or JSON Lines (default: md)", 0, 0,
         NULL},
        {"output", 'o', CLI_TEXT, &j.path, "FILE",
         "write the results to this JSON file, too (docs/benchmark.md)", 0, 0, NULL},
        {0}};
    const tsri_cli_option *tables[] = {own,
                                       tsri_cli_model_options(&j.app),
                                       device_options(&j.app),
                                       tsri_cli_json_option(&j.app),
                                       tsri_cli_common_options(&j.app),
                                       NULL};
    int code = tsri_cli_parse(
        argc, argv,
        "tessera bench [-m MODEL | --shape NAME] [--device D|all]\n       tessera "
        "bench suite [--class NAME] [--device D|all] [-o FILE]\n       tessera "
        "bench report FILE... [--format NAME] [-o FILE]\n       tessera bench "
        "compare BEFORE AFTER [--fail-above N%]\n       tessera bench duel --against "
        "TESSERA [-- OPTIONS OF BENCH]",
        "Measures a device's peaks, then a model's prompt processing, generation "
        "and training steps: median,\nspread, share of the roofline, and memory. No "
        "rate is given where the logits differ from the\nreference's.",
        tables, NULL);
    if (code == CLI_OK)
        code = prepare(&j);
    if (code == CLI_OK)
        code = run(&j);
    free(j.name);
    return tsri_cli_close(&j.app, code);
}

int tsri_cli_bench(int argc, char **argv) {
    const tsri_cli_verb *verb = argc > 1 ? tsri_cli_find_verb("bench", argv[1]) : NULL;
    if (!verb)
        return bench(argc, argv);
    argv[1] = (char *)verb->name;
    return verb->run(argc - 1, argv + 1);
}
