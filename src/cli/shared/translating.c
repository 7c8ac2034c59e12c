/* cli/shared/translating.c - translates windows of lines. */
#include "cli/shared/translating.h"

#include <string.h>

enum { FAILED, CUT, SOURCE, TARGET }; /* of windows.counts */
enum { SLOW = 8 };                    /* a search needs many lines at once */

static int next_line(void *data, int wait, const char **text, size_t *size) {
    tsri_cli_translating *t = data;
    const tsri_cli_window *w = &t->windows.window;
    (void)wait;
    if (tsri_cli_signal() || t->taken == w->n)
        return 0;
    *text = w->texts[t->taken].data;
    *size = w->texts[t->taken++].size;
    return 1;
}

static int translated(void *data, const tsr_translated *line) {
    tsri_cli_translating *t = data;
    return t->translated(t->data, line);
}

static int progress(void *data, uint64_t done, uint64_t read) {
    tsri_cli_translating *t = data;
    const uint64_t n = t->windows.window.n;
    return tsri_cli_windows_progress(&t->windows, read ? n * done / read : 0, n);
}

static int work(void *data) {
    tsri_cli_translating *t = data;
    tsr_translate_stats stats = {.struct_size = sizeof stats};
    t->taken = 0;
    t->options.first_line = t->windows.window.first - 1;
    const int code = tsri_cli_windows_status(
        &t->windows, tsr_translate(t->windows.progress.app->model, &t->options, next_line,
                                   translated, t, &stats));
    uint64_t *counts = t->windows.counts;
    counts[FAILED] += stats.failed;
    counts[CUT] += stats.cut;
    counts[SOURCE] += stats.source_tokens;
    counts[TARGET] += stats.target_tokens;
    return code;
}

int tsri_cli_translating_run(tsri_cli_translating *t, tsri_cli_app *app) {
    tsri_cli_windows *w = &t->windows;
    const uint64_t begun = tsri_cli_now_ns();
    w->progress = (tsri_cli_progress){.app = app, .doing = "translating", .unit = "lines"};
    w->work = work;
    w->data = t;
    w->no_summary = true;
    w->pace.slow = SLOW;
    t->options.progress = progress;
    t->options.progress_data = t;
    const int code = tsri_cli_windows_run(w);
    t->stats = (tsr_translate_stats){.struct_size = sizeof t->stats,
                                     .lines = w->done,
                                     .failed = w->sums[FAILED],
                                     .cut = w->sums[CUT],
                                     .source_tokens = w->sums[SOURCE],
                                     .target_tokens = w->sums[TARGET],
                                     .nanoseconds = tsri_cli_now_ns() - begun};
    return code;
}
