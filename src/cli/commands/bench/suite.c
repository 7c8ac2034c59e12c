/* cli/commands/bench/suite.c - tessera bench suite: the fixed set of peaks and jobs, on one device or
 * all. */
#include "cli/commands/bench/suite.h"
#include "base/system/system.h"
#include "cli/base/shown.h"
#include "cli/base/watch.h"
#include "cli/commands/bench/format.h"
#include "cli/commands/bench/peer.h"
#include "cli/commands/commands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define START_MODEL "shakespeare"
enum { MOST_START = 24, PATH = 4096, DRAW_MS = 200 }; /* MOST_START: words beside --backend */

typedef struct job {
    tsri_cli_app app;
    const char *class_name, *parts, *path, *format_name, *peer_name;
    tsri_cli_bench_writer writer;
    tsri_cli_bench_subject subject;
    char told[96]; /* what was last said to be measured */
    uint64_t begun, drawn;
    char self[PATH], threads[24], memory[24]; /* words of the command that is started */
    tsri_cli_bench_peer peer;                 /* where --peer is given */
    bool headed;                              /* the device was written */
    bool failed; /* a row could not be written: no other one is tried */
} job;

static int show(void *data, const tsr_bench_row *row) {
    job *j = data;
    if (j->failed)
        return 1;
    tsri_cli_clear_progress(&j->app);
    int code = j->headed ? CLI_OK : tsri_cli_bench_device(&j->writer, &j->subject);
    j->headed = true;
    if (code == CLI_OK)
        code = tsri_cli_bench_row(&j->writer, &j->subject, row);
    j->failed = j->app.stopped || code != CLI_OK;
    return tsri_cli_signal() || j->failed;
}

/* "about 3:20 left": the measurements left take as long as those that are done did, in the mean. */
static void print_left(const job *j, uint32_t done, uint32_t all, char out[48]) {
    const uint64_t took = (tsri_cli_now_ns() - j->begun) / 1000000000;
    *out = 0;
    if (done < 3 || all < done)
        return;
    const uint64_t left = took * (all - done) / done;
    snprintf(out, 48, ", about %" PRIu64 ":%02" PRIu64 " left", left / 60, left % 60);
}

/* "pass 1 of 2, 22 of 62 rows: pp512, about 1:20 left" */
static void print_progress(const job *j, const char *what, uint32_t done, uint32_t all,
                           char out[256]) {
    const uint32_t rows = all / 2;
    const bool second = done >= rows;
    char left[48];
    print_left(j, done, all, left);
    snprintf(out, 256, "pass %d of 2, %u of %u rows: %s%s", second ? 2 : 1,
             done - (second ? rows : 0), rows, what, left);
}

/* Told before every run. On a terminal a line is drawn again; in a log each row has a line, with -v or
 * --progress plain. */
static int tell(void *data, const char *what, uint32_t done, uint32_t all) {
    job *j = data;
    const tsri_cli_shown form = tsri_cli_shown_as(&j->app);
    const bool terminal = form == CLI_SHOWN_LINE, other = strcmp(what, j->told) != 0;
    const uint64_t now = tsri_cli_now_ns();
    char line[256];
    print_progress(j, what, done, all, line);
    if (tsri_cli_shown_never(&j->app))
        return tsri_cli_signal();
    if (terminal && (other || now - j->drawn > DRAW_MS * UINT64_C(1000000))) {
        tsri_cli_clear_progress(&j->app);
        fprintf(stderr, "\r\033[K%s", line);
        j->app.progress_shown = true;
        j->drawn = now;
    } else if (!terminal && other && (j->app.verbose || form == CLI_SHOWN_LINES))
        tsri_cli_note(&j->app, "%s", line);
    snprintf(j->told, sizeof j->told, "%s", what);
    return tsri_cli_signal();
}

static const char *number_word(int64_t value, char out[24]) {
    snprintf(out, 24, "%" PRId64, value);
    return value ? out : NULL;
}

/* Starts of this program on the same device, opened with the same options: `generate` with the bundled
 * model. Returns the number of words. */
static uint32_t start_command(job *j, const char **argv) {
    const char *const words[] = {j->self, "generate", "-m", START_MODEL, "-p",
                                 "To be", "-n",       "1",  "-q"};
    const tsri_cli_app *app = &j->app;
    const struct {
        const char *option, *value;
    } given[] = {{"--device", app->device_name},
                 {"--kernels", app->kernels},
                 {"--bundle", app->bundle},
                 {"--threads", number_word(app->threads, j->threads)},
                 {"--device-memory", number_word(app->device_memory, j->memory)}};
    uint32_t count = 0;
    if (!tsri_system_program(j->self, sizeof j->self))
        return 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        argv[count++] = words[i];
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (given[i].value) {
            argv[count++] = given[i].option;
            argv[count++] = given[i].value;
        }
    for (size_t i = 0; i < app->backends.n; i++) {
        argv[count++] = "--backend";
        argv[count++] = app->backends.items[i];
    }
    return count;
}

static int bench_device(void *data) {
    job *j = data;
    const char **start;
    tsr_bench_summary summary = {.struct_size = sizeof summary};
    tsr_device_info info;
    const int code = tsri_cli_bench_open_device(&j->app, &info);
    if (code != CLI_OK)
        return code;
    start = calloc(MOST_START + 2 * j->app.backends.n, sizeof *start);
    if (!start)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    const uint32_t n_start = start_command(j, start);
    const tsr_bench_suite_options options = {.struct_size = sizeof options,
                                             .unfinished = j->path != NULL,
                                             .class_name = j->class_name,
                                             .parts = j->parts,
                                             .model = j->app.model_name,
                                             .start = n_start ? start : NULL,
                                             .n_start = n_start,
                                             .start_model = START_MODEL,
                                             .progress = tell,
                                             .progress_data = j,
                                             .peer = j->peer_name ? j->peer.command : NULL,
                                             .n_peer = TSRI_CLI_BENCH_PEER_WORDS};
    j->begun = tsri_cli_now_ns();
    j->subject = (tsri_cli_bench_subject){.device = &info, .threads = j->app.threads};
    j->headed = false;
    const tsr_status status =
        tsr_bench_suite(j->app.engine, j->app.device, &options, show, j, &summary);
    free(start);
    tsri_cli_clear_progress(&j->app);
    return tsri_cli_bench_close_device(&j->app, status, &summary);
}

static int run(job *j) {
    const tsr_bench_file_options options = {
        .struct_size = sizeof options, .name = "suite", .class_name = j->class_name};
    return tsri_cli_bench_run(&j->app, j->format_name, j->path, &options, &j->writer, bench_device,
                              j);
}

int tsri_cli_bench_suite(int argc, char **argv) {
    job j = {.class_name = "smoke", .format_name = "md"};
    const tsri_cli_option own[] = {
        {"class", 0, CLI_WORD, &j.class_name, "smoke|laptop|full",
         "how much is measured: 2 minutes on 2 cores, 15 minutes, or everything (default: smoke)",
         0, 0, NULL},
        {"parts", 0, CLI_TEXT, &j.parts, "LIST",
         "only some of peaks, ops, decoder, bundled, encoder, translation, training, start; the "
         "peaks "
         "are always measured",
         0, 0, NULL},
        {"model", 'm', CLI_TEXT, &j.app.model_name, "MODEL",
         "measure this model in place of the shape of its kind", 0, 0, NULL},
        {"peer", 0, CLI_TEXT, &j.peer_name, "llama.cpp|onnxruntime|openvino|pytorch",
         "run prompts, generation and vectors with this engine, too, in turns and on the same "
         "weights; tools/peers installs the engines",
         0, 0, NULL},
        {"output", 'o', CLI_TEXT, &j.path, "FILE",
         "write the results to this JSON file, too (docs/benchmark.md)", 0, 0, NULL},
        {"format", 0, CLI_WORD, &j.format_name, "md|csv|json|jsonl",
         "print the results as a Markdown table, CSV, JSON or JSON Lines (default: md)", 0, 0,
         NULL},
        {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_device_options(&j.app),
                                       tsri_cli_json_option(&j.app),
                                       tsri_cli_common_options(&j.app), NULL};
    int code = tsri_cli_parse(
        argc, argv, "tessera bench suite [--class NAME] [--device D|all] [-o FILE]",
        "Measures a fixed set: a device's peaks; prompts, generation, requests, vectors, "
        "translations and\ntraining steps of models with random or bundled weights, in f32, f16, "
        "q8 "
        "and q4; and starts of\ntessera itself. Everything is measured in two passes: a row "
        "whose passes differ\nis marked as noisy. Rows whose results are wrong have no rate. After "
        "Ctrl-C, what "
        "was measured is\nwritten, and marked as partial.",
        tables, NULL);
    if (code == CLI_OK)
        code = tsri_cli_refuse_profile(&j.app, "bench suite");
    if (code == CLI_OK && j.peer_name)
        code = tsri_cli_bench_find_peer(j.peer_name, j.app.threads, &j.peer);
    if (code == CLI_OK)
        code = run(&j);
    return tsri_cli_close(&j.app, code);
}
