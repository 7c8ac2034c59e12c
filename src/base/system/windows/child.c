/* base/system/windows/child.c - starts, hears and ends other programs, by CreateProcess. */
#include "base/system/child.h"

#include "base/system/windows/text.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include <psapi.h>

enum { ITS_INPUT, ITS_OUTPUT, ITS_ERRORS, STREAMS };

/* ---- streams ---- */

static void close_handle(HANDLE *handle) {
    if (*handle)
        CloseHandle(*handle);
    *handle = NULL;
}

/* This process's own stream, for a child; NULL where it has none. */
static bool share(int stream, HANDLE *theirs) {
    static const DWORD names[] = {STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
    const HANDLE own = GetStdHandle(names[stream]), here = GetCurrentProcess();
    if (!own || own == INVALID_HANDLE_VALUE)
        return true;
    return DuplicateHandle(here, own, here, theirs, 0, TRUE, DUPLICATE_SAME_ACCESS);
}

static bool open_nowhere(int stream, HANDLE *theirs) {
    SECURITY_ATTRIBUTES inherited = {.nLength = sizeof inherited, .bInheritHandle = TRUE};
    const HANDLE file =
        CreateFileW(L"NUL", stream == ITS_INPUT ? GENERIC_READ : GENERIC_WRITE,
                    FILE_SHARE_READ | FILE_SHARE_WRITE, &inherited, OPEN_EXISTING, 0, NULL);
    if (file != INVALID_HANDLE_VALUE)
        *theirs = file;
    return file != INVALID_HANDLE_VALUE;
}

static bool open_pipe(int stream, HANDLE *ours, HANDLE *theirs) {
    return CreatePipe(stream == ITS_INPUT ? theirs : ours, stream == ITS_INPUT ? ours : theirs,
                      NULL, 0) &&
           SetHandleInformation(*theirs, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
}

static bool open_stream(tsri_system_stream leads, int stream, HANDLE *ours, HANDLE *theirs) {
    return leads == TSRI_SYSTEM_SHARED    ? share(stream, theirs)
           : leads == TSRI_SYSTEM_NOWHERE ? open_nowhere(stream, theirs)
                                          : open_pipe(stream, ours, theirs);
}

ptrdiff_t tsri_system_child_read(const tsri_system_child *child, void *out, size_t n) {
    const DWORD most = n < INT_MAX ? (DWORD)n : INT_MAX;
    DWORD got = 0;
    if (ReadFile((HANDLE)child->out, out, most, &got, NULL))
        return (ptrdiff_t)got;
    return GetLastError() == ERROR_BROKEN_PIPE ? 0 : tsri_windows_fail();
}

bool tsri_system_child_write(const tsri_system_child *child, const void *data, size_t n) {
    for (const char *at = data; n;) {
        DWORD sent = 0;
        if (!WriteFile((HANDLE)child->in, at, n < INT_MAX ? (DWORD)n : INT_MAX, &sent, NULL))
            return false;
        at += sent;
        n -= sent;
    }
    return true;
}

void tsri_system_child_close(tsri_system_child *child) {
    intptr_t *ends[] = {&child->in, &child->out, &child->err};
    for (int i = 0; i < STREAMS; i++) {
        if (*ends[i])
            CloseHandle((HANDLE)*ends[i]);
        *ends[i] = 0;
    }
}

/* ---- what a program is given ---- */

/* Adds a word as programs take a command line apart: in quotes, where backslashes before a quote are
 * doubled. Returns its end. */
static char *add_quoted(char *to, const char *word) {
    size_t slashes = 0;
    *to++ = '"';
    for (; *word; word++) {
        if (*word == '"')
            for (slashes++; slashes; slashes--)
                *to++ = '\\';
        slashes = *word == '\\' ? slashes + 1 : 0;
        *to++ = *word;
    }
    for (; slashes; slashes--)
        *to++ = '\\';
    *to++ = '"';
    return to;
}

static wchar_t *command_line(const char *const *argv) {
    size_t n = 1;
    for (int i = 0; argv[i]; i++)
        n += 2 * strlen(argv[i]) + 3;
    char *line = malloc(n), *to = line;
    if (!line)
        return NULL;
    for (int i = 0; argv[i]; i++) {
        to = add_quoted(to, argv[i]);
        *to++ = ' ';
    }
    *to = 0;
    wchar_t *wide = tsri_windows_wide(line);
    free(line);
    return wide;
}

static int by_name(const void *a, const void *b) {
    return _wcsicmp(*(wchar_t *const *)a, *(wchar_t *const *)b);
}

/* The variables one behind the other, sorted as Windows wants them, with an empty one at the end. */
static wchar_t *environment_block(const char *const *env) {
    size_t n = 0, room = 2;
    bool whole = true;
    while (env[n])
        n++;
    wchar_t **wide = calloc(n + 1, sizeof *wide), *block = NULL, *to;
    for (size_t i = 0; i < n && wide && whole; i++)
        if ((whole = (wide[i] = tsri_windows_wide(env[i])) != NULL))
            room += wcslen(wide[i]) + 1;
    if (wide && whole && (to = block = calloc(room, sizeof *block)) != NULL) {
        qsort(wide, n, sizeof *wide, by_name);
        for (size_t i = 0; i < n; i++) {
            wcscpy(to, wide[i]);
            to += wcslen(to) + 1;
        }
    }
    for (size_t i = 0; wide && i < n; i++)
        free(wide[i]);
    free(wide);
    return block;
}

/* ---- from start to end ---- */

/* Starts it so that it inherits its own streams alone. */
static bool create(const tsri_system_command *command, const HANDLE theirs[STREAMS],
                   wchar_t *program, wchar_t *line, wchar_t *env, PROCESS_INFORMATION *made) {
    STARTUPINFOEXW start = {.StartupInfo = {.cb = sizeof start,
                                            .dwFlags = STARTF_USESTDHANDLES,
                                            .hStdInput = theirs[ITS_INPUT],
                                            .hStdOutput = theirs[ITS_OUTPUT],
                                            .hStdError = theirs[ITS_ERRORS]}};
    HANDLE inherited[STREAMS];
    SIZE_T size = 0;
    int n = 0;
    for (int i = 0; i < STREAMS; i++)
        if (theirs[i])
            inherited[n++] = theirs[i];
    InitializeProcThreadAttributeList(NULL, 1, 0, &size);
    start.lpAttributeList = malloc(size);
    if (!start.lpAttributeList ||
        !InitializeProcThreadAttributeList(start.lpAttributeList, 1, 0, &size)) {
        free(start.lpAttributeList);
        SetLastError(ERROR_NOT_ENOUGH_MEMORY);
        return false;
    }
    const DWORD flags = EXTENDED_STARTUPINFO_PRESENT | CREATE_UNICODE_ENVIRONMENT |
                        (command->apart ? CREATE_NEW_PROCESS_GROUP : 0);
    const bool done = (!n || UpdateProcThreadAttribute(
                                 start.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST,
                                 inherited, (size_t)n * sizeof *inherited, NULL, NULL)) &&
                      CreateProcessW(program, line, NULL, NULL, n > 0, flags, env, NULL,
                                     &start.StartupInfo, made);
    const DWORD why = GetLastError();
    DeleteProcThreadAttributeList(start.lpAttributeList);
    free(start.lpAttributeList);
    SetLastError(why);
    return done;
}

static int spawn(const tsri_system_command *command, const HANDLE theirs[STREAMS],
                 HANDLE *process) {
    PROCESS_INFORMATION made = {0};
    wchar_t *program = tsri_windows_wide(command->program);
    wchar_t *line = program ? command_line(command->argv) : NULL;
    wchar_t *env = line && command->env ? environment_block(command->env) : NULL;
    const bool ready = line && (env || !command->env);
    const int failed = !ready ? errno
                       : create(command, theirs, program, line, env, &made)
                           ? 0
                           : (tsri_windows_fail(), errno);
    free(program);
    free(line);
    free(env);
    if (failed)
        return failed;
    CloseHandle(made.hThread);
    *process = made.hProcess;
    return 0;
}

int tsri_system_child_start(const tsri_system_command *command, tsri_system_child *child) {
    const tsri_system_stream leads[] = {command->in, command->out, command->err};
    HANDLE ours[STREAMS] = {0}, theirs[STREAMS] = {0}, process = NULL;
    int failed = 0;
    *child = (tsri_system_child){0};
    for (int i = 0; i < STREAMS && !failed; i++)
        if (!open_stream(leads[i], i, &ours[i], &theirs[i])) {
            tsri_windows_fail();
            failed = errno;
        }
    if (!failed)
        failed = spawn(command, theirs, &process);
    for (int i = 0; i < STREAMS; i++) {
        close_handle(&theirs[i]);
        if (failed)
            close_handle(&ours[i]);
    }
    if (!failed)
        *child = (tsri_system_child){.process = (intptr_t)process,
                                     .in = (intptr_t)ours[ITS_INPUT],
                                     .out = (intptr_t)ours[ITS_OUTPUT],
                                     .err = (intptr_t)ours[ITS_ERRORS]};
    return failed;
}

int tsri_system_child_wait(tsri_system_child *child, int milliseconds) {
    const HANDLE process = (HANDLE)child->process;
    PROCESS_MEMORY_COUNTERS held = {.cb = sizeof held};
    DWORD code = 0;
    const DWORD news =
        WaitForSingleObject(process, milliseconds < 0 ? INFINITE : (DWORD)milliseconds);
    if (news == WAIT_TIMEOUT)
        return 0;
    if (news != WAIT_OBJECT_0 || !GetExitCodeProcess(process, &code)) {
        child->process = 0;
        return tsri_windows_fail();
    }
    child->code = (int)code;
    child->signal = 0;
    child->memory = GetProcessMemoryInfo(process, &held, sizeof held) ? held.PeakWorkingSetSize : 0;
    CloseHandle(process);
    child->process = 0;
    return 1;
}

void tsri_system_child_ask(const tsri_system_child *child) {
    TerminateProcess((HANDLE)child->process, 1);
}

void tsri_system_child_end(tsri_system_child *child, int milliseconds) {
    (void)milliseconds;
    if (!child->process)
        return;
    tsri_system_child_ask(child);
    (void)tsri_system_child_wait(child, -1);
}

uint64_t tsri_system_child_used(const tsri_system_child *child) {
    FILETIME begun, ended, in_system, in_program;
    if (!GetProcessTimes((HANDLE)child->process, &begun, &ended, &in_system, &in_program))
        return 0;
    const uint64_t times[] = {(uint64_t)in_system.dwHighDateTime << 32 | in_system.dwLowDateTime,
                              (uint64_t)in_program.dwHighDateTime << 32 | in_program.dwLowDateTime};
    return (times[0] + times[1]) * 100;
}

/* ---- the environment ---- */

static bool is_among(const char *variable, const char *const *names) {
    for (; *names; names++) {
        const size_t n = strlen(*names);
        if (!_strnicmp(variable, *names, n) && variable[n] == '=')
            return true;
    }
    return false;
}

const char **tsri_system_environment(const char *const *names, size_t more, size_t *kept) {
    wchar_t *all = GetEnvironmentStringsW();
    size_t n = 0, bytes = 0;
    *kept = 0;
    for (const wchar_t *at = all; at && *at; at += wcslen(at) + 1) {
        n++;
        bytes += 3 * wcslen(at) + 1; /* UTF-8 of a unit of UTF-16 */
    }
    const char **out = all ? calloc(1, (n + more + 1) * sizeof *out + bytes) : NULL;
    char *text = out ? (char *)(out + n + more + 1) : NULL;
    for (const wchar_t *at = all; out && *at; at += wcslen(at) + 1) {
        const int length =
            WideCharToMultiByte(CP_UTF8, 0, at, -1, text, (int)(3 * wcslen(at) + 1), NULL, NULL);
        if (length <= 0 || is_among(text, names))
            continue;
        out[(*kept)++] = text;
        text += length;
    }
    if (all)
        FreeEnvironmentStringsW(all);
    return out;
}
