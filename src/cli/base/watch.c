/* cli/base/watch.c - runs the thread that shows a driver's progress, and ends the process after a
 * signal that the command could not act on. */
#include "cli/base/watch.h"
#include "base/system/files.h"
#include "base/system/system.h"
#include "cli/base/shown.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GRACE_MS = 600, QUIET_MS = 500, LOOK_MS = 100 };

static struct {
    pthread_mutex_t lock;
    tsri_cli_app *app;
    bool begun, active, bytes;
    bool finishing; /* what runs is finished in spite of a signal */
    char doing[64], shown[192];
    uint64_t since, done, total; /* in milliseconds; then, of the work in progress */
    int patience;
    char *output, *cache;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .patience = GRACE_MS};
static tsri_system_waker waker = TSRI_SYSTEM_NO_WAKER; /* of a signal, or work that began */

static uint64_t now_ms(void) {
    return tsri_cli_now_ns() / 1000000;
}

void tsri_cli_watch_signal(void) {
    const int before = errno;
    tsri_system_wake(&waker);
    errno = before;
}

/* --- what is shown --- */

static void draw(void) {
    const uint64_t took = now_ms() - watch.since;
    char far[64] = "", text[sizeof watch.shown];
    if (!watch.app || !watch.active || took < QUIET_MS)
        return;
    if (watch.bytes)
        snprintf(far, sizeof far, " %3d%%  %" PRIu64 " of %" PRIu64 " MiB",
                 (int)(watch.done * 100 / (watch.total ? watch.total : 1)), watch.done >> 20,
                 watch.total >> 20);
    else if (watch.total > 1)
        snprintf(far, sizeof far, "  %" PRIu64 " of %" PRIu64, watch.done, watch.total);
    snprintf(text, sizeof text, "%s%s, %" PRIu64 ":%02d", watch.doing, far, took / 60000,
             (int)(took / 1000 % 60));
    if (watch.app->progress_shown && !strcmp(text, watch.shown))
        return;
    memcpy(watch.shown, text, sizeof text);
    tsri_cli_show(watch.app, text);
}

void tsri_cli_watch_clear(tsri_cli_app *app) {
    pthread_mutex_lock(&watch.lock);
    if (app->progress_shown)
        fputs("\r\033[K", stderr);
    app->progress_shown = false;
    pthread_mutex_unlock(&watch.lock);
}

/* The signal that stops what runs; 0: nothing does. The lock is held. */
static int stopping(void) {
    return watch.finishing ? 0 : tsri_cli_signal();
}

static int work(tsri_cli_app *app, const tsr_progress *now, bool bytes) {
    const bool ends = now->done >= now->total;
    pthread_mutex_lock(&watch.lock);
    const int stopped = stopping();
    if (!ends && (!watch.active || strcmp(watch.doing, now->doing) != 0)) {
        snprintf(watch.doing, sizeof watch.doing, "%s", now->doing);
        watch.since = now_ms();
        tsri_system_wake(&waker);
    }
    watch.app = app;
    watch.active = !ends;
    watch.bytes = bytes;
    watch.done = now->done;
    watch.total = now->total;
    pthread_mutex_unlock(&watch.lock);
    if (ends)
        tsri_cli_watch_clear(app);
    return stopped;
}

int tsri_cli_watch_progress(void *app, const tsr_progress *now) {
    if (now)
        return work(app, now, false);
    pthread_mutex_lock(&watch.lock);
    const int stopped = stopping();
    pthread_mutex_unlock(&watch.lock);
    return stopped;
}

int tsri_cli_watch_loading(tsri_cli_app *app, uint64_t done, uint64_t total) {
    const tsr_progress now = {
        .struct_size = sizeof now, .doing = "loading", .done = done, .total = total};
    return work(app, &now, true);
}

void tsri_cli_watch_end(void) {
    pthread_mutex_lock(&watch.lock);
    watch.app = NULL;
    pthread_mutex_unlock(&watch.lock);
}

/* --- leaving --- */

void tsri_cli_watch_patience(int milliseconds) {
    pthread_mutex_lock(&watch.lock);
    watch.patience = milliseconds;
    pthread_mutex_unlock(&watch.lock);
}

void tsri_cli_watch_finish(bool finish) {
    pthread_mutex_lock(&watch.lock);
    watch.finishing = finish;
    pthread_mutex_unlock(&watch.lock);
}

void tsri_cli_watch_output(const char *path) {
    pthread_mutex_lock(&watch.lock);
    free(watch.output);
    watch.output = path ? tsri_system_target(path) : NULL;
    pthread_mutex_unlock(&watch.lock);
}

/* Removes the folder's files whose names begin with `begin`, contain this process's number, and end
 * with ".tmp". */
static void remove_unfinished(const char *folder, const char *begin) {
    char number[32], path[4096];
    const size_t n = strlen(begin);
    DIR *dir = opendir(folder);
    snprintf(number, sizeof number, ".%ld", (long)getpid());
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        const char *name = entry->d_name, *place = strstr(name, number);
        const size_t length = strlen(name);
        if (!strncmp(name, begin, n) && place && strchr(".-", place[strlen(number)]) &&
            length > 4 && !strcmp(name + length - 4, ".tmp") &&
            snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path)
            unlink(path);
    }
    if (dir)
        closedir(dir);
}

static void tidy(void) {
    char *slash = watch.output ? tsri_system_last_slash(watch.output) : NULL;
    if (slash)
        *slash = 0;
    if (watch.output)
        remove_unfinished(slash ? watch.output : ".", slash ? slash + 1 : watch.output);
    if (watch.cache)
        remove_unfinished(watch.cache, "");
}

/* Ends the process without running exit handlers: a driver's handler would wait for its current
 * work. */
_Noreturn static void leave(int number) {
    char text[160];
    const int n = snprintf(text, sizeof text, "%stessera: stopped by SIG%s%s%s\n",
                           watch.app && watch.app->progress_shown ? "\r\033[K" : "",
                           tsri_system_signal_name(number), watch.active ? " while " : "",
                           watch.active ? watch.doing : "");
    tidy();
    tsri_system_flush_if_free(stdout);
    (void)!write(2, text, (size_t)n);
    _exit(128 + number);
}

/* How many milliseconds the command has after a signal; below 0: no limit. */
static int grace(void) {
    return watch.patience < 0 ? -1 : watch.active && !watch.finishing ? GRACE_MS : watch.patience;
}

static void *look(void *unused) {
    uint64_t arrived = 0;
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&watch.lock);
        const bool idle = !watch.active && !arrived;
        pthread_mutex_unlock(&watch.lock);
        tsri_system_wait(&waker, idle ? -1 : LOOK_MS);
        if (tsri_cli_signal() && !arrived)
            arrived = now_ms();
        pthread_mutex_lock(&watch.lock);
        const int left = grace();
        if (arrived && left >= 0 && now_ms() - arrived >= (uint64_t)left)
            leave(tsri_cli_signal());
        draw();
        pthread_mutex_unlock(&watch.lock);
    }
}

/* --- crashes --- */

static char crash_note[4096]; /* the next run looks here; see backends/opencl/driver/marker.h */

/* Does only what a signal handler may do, because a driver's thread may hold any lock. */
static void crashed(int number) {
    static const char before[] = "tessera: crashed (SIG",
                      after[] = "); the next run will try every driver again\n";
    const char *name = tsri_system_signal_name(number);
    const char digits[] = {(char)('0' + number / 10), (char)('0' + number % 10), '\n'};
    const int fd = open(crash_note, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0) {
        (void)!write(fd, "signal ", 7);
        (void)!write(fd, digits, sizeof digits);
        close(fd);
    }
    (void)!write(2, before, sizeof before - 1);
    (void)!write(2, name, strlen(name));
    (void)!write(2, after, sizeof after - 1);
}

static void catch_crashes(void) {
    if (!watch.cache)
        return;
    snprintf(crash_note, sizeof crash_note, "%s/driver.%ld-crash.tmp", watch.cache, (long)getpid());
    tsri_system_on_crash(crashed);
}

char *tsri_cli_watch_cache(const char *name) {
    const char *own = getenv("TESSERA_CACHE"), *xdg = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    char *path = NULL;
    const int n = own && *own ? asprintf(&path, "%s/%s", own, name)
                  : xdg && tsri_system_is_absolute(xdg)
                      ? asprintf(&path, "%s/tessera/%s", xdg, name)
                  : home && *home ? asprintf(&path, "%s/.cache/tessera/%s", home, name)
                                  : -1;
    return n < 0 ? NULL : path;
}

void tsri_cli_watch_begin(tsri_cli_app *app) {
    pthread_t thread;
    watch.app = app;
    if (watch.begun || !tsri_system_waker_open(&waker))
        return;
    watch.cache = tsri_cli_watch_cache("opencl"); /* the backend keeps its kernels there */
    catch_crashes();
    /* Signals must go to the main thread, which may wait in a read. */
    watch.begun = tsri_system_thread(&thread, look, NULL) == 0;
    if (watch.begun)
        pthread_detach(thread);
    if (tsri_cli_signal())
        tsri_cli_watch_signal();
}
