/* backends/opencl/driver/helper.c - finds, starts, hears and ends the helper process. */
#include "backends/opencl/driver/helper.h"
#include "backends/opencl/driver/host.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/system/system.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SLICE_MS = 100, SEND_MS = 1000, MOST_SAID = 1 << 18, GRACE_MS = 200, NAP_MS = 2 };

extern char **environ;

const char *tsri_opencl_helper_find(char *path) {
    /* Where it is in an installed tree and in a build folder, also with libraries in
     * lib/<processor>; beside a program that this was linked into; and in Debian's packages: in the
     * processor's own folder. */
    static const char *const below[] = {"../../../libexec/tessera/probe",
                                        "../../../../libexec/tessera/probe",
                                        "../libexec/tessera/probe", "../probe"};
    static const char here;
    const char *given = getenv("TESSERA_PROBE");
    Dl_info info;
    char file[PATH_MAX], full[PATH_MAX + 64];
    if (given && *given)
        return realpath(given, path);
    if (!dladdr(&here, &info) || !info.dli_fname || !realpath(info.dli_fname, file))
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
                                          char ***out) {
    static const char *const replaced[] = {
        "OCL_ICD_VENDORS=", "OPENCL_VENDOR_PATH=", "POCL_CACHE_DIR=", "OPENCL_LAYERS="};
    const size_t changed = sizeof replaced / sizeof *replaced - (pocl ? 0 : 2);
    size_t n = 0, all = 0;
    *out = NULL;
    if (!vendors)
        return TSR_OK;
    while (environ[all])
        all++;
    TRY(tsri_base_bytes_printf(text, "OCL_ICD_VENDORS=%s", vendors));
    const size_t second = text->size + 1;
    if (pocl)
        TRY(tsri_base_bytes_printf(text, "%cPOCL_CACHE_DIR=%s", 0, pocl));
    TRY(tsri_base_new(all + 3, sizeof **out, out));
    for (size_t i = 0; i < all; i++) {
        bool keep = true;
        for (size_t k = 0; k < changed; k++)
            keep &= strncmp(environ[i], replaced[k], strlen(replaced[k])) != 0;
        if (keep)
            (*out)[n++] = environ[i];
    }
    (*out)[n++] = text->data;
    if (pocl)
        (*out)[n++] = text->data + second;
    (*out)[n] = NULL;
    return TSR_OK;
}

unsigned tsri_opencl_helper_seconds(unsigned usual) {
    const char *given = getenv("TESSERA_PROBE_SECONDS");
    const unsigned long seconds = given ? strtoul(given, NULL, 10) : 0;
    return seconds && seconds < 86400 ? (unsigned)seconds : usual;
}

/* One socket is both its input and its output, so that writing to a helper that has ended raises no
 * signal. */
bool tsri_opencl_helper_open(tsri_opencl_helper *helper, const char *path, char *const argv[],
                             char *const env[]) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    int talk[2], words[2];
    *helper = (tsri_opencl_helper){.talk = -1, .words = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, talk))
        return false;
    if (pipe2(words, O_CLOEXEC)) {
        close(talk[0]), close(talk[1]);
        return false;
    }
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, talk[1], 0);
    posix_spawn_file_actions_adddup2(&actions, talk[1], 1);
    posix_spawn_file_actions_adddup2(&actions, words[1], 2);
    posix_spawnattr_init(&attributes);
    /* In a process group of its own: a Ctrl-C goes to the command, which then ends the helper. */
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &none);
    const bool started =
        !posix_spawn(&helper->child, path, &actions, &attributes, argv, env ? env : environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(talk[1]), close(words[1]);
    if (!started) {
        close(talk[0]), close(words[0]);
        helper->child = 0;
        return false;
    }
    helper->talk = talk[0];
    helper->words = words[0];
    return true;
}

bool tsri_opencl_helper_start(tsri_opencl_helper *helper, const char *path, char *const argv[],
                              char *const env[], const char *input, size_t input_size) {
    if (!tsri_opencl_helper_open(helper, path, argv, env))
        return false;
    helper->input = input;
    helper->input_size = input_size;
    if (!input_size)
        shutdown(helper->talk, SHUT_WR);
    return true;
}

static void send_input(tsri_opencl_helper *h) {
    const ssize_t n =
        send(h->talk, h->input + h->sent, h->input_size - h->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0)
        h->sent += (size_t)n;
    else if (errno != EAGAIN && errno != EINTR)
        h->sent = h->input_size;
    if (h->sent == h->input_size)
        shutdown(h->talk, SHUT_WR);
}

bool tsri_opencl_helper_send(tsri_opencl_helper *h, const char *data, size_t n) {
    while (n) {
        struct pollfd fd = {h->talk, POLLOUT, 0};
        const int ready = poll(&fd, 1, SEND_MS);
        if (ready == 0 || (ready < 0 && errno != EINTR))
            return false;
        const ssize_t sent = ready > 0 ? send(h->talk, data, n, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        data += sent > 0 ? sent : 0;
        n -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

static bool hear(tsri_opencl_helper *h) {
    char piece[4096];
    const ssize_t n = recv(h->talk, piece, sizeof piece, MSG_DONTWAIT);
    if (n > 0)
        return h->said.size + (size_t)n <= MOST_SAID &&
               tsri_base_bytes_append(&h->said, piece, (size_t)n) == TSR_OK;
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Keeps the end of what the helper writes to stderr. */
static bool hear_words(tsri_opencl_helper *h) {
    char piece[1024];
    const size_t room = sizeof h->last;
    const ssize_t got = read(h->words, piece, sizeof piece);
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

/* The processor time that the helper has used, in nanoseconds; 0 where the system does not tell. */
static uint64_t used(const tsri_opencl_helper *h) {
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(h->child, &clock) || clock_gettime(clock, &time))
        return 0;
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

void tsri_opencl_patience_begin(tsri_opencl_patience *p, const tsri_opencl_helper *h,
                                unsigned seconds) {
    p->allowed = (uint64_t)seconds * 1000000000u;
    p->begun = tsri_base_now_ns();
    p->used = used(h);
    p->end = p->used + p->allowed;
}

bool tsri_opencl_helper_is_late(const tsri_opencl_helper *h, tsri_opencl_patience *p) {
    const uint64_t now = tsri_base_now_ns(), spent = used(h);
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
    struct pollfd words = {h->words, POLLIN, 0};
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
        struct pollfd fds[2] = {{talks ? h->talk : -1, events, 0},
                                {words ? h->words : -1, POLLIN, 0}};
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

static bool has_ended(tsri_opencl_helper *h, int options) {
    pid_t child;
    while ((child = waitpid(h->child, &h->status, options)) < 0 && errno == EINTR) {
    }
    return child != 0;
}

/* At SIGTERM a compiler removes the file that it is writing; what does not heed it in time is killed. */
static void end_child(tsri_opencl_helper *h) {
    const struct timespec nap = {.tv_nsec = NAP_MS * 1000000L};
    bool ended = false;
    kill(h->child, SIGTERM);
    for (int ms = 0; ms < GRACE_MS && !(ended = has_ended(h, WNOHANG)); ms += NAP_MS)
        nanosleep(&nap, NULL);
    if (!ended) {
        kill(h->child, SIGKILL);
        has_ended(h, 0);
    }
}

tsr_status tsri_opencl_helper_finish(tsri_opencl_helper *h, const tsr_state *state,
                                     unsigned seconds) {
    const tsr_status status = listen_to(h, state, seconds);
    if (h->late || status != TSR_OK)
        end_child(h);
    else
        has_ended(h, 0);
    h->child = 0;
    return status;
}

void tsri_opencl_helper_clear(tsri_opencl_helper *h) {
    if (h->child)
        end_child(h);
    if (h->talk > 0)
        close(h->talk);
    if (h->words > 0)
        close(h->words);
    tsri_base_bytes_clear(&h->said);
    *h = (tsri_opencl_helper){.talk = -1, .words = -1};
}

void tsri_opencl_helper_end(const tsri_opencl_helper *h, char *text, size_t size) {
    const int number = WIFSIGNALED(h->status) ? WTERMSIG(h->status) : 0;
    const char *name = tsri_system_signal_name(number);
    if (*name != '?')
        snprintf(text, size, "crashed (SIG%s)", name);
    else if (number)
        snprintf(text, size, "crashed (signal %d)", number);
    else
        snprintf(text, size, "ended with exit code %d", WEXITSTATUS(h->status));
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
