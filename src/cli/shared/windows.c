/* cli/shared/windows.c - runs work over windows of texts. */
#include "cli/shared/windows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FEWEST = 8 }; /* texts of a window */

/* Before the texts of a block: their sizes as 64-bit numbers, then whether each is wrong. */
typedef struct block_head {
    uint64_t n, first, bytes;
} block_head;

/* Before what was captured. */
typedef struct result_head {
    uint64_t n, n_wrong, bytes, counts[TSRI_CLI_COUNTS];
} result_head;

static tsri_cli_app *app_of(const tsri_cli_windows *w) {
    return w->progress.app;
}

/* How many windows are worked on at a time. */
static uint32_t workers_of(const tsri_cli_windows *w) {
    return app_of(w)->n_ranks && !app_of(w)->split_layers ? app_of(w)->n_ranks : 1;
}

size_t tsri_cli_windows_share(const tsri_cli_windows *w, size_t most, size_t left, size_t least) {
    const size_t workers = workers_of(w), share = workers > 1 ? left / (2 * workers) : left;
    least = share < least ? least : share;
    least = least < left ? least : left;
    return most < least ? most : least;
}

int tsri_cli_windows_add(const tsri_cli_windows *w, const tsr_string *texts, size_t n, size_t *at,
                         size_t most, tsri_cli_window *window) {
    int code = CLI_OK;
    most = tsri_cli_windows_share(w, most, n - *at, FEWEST);
    for (size_t i = 0; i < most && code == CLI_OK; i++) {
        const tsr_string *text = &texts[(*at)++];
        const tsri_cli_line line = {.text = text->data, .size = text->size, .number = *at};
        code = tsri_cli_window_add(window, &line);
    }
    return code;
}

/* ---- blocks ---- */

static int pack(tsri_cli_windows *w, const block_head *head) {
    const tsri_cli_window *f = &w->filled;
    w->block.size = 0;
    int code = tsri_cli_bytes_append(&w->block, head, sizeof *head);
    for (size_t i = 0; i < f->n && code == CLI_OK; i++) {
        const uint64_t size = f->texts[i].size;
        code = tsri_cli_bytes_append(&w->block, &size, sizeof size);
    }
    if (code == CLI_OK)
        code = tsri_cli_bytes_append(&w->block, f->wrong, f->n * sizeof *f->wrong);
    return code == CLI_OK ? tsri_cli_bytes_append(&w->block, f->bytes.data, f->bytes.size) : code;
}

static int unpack(tsri_cli_windows *w, const char *block) {
    tsri_cli_line line = {0};
    block_head head;
    memcpy(&head, block, sizeof head);
    const char *sizes = block + sizeof head, *wrong = sizes + head.n * sizeof(uint64_t),
               *text = wrong + head.n * sizeof(bool);
    int code = CLI_OK;
    tsri_cli_window_empty(&w->window);
    for (uint64_t i = 0; i < head.n && code == CLI_OK; i++) {
        uint64_t size;
        memcpy(&size, sizes + i * sizeof size, sizeof size);
        line.text = text;
        line.size = size;
        line.number = head.first + i;
        line.wrong = wrong[i] ? "" : NULL;
        code = tsri_cli_window_add(&w->window, &line);
        text += size;
    }
    tsri_cli_window_end_of_texts(&w->window);
    w->bytes = head.bytes;
    return code;
}

static int fill(tsri_cli_windows *w, size_t most) {
    const uint64_t all = w->lines ? tsri_cli_lines_total(w->lines) : 0;
    if (w->fill) {
        tsri_cli_window_empty(&w->filled);
        const int code = w->fill(w->data, most, &w->filled);
        tsri_cli_window_end_of_texts(&w->filled);
        return code;
    }
    const uint64_t left = all ? all - tsri_cli_lines_taken(w->lines) : UINT64_MAX;
    const size_t bytes = workers_of(w) > 1 ? (size_t)(left / (2 * workers_of(w))) : SIZE_MAX;
    return tsri_cli_window_fill(app_of(w), w->lines, most, bytes, &w->filled);
}

static int make(void *data, int wait, uint64_t most, const void **block, size_t *n) {
    tsri_cli_windows *w = data;
    const uint64_t before = w->lines ? tsri_cli_lines_taken(w->lines) : 0;
    if (app_of(w)->stopped)
        return 0;
    if (!wait && w->lines && tsri_cli_lines_would_wait(w->lines))
        return -1;
    w->code = fill(w, (size_t)most);
    if (w->code == CLI_OK && w->filled.n == 0)
        return 0;
    const block_head head = {.n = w->filled.n,
                             .first = w->filled.first,
                             .bytes = w->lines ? tsri_cli_lines_taken(w->lines) - before : 0};
    if (w->code == CLI_OK)
        w->code = pack(w, &head);
    *block = w->block.data;
    *n = w->block.size;
    return w->code == CLI_OK ? 1 : -2;
}

/* ---- results ---- */

static int take(void *data, const void *result, size_t n) {
    tsri_cli_windows *w = data;
    tsri_cli_app *app = app_of(w);
    tsri_cli_bytes *own = app->captured; /* of the window that this rank works on meanwhile */
    const char *bytes = result;
    result_head head;
    memcpy(&head, bytes, sizeof head);
    w->done += head.n;
    w->done_bytes += head.bytes;
    w->filled.n_wrong += head.n_wrong;
    w->progress.done = w->done;
    for (int i = 0; i < TSRI_CLI_COUNTS; i++)
        w->sums[i] += head.counts[i];
    bytes += sizeof head;
    n -= sizeof head;
    app->captured = NULL;
    if (n && w->take && !app->stopped)
        w->code = w->take(w->data, bytes, n);
    else if (n && !app->stopped)
        tsri_cli_write(app, bytes, n);
    tsri_cli_flush(app);
    app->captured = own;
    return w->code != CLI_OK;
}

static int stop(void *data) {
    (void)data;
    return tsri_cli_signal();
}

/* ---- work ---- */

int tsri_cli_windows_progress(tsri_cli_windows *w, uint64_t done, uint64_t total) {
    const double part = total ? (double)done / (double)total : 1;
    const uint64_t all = w->total ? w->total : w->lines ? tsri_cli_lines_total(w->lines) : 0;
    const double known =
        w->total ? (double)(w->done + done) : (double)w->done_bytes + part * (double)w->bytes;
    const int signal =
        tsri_cli_progress_show(&w->progress, w->done + done, all ? known / (double)all : -1);
    if (w->code == CLI_OK && !signal) {
        const tsr_status status = tsr_share_poll(w->share);
        if (w->code == CLI_OK) /* otherwise make or take has told */
            w->code = tsri_cli_status(status);
    }
    return signal || w->code != CLI_OK;
}

/* Whether a failure was told already, or only says that stdout takes no more; *code is the exit code then. */
static bool is_known(const tsri_cli_windows *w, tsr_status status, int *code) {
    *code = w->code;
    return w->code != CLI_OK ||
           (status == TSR_E_CANCELLED && app_of(w)->stopped && !tsri_cli_signal());
}

int tsri_cli_windows_status(const tsri_cli_windows *w, tsr_status status) {
    const char *unit = w->fill ? "text" : tsri_cli_source_unit(w->source);
    int code;
    return is_known(w, status, &code) ? code : tsri_cli_window_status(&w->window, unit, status);
}

/* The exit code of a call to the share. */
static int share_code(const tsri_cli_windows *w, tsr_status status) {
    if (status != TSR_OK && tsri_cli_signal())
        return 128 + tsri_cli_signal();
    int code;
    return is_known(w, status, &code) ? code : tsri_cli_run_status(status);
}

static int work(tsri_cli_windows *w, const char *block) {
    tsri_cli_app *app = app_of(w);
    int code = unpack(w, block);
    if (code != CLI_OK)
        return code;
    memset(w->counts, 0, sizeof w->counts);
    w->window.n_wrong = 0;
    result_head head = {.n = w->window.n, .bytes = w->bytes};
    w->captured.size = 0;
    code = tsri_cli_bytes_append(&w->captured, &head, sizeof head);
    if (code != CLI_OK)
        return code;
    app->captured = w->always || app->n_ranks > 1 ? &w->captured : NULL;
    tsri_cli_pace_begin(&w->pace);
    code = w->work(w->data);
    tsri_cli_pace_end(&w->pace); /* giving the result may wait for rank 0 */
    app->captured = NULL;
    if (code == CLI_OK && app->write_failed)
        code = CLI_OTHER;
    memcpy(head.counts, w->counts, sizeof head.counts);
    head.n_wrong = w->window.n_wrong;
    memcpy(w->captured.data, &head, sizeof head);
    if (code != CLI_OK)
        return code;
    return share_code(w, tsr_share_give(w->share, w->captured.data, w->captured.size));
}

static int each(tsri_cli_windows *w) {
    int code = CLI_OK;
    while (code == CLI_OK) {
        const void *block;
        size_t n;
        const size_t most = tsri_cli_pace_next(&w->pace, w->window.n);
        code = share_code(w, tsr_share_next(w->share, most, &block, &n));
        if (code != CLI_OK || n == 0)
            break;
        code = work(w, block);
    }
    return code;
}

int tsri_cli_windows_run(tsri_cli_windows *w) {
    tsri_cli_app *app = app_of(w);
    const tsr_share_options options = {.struct_size = sizeof options,
                                       .together = app->split_layers,
                                       .make = make,
                                       .take = take,
                                       .stop = stop,
                                       .data = w};
    int code = CLI_OK;
    if (app->rank == 0 && !w->fill)
        code = tsri_cli_lines_open(app, w->source, &w->lines);
    if (code == CLI_OK)
        code = tsri_cli_status(tsr_share_begin(app->ranks, &options, &w->share));
    tsri_cli_progress_show(&w->progress, 0, -1);
    if (code == CLI_OK)
        code = each(w);
    tsr_share_end(&w->share);
    tsri_cli_progress_end(&w->progress, code == CLI_OK && !app->stopped && !w->no_summary);
    return code == CLI_OK && w->lines ? tsri_cli_window_end(app, w->lines, &w->filled) : code;
}

void tsri_cli_windows_clear(tsri_cli_windows *w) {
    tsri_cli_window_clear(&w->window);
    tsri_cli_window_clear(&w->filled);
    tsri_cli_lines_close(&w->lines);
    free(w->block.data);
    free(w->captured.data);
}
