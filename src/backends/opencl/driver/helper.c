/* backends/opencl/driver/helper.c - finds, starts, hears and ends the helper process. */
#include "backends/opencl/driver/helper.h"
#include "backends/opencl/driver/host.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/system/system.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* At a request to end, a compiler removes the file that it is writing; it has GRACE_MS for that. */
enum { SLICE_MS = 100, SEND_MS = 1000, MOST_SAID = 1 << 18, GRACE_MS = 200 };

static int talk_of(const tsri_opencl_helper *h) {
    return (int)h->child.in;
}

static int words_of(const tsri_opencl_helper *h) {
    return (int)h->child.err;
}

const char *tsri_opencl_helper_find(char *path) {
    /* Where it is in an installed tree and in a build folder, also with libraries in
     * lib/<processor>; beside a program that this was linked into; and in Debian's packages: in the
     * processor's own folder. */
    static const char *const below[] = {"../../../libexec/tessera/probe",
                                        "../../../../libexec/tessera/probe",
                                        "../libexec/tessera/probe", "../probe"};
    static const char here;
    const char *given = getenv("TESSERA_PROBE");
    char file[PATH_MAX], full[PATH_MAX + 64];
    if (given && *given)
        return realpath(given, path);
    if (!tsri_system_module(&here, full, sizeof full) || !realpath(full, file))
        return NULL;
    *strrchr(file, '/') = 0;
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        snprintf(full, sizeof full, "%s/%s", file, below[i]);
        if (realpath(full, path) && access(path, X_OK) == 0)
            return path;
    }
    return NULL;
}

tsr_status tsri_opencl_helper_environment(const char *vendors, const char *pocl, tsri_bytes *text,
                                          const char ***out) {
    const char *const replaced[] = {"OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH",
                                    pocl ? "POCL_CACHE_DIR" : NULL, "OPENCL_LAYERS", NULL};
    size_t n = 0;
    *out = NULL;
    if (!vendors)
        return TSR_OK;
    TRY(tsri_base_bytes_printf(text, "OCL_ICD_VENDORS=%s", vendors));
    const size_t second = text->size + 1;
    if (pocl)
        TRY(tsri_base_bytes_printf(text, "%cPOCL_CACHE_DIR=%s", 0, pocl));
    if (!(*out = tsri_system_environment(replaced, 2, &n)))
        return tsri_base_fail(TSR_E_HOST_MEMORY, "out of host memory");
    (*out)[n++] = text->data;
    if (pocl)
        (*out)[n++] = text->data + second;
    return TSR_OK;
}

unsigned tsri_opencl_helper_seconds(unsigned usual) {
    const char *given = getenv("TESSERA_PROBE_SECONDS");
    const unsigned long seconds = given ? strtoul(given, NULL, 10) : 0;
    return seconds && seconds < 86400 ? (unsigned)seconds : usual;
}

/* A Ctrl-C goes past it, to the command, which then ends it. */
bool tsri_opencl_helper_open(tsri_opencl_helper *helper, const char *path, const char *const *argv,
                             const char *const *env) {
    const tsri_system_command command = {.program = path,
                                         .argv = argv,
                                         .env = env,
                                         .in = TSRI_SYSTEM_PIPED,
                                         .out = TSRI_SYSTEM_PIPED,
                                         .err = TSRI_SYSTEM_PIPED,
                                         .apart = true};
    *helper = (tsri_opencl_helper){0};
    return tsri_system_child_start(&command, &helper->child) == 0;
}

bool tsri_opencl_helper_start(tsri_opencl_helper *helper, const char *path, const char *const *argv,
                              const char *const *env, const char *input, size_t input_size) {
    if (!tsri_opencl_helper_open(helper, path, argv, env))
        return false;
    helper->input = input;
    helper->input_size = input_size;
    if (!input_size)
        shutdown(talk_of(helper), SHUT_WR);
    return true;
}

static void send_input(tsri_opencl_helper *h) {
    const ssize_t n =
        send(talk_of(h), h->input + h->sent, h->input_size - h->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0)
        h->sent += (size_t)n;
    else if (errno != EAGAIN && errno != EINTR)
        h->sent = h->input_size;
    if (h->sent == h->input_size)
        shutdown(talk_of(h), SHUT_WR);
}

bool tsri_opencl_helper_send(tsri_opencl_helper *h, const char *data, size_t n) {
    while (n) {
        struct pollfd fd = {talk_of(h), POLLOUT, 0};
        const int ready = poll(&fd, 1, SEND_MS);
        if (ready == 0 || (ready < 0 && errno != EINTR))
            return false;
        const ssize_t sent = ready > 0 ? send(talk_of(h), data, n, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        data += sent > 0 ? sent : 0;
        n -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

static bool hear(tsri_opencl_helper *h) {
    char piece[4096];
    const ssize_t n = recv(talk_of(h), piece, sizeof piece, MSG_DONTWAIT);
    if (n > 0)
        return h->said.size + (size_t)n <= MOST_SAID &&
               tsri_base_bytes_append(&h->said, piece, (size_t)n) == TSR_OK;
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Keeps the end of what the helper writes to stderr. */
static bool hear_words(tsri_opencl_helper *h) {
    char piece[1024];
    const size_t room = sizeof h->last;
    const ssize_t got = read(words_of(h), piece, sizeof piece);
    if (got <= 0)
        return got < 0 && errno == EINTR;
    size_t n = (size_t)got;
    const char *from = piece;
    if (n > room) {
        from += n - room;
        n = room;
    }
    if (h->n_last + n > room) {
        const size_t over = h->n_last + n - room;
        memmove(h->last, h->last + over, h->n_last - over);
        h->n_last -= over;
    }
    memcpy(h->last + h->n_last, from, n);
    h->n_last += n;
    return true;
}

void tsri_opencl_patience_begin(tsri_opencl_patience *p, const tsri_opencl_helper *h,
                                unsigned seconds) {
    p->allowed = (uint64_t)seconds * 1000000000u;
    p->begun = tsri_base_now_ns();
    p->used = tsri_system_child_used(&h->child);
    p->end = p->used + p->allowed;
}

bool tsri_opencl_helper_is_late(const tsri_opencl_helper *h, tsri_opencl_patience *p) {
    const uint64_t now = tsri_base_now_ns(), spent = tsri_system_child_used(&h->child);
    if (spent >= p->end)
        return true;
    if (now - p->begun < p->allowed)
        return false;
    const bool idle = spent - p->used < p->allowed / 100;
    p->begun = now;
    p->used = spent;
    return idle;
}

bool tsri_opencl_helper_hear(tsri_opencl_helper *h, bool *line) {
    const size_t before = h->said.size;
    struct pollfd words = {words_of(h), POLLIN, 0};
    while (poll(&words, 1, 0) > 0 && hear_words(h)) {
    }
    const bool lives = hear(h);
    *line = h->said.size > before && memchr(h->said.data + before, '\n', h->said.size - before);
    return lives;
}

static tsr_status listen_to(tsri_opencl_helper *h, const tsr_state *state, unsigned seconds) {
    tsri_opencl_patience p;
    bool talks = true, words = true;
    tsri_opencl_patience_begin(&p, h, seconds);
    while ((talks || words) && !tsri_opencl_helper_is_late(h, &p)) {
        const short events = (short)(POLLIN | (h->sent < h->input_size ? POLLOUT : 0));
        struct pollfd fds[2] = {{talks ? talk_of(h) : -1, events, 0},
                                {words ? words_of(h) : -1, POLLIN, 0}};
        if (tsri_opencl_stops(state))
            return TSR_E_CANCELLED;
        if (poll(fds, 2, SLICE_MS) < 0 && errno != EINTR)
            break;
        if (fds[0].revents & POLLOUT)
            send_input(h);
        if (fds[0].revents & (POLLIN | POLLHUP | POLLERR))
            talks = hear(h);
        if (fds[1].revents)
            words = hear_words(h);
    }
    h->late = talks || words;
    return TSR_OK;
}

tsr_status tsri_opencl_helper_finish(tsri_opencl_helper *h, const tsr_state *state,
                                     unsigned seconds) {
    const tsr_status status = listen_to(h, state, seconds);
    if (h->late || status != TSR_OK)
        tsri_system_child_end(&h->child, GRACE_MS);
    while (h->child.process && tsri_system_child_wait(&h->child, -1) == 0)
        continue;
    return status;
}

void tsri_opencl_helper_clear(tsri_opencl_helper *h) {
    tsri_system_child_end(&h->child, GRACE_MS);
    tsri_system_child_close(&h->child);
    tsri_base_bytes_clear(&h->said);
    *h = (tsri_opencl_helper){0};
}

void tsri_opencl_helper_end(const tsri_opencl_helper *h, char *text, size_t size) {
    const int number = h->child.signal;
    const char *name = tsri_system_signal_name(number);
    if (*name != '?')
        snprintf(text, size, "crashed (SIG%s)", name);
    else if (number)
        snprintf(text, size, "crashed (signal %d)", number);
    else
        snprintf(text, size, "ended with exit code %d", h->child.code);
}

void tsri_opencl_helper_last_words(const tsri_opencl_helper *h, char *text, size_t size) {
    size_t end = h->n_last, n = 0;
    while (end && (unsigned char)h->last[end - 1] <= ' ')
        end--;
    size_t begin = end;
    while (begin && h->last[begin - 1] != '\n')
        begin--;
    for (; begin < end && n + 1 < size; begin++)
        if ((unsigned char)h->last[begin] >= ' ' && (unsigned char)h->last[begin] < 127)
            text[n++] = h->last[begin];
    text[n] = 0;
}
