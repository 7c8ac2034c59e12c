/* cli/commands/bench/duel.c - tessera bench duel: this build and another measure the same rows in
 * turns, and are compared. */
#include "base/system/child.h"
#include "base/system/files.h"
#include "base/system/paths.h"
#include "base/system/system.h"
#include "cli/commands/bench/results.h"
#include "cli/commands/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Five runs a side are the least that can show anything at 99 %: p is 2/252 at its least. */
enum { LEAST_ROUNDS = 5, MOST_ROUNDS = 100, WORDS = 8 };

typedef struct duel {
    tsri_cli_app app;
    const char *against, *folder;
    int64_t rounds;
    tsr_compare_options options;
    char self[PATH_MAX], *made; /* made: a temporary folder, or NULL */
    char **rows;                /* the arguments that choose what is measured */
    int n_rows;
    tsri_cli_list files[2]; /* of the other build, and of this one */
} duel;

static void place_of(const duel *d, int side, int64_t round, char out[PATH_MAX]) {
    snprintf(out, PATH_MAX, "%s/%s-%02" PRId64 ".json", d->folder, side ? "this" : "other", round);
}

/* Waits for a measurement; a signal that ends this command ends it, too. */
static int wait_for(tsri_system_child *child, const char *command) {
    bool told = false;
    int ended;
    while ((ended = tsri_system_child_wait(child, -1)) == 0)
        if (tsri_cli_signal() && !told) {
            told = true;
            tsri_system_child_ask(child);
        }
    if (ended < 0)
        return tsri_cli_fail(CLI_OTHER, "%s: cannot be waited for: %s", command, strerror(errno));
    if (tsri_cli_signal())
        return 128 + tsri_cli_signal();
    /* CLI_MISS: a row failed; the comparison says which. */
    if (!child->signal && (child->code == CLI_OK || child->code == CLI_MISS))
        return CLI_OK;
    return tsri_cli_fail(CLI_OTHER, "%s bench ended with %s %d: its own message is above", command,
                         child->signal ? "signal" : "exit code",
                         child->signal ? child->signal : child->code);
}

/* Each build uses the backends that lie beside it: a path in the environment would give both the
 * same ones. */
static int measure(duel *d, int side, const char *path) {
    static const char *const backends[] = {"TESSERA_BACKEND_PATH", NULL};
    const char *program = side ? d->self : d->against;
    const char **argv = calloc((size_t)d->n_rows + WORDS, sizeof *argv);
    size_t n = 0, n_env;
    const char **env = tsri_system_environment(backends, 0, &n_env);
    tsri_system_child child;
    if (!argv || !env) {
        free(argv);
        free(env);
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    }
    argv[n++] = program;
    argv[n++] = "bench";
    for (int i = 0; i < d->n_rows; i++)
        argv[n++] = d->rows[i];
    argv[n++] = "-q";
    argv[n++] = "-o";
    argv[n++] = path;
    const tsri_system_command command = {
        .program = program, .argv = argv, .env = env, .out = TSRI_SYSTEM_NOWHERE};
    const int failed = tsri_system_child_start(&command, &child);
    free(argv);
    free(env);
    return failed ? tsri_cli_fail(CLI_FILE, "%s: cannot be run: %s", program, strerror(failed))
                  : wait_for(&child, program);
}

/* Whether what both wrote can be compared: else all rounds would be for nothing. */
static int check_alike(const duel *d, const char *paths[2]) {
    const tsri_cli_list list = {.items = paths, .n = 2};
    tsr_results **results = NULL;
    for (int side = 0; side < 2; side++)
        if (access(paths[side], F_OK) != 0)
            return tsri_cli_fail(CLI_FILE, "%s bench wrote no results: is it a tessera?",
                                 side ? d->self : d->against);
    int code = tsri_cli_bench_open(&list, &results);
    if (code == CLI_OK)
        code = tsri_cli_status(tsr_results_compare((const tsr_results *const *)results, 1,
                                                   (const tsr_results *const *)results + 1, 1,
                                                   &d->options, NULL, NULL, NULL));
    tsri_cli_bench_close(results, list.n);
    return code;
}

/* Round 0 fills the caches of both, and is not compared. */
static int warm_up(duel *d) {
    char places[2][PATH_MAX];
    const char *paths[] = {places[0], places[1]};
    int code = CLI_OK;
    for (int side = 0; side < 2; side++) {
        place_of(d, side, 0, places[side]);
        unlink(paths[side]); /* of an earlier duel that was killed */
    }
    for (int side = 0; side < 2 && code == CLI_OK; side++) {
        tsri_cli_note(&d->app, "warm-up: %s", side ? "this build" : "the other build");
        code = measure(d, side, paths[side]);
    }
    if (code == CLI_OK)
        code = check_alike(d, paths);
    for (int side = 0; side < 2; side++)
        unlink(paths[side]); /* a run that was stopped has left it, too */
    return code;
}

/* ABBA: what changes evenly in time meets both alike. */
static int fight(duel *d) {
    int code = warm_up(d);
    char path[PATH_MAX];
    for (int64_t round = 1; round <= d->rounds && code == CLI_OK; round++)
        for (int turn = 0; turn < 2 && code == CLI_OK; turn++) {
            const int side = (turn + (int)round) % 2;
            tsri_cli_note(&d->app, "round %" PRId64 " of %" PRId64 ": %s", round, d->rounds,
                          side ? "this build" : "the other build");
            place_of(d, side, round, path);
            code = measure(d, side, path);
            if (code == CLI_OK) {
                tsri_cli_list *files = &d->files[side];
                files->items[files->n] = strdup(path);
                code =
                    files->items[files->n++] ? CLI_OK : tsri_cli_fail(CLI_OTHER, "out of memory");
            } else if (d->made)
                unlink(path); /* a run that was stopped has left it, too */
        }
    return code;
}

static int judge(duel *d) {
    tsr_results **results[2] = {NULL, NULL};
    int code = CLI_OK;
    for (int side = 0; side < 2 && code == CLI_OK; side++)
        code = tsri_cli_bench_open(&d->files[side], &results[side]);
    if (code == CLI_OK)
        code = tsri_cli_bench_show_comparison(&d->app, results[0], d->files[0].n, results[1],
                                              d->files[1].n, &d->options);
    for (int side = 0; side < 2; side++)
        tsri_cli_bench_close(results[side], d->files[side].n);
    return code;
}

static int make_folder(duel *d) {
    const char *place = tsri_system_temporary_folder();
    char *path;
    if (asprintf(&path, "%s/tessera-duel-XXXXXX", place) < 0)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    d->folder = d->made = mkdtemp(path);
    if (d->made)
        return CLI_OK;
    free(path);
    return tsri_cli_fail(CLI_FILE,
                         "%s: a temporary folder cannot be made there: %s (TMPDIR chooses another)",
                         place, strerror(errno));
}

static int prepare(duel *d) {
    if (!tsri_system_program(d->self, sizeof d->self))
        return tsri_cli_fail(CLI_OTHER, "the system does not say where this build is");
    if (access(d->against, X_OK) != 0)
        return tsri_cli_fail(CLI_FILE, "%s: cannot be run: %s", d->against, strerror(errno));
    for (int side = 0; side < 2; side++)
        if (!(d->files[side].items = calloc((size_t)d->rounds, sizeof(char *))))
            return tsri_cli_fail(CLI_OTHER, "out of memory");
    if (d->folder)
        return mkdir(d->folder, 0700) == 0 || errno == EEXIST
                   ? CLI_OK
                   : tsri_cli_fail(CLI_FILE, "%s: cannot be made: %s", d->folder, strerror(errno));
    return make_folder(d);
}

static void end(duel *d) {
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < d->files[side].n; i++) {
            if (d->made)
                unlink(d->files[side].items[i]);
            free((char *)d->files[side].items[i]);
        }
        free(d->files[side].items);
    }
    if (d->made)
        rmdir(d->made);
    free(d->made);
}

/* What follows "--" chooses the rows; without it, the suite. */
static void split(duel *d, int *argc, char **argv) {
    static char suite[] = "suite";
    static char *whole[] = {suite};
    d->rows = whole;
    d->n_rows = 1;
    for (int i = 1; i < *argc; i++)
        if (!strcmp(argv[i], "--")) {
            d->rows = argv + i + 1;
            d->n_rows = *argc - i - 1;
            *argc = i;
        }
}

int tsri_cli_bench_duel(int argc, char **argv) {
    duel d = {.rounds = 8, .options.struct_size = sizeof d.options};
    const char *most = "3%", *confidence = "99%";
    const tsri_cli_option own[] = {
        {"against", 0, CLI_TEXT, &d.against, "TESSERA", "the other build's command", 0, 0, NULL},
        {"rounds", 0, CLI_INT, &d.rounds, "N",
         "runs of each build that are compared (default: 8); one more fills the caches",
         LEAST_ROUNDS, MOST_ROUNDS, NULL},
        {"fail-above", 0, CLI_TEXT, &most, "N%",
         "a row that is shown to be slower by more is a regression: exit code 1 (default: 3%)", 0,
         0, NULL},
        {"confidence", 0, CLI_TEXT, &confidence, "N%",
         "how sure a difference must be to be shown (default: 99%)", 0, 0, NULL},
        {"output", 'o', CLI_TEXT, &d.folder, "FOLDER", "keep the files of all runs here", 0, 0,
         NULL},
        {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_json_option(&d.app),
                                       tsri_cli_common_options(&d.app), NULL};
    split(&d, &argc, argv);
    int code = tsri_cli_parse(
        argc, argv, "tessera bench duel --against TESSERA [-- OPTIONS OF BENCH]",
        "Measures the same rows with this build and another, in turns (ABBA), and compares the "
        "medians of their\nruns, so other load on the machine affects both builds equally. What "
        "follows -- is given to tessera bench of both, as in\n-- --shape tiny -p 64 -n 16; without "
        "it they "
        "measure the suite's smoke class.",
        tables, NULL);
    if (code == CLI_OK && !d.against)
        code =
            tsri_cli_fail(CLI_USAGE, "bench duel needs --against TESSERA, another build's command");
    if (code == CLI_OK)
        code = tsri_cli_bench_read_share("--fail-above", most, &d.options.fail_above);
    if (code == CLI_OK)
        code = tsri_cli_bench_read_share("--confidence", confidence, &d.options.confidence);
    if (code == CLI_OK)
        code = prepare(&d);
    if (code == CLI_OK)
        code = fight(&d);
    if (code == CLI_OK)
        code = judge(&d);
    end(&d);
    return tsri_cli_close(&d.app, code);
}
