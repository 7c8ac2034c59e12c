/* cli/reading/window.c - reads up to some thousand texts at once: enough to sort them by length,
 * few enough for memory. */
#include "cli/reading/lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 16 << 20, TOLD = 10, FIRST = 32, FEWEST = 8 };
#define LONG_NS UINT64_C(1000000000)

static int make_room(tsri_cli_window *w) {
    if (w->n < w->texts_room)
        return CLI_OK;
    const size_t room = w->texts_room ? 2 * w->texts_room : 256;
    tsr_string *texts = realloc(w->texts, room * sizeof *texts);
    w->texts = texts ? texts : w->texts;
    bool *wrong = realloc(w->wrong, room * sizeof *wrong);
    w->wrong = wrong ? wrong : w->wrong;
    if (!texts || !wrong)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    w->texts_room = room;
    return CLI_OK;
}

size_t tsri_cli_pace_next(tsri_cli_pace *p, size_t done) {
    const uint64_t took = p->took / (p->slow ? p->slow : 1);
    if (!p->most)
        p->most = FIRST;
    else if (took > LONG_NS && p->most > FEWEST)
        p->most /= 2;
    else if (took < LONG_NS / 4 && done >= p->most && p->most < TSRI_CLI_WINDOW)
        p->most *= 2;
    return p->most;
}

void tsri_cli_pace_begin(tsri_cli_pace *p) {
    p->begun = tsri_cli_now_ns();
}

void tsri_cli_pace_end(tsri_cli_pace *p) {
    p->took = tsri_cli_now_ns() - p->begun;
}

void tsri_cli_window_empty(tsri_cli_window *w) {
    w->n = w->bytes.size = 0;
    if (w->bytes.room > 2 * (size_t)MOST_BYTES) { /* after a very long text */
        free(w->bytes.data);
        w->bytes = (tsri_cli_bytes){0};
    }
}

int tsri_cli_window_add(tsri_cli_window *w, const tsri_cli_line *line) {
    if (w->n == 0)
        w->first = line->number;
    int code = make_room(w);
    if (code == CLI_OK)
        code = tsri_cli_bytes_append(&w->bytes, line->text, line->size);
    if (code != CLI_OK)
        return code;
    w->wrong[w->n] = line->wrong != NULL;
    w->texts[w->n++].size = line->size;
    return CLI_OK;
}

void tsri_cli_window_end_of_texts(tsri_cli_window *w) {
    for (size_t i = 0, at = 0; i < w->n; at += w->texts[i++].size)
        w->texts[i].data = w->bytes.data ? w->bytes.data + at : "";
}

int tsri_cli_window_fill(tsri_cli_app *app, tsri_cli_lines *lines, size_t most, size_t most_bytes,
                         tsri_cli_window *w) {
    tsri_cli_line line;
    int code = CLI_OK;
    tsri_cli_flush(app);
    tsri_cli_window_empty(w);
    while (code == CLI_OK && w->n < most && w->bytes.size < MOST_BYTES &&
           (w->n < FEWEST || w->bytes.size < most_bytes) &&
           !(w->n && tsri_cli_lines_would_wait(lines))) {
        if ((code = tsri_cli_lines_next(lines, &line)) != CLI_OK || !line.text)
            break;
        if (line.wrong && ++w->n_wrong <= TOLD) {
            tsri_cli_clear_progress(app);
            tsri_cli_note(app, "%s %" PRIu64 ": %s", tsri_cli_lines_unit(lines), line.number,
                          line.wrong);
        }
        w->cut += line.cut;
        code = tsri_cli_window_add(w, &line);
    }
    tsri_cli_window_end_of_texts(w);
    return code;
}

void tsri_cli_window_clear(tsri_cli_window *w) {
    free(w->texts);
    free(w->wrong);
    free(w->bytes.data);
    *w = (tsri_cli_window){0};
}

int tsri_cli_window_status(const tsri_cli_window *w, const char *unit, tsr_status status) {
    /* What one text can cause. All else is refused whatever the texts are. */
    static const bool of_texts[] = {[TSR_E_UNSUPPORTED] = true,
                                    [TSR_E_HOST_MEMORY] = true,
                                    [TSR_E_DEVICE] = true,
                                    [TSR_E_FORMAT] = true};
    char where[80];
    if ((unsigned)status >= sizeof of_texts || !of_texts[status] || tsri_cli_names_rank())
        return tsri_cli_run_status(status);
    if (w->n == 1)
        snprintf(where, sizeof where, "%s %" PRIu64, unit, w->first);
    else
        snprintf(where, sizeof where, "%ss %" PRIu64 " to %" PRIu64, unit, w->first,
                 w->first + w->n - 1);
    return tsri_cli_status_at(status, where);
}

int tsri_cli_window_end(tsri_cli_app *app, const tsri_cli_lines *lines, const tsri_cli_window *w) {
    if (w->cut)
        tsri_cli_note(app, "%" PRIu64 " %s%s longer than %d MiB: only the beginning was read",
                      w->cut, tsri_cli_lines_unit(lines), w->cut == 1 ? "" : "s",
                      TSRI_CLI_MOST_LINE >> 20);
    const int code = tsri_cli_lines_end(lines);
    if (!w->n_wrong)
        return code;
    return tsri_cli_fail(CLI_MISS, "%" PRIu64 " %s%s could not be used, and counted as empty",
                         w->n_wrong, tsri_cli_lines_unit(lines), w->n_wrong == 1 ? "" : "s");
}

bool tsri_cli_write_line(tsri_cli_app *app, const char *text, size_t n) {
    for (size_t at = 0; at < n;) {
        size_t part = 0;
        while (at + part < n && text[at + part] != '\n' && text[at + part] != '\r')
            part++;
        if (!tsri_cli_write(app, text + at, part))
            return false;
        at += part;
        if (at < n && !tsri_cli_write(app, " ", 1))
            return false;
        at += at < n;
    }
    return true;
}
