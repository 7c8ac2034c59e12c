/* cli/base/progress.c - draws the line that shows how far a long job has come. */
#include "cli/base/progress.h"

#include <inttypes.h>

enum { EVERY_NS = 200000000 };

int tsri_cli_progress_show(tsri_cli_progress *p, uint64_t done, double share) {
    const uint64_t now = tsri_cli_now_ns();
    if (!p->begun)
        p->begun = p->shown = now;
    p->done = done;
    if (now - p->shown < EVERY_NS || p->app->quiet || !tsri_cli_is_terminal(2))
        return tsri_cli_signal();
    const double seconds = (double)(now - p->begun) * 1e-9;
    p->shown = now;
    fprintf(stderr, "\r\033[K%s", p->doing);
    if (share >= 0)
        fprintf(stderr, " %3d%%", (int)(100 * share));
    fprintf(stderr, "  %" PRIu64 " %s, %.0f a second", done, p->unit, (double)done / seconds);
    if (share > 0.001) {
        const uint64_t left = (uint64_t)(seconds * (1 - share) / share + 0.5);
        fprintf(stderr, ", %" PRIu64 ":%02d left", left / 60, (int)(left % 60));
    }
    p->app->progress_shown = true;
    return tsri_cli_signal();
}

void tsri_cli_progress_end(tsri_cli_progress *p, bool tell) {
    tsri_cli_clear_progress(p->app);
    if (!tell || !p->begun)
        return;
    const double seconds = (double)(tsri_cli_now_ns() - p->begun) * 1e-9;
    tsri_cli_note(p->app, "%" PRIu64 " %s in %.2f s, %.0f a second", p->done, p->unit, seconds,
                  seconds > 0 ? (double)p->done / seconds : 0.0);
}
