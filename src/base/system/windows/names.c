/* base/system/windows/names.c - paths, and what is done to files by their names. */
#include "base/system/files.h"
#include "base/system/system.h"

#include "base/system/windows/text.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <windows.h>

/* ---- paths ---- */

bool tsri_system_is_slash(char c) {
    return c == '/' || c == '\\';
}

char *tsri_system_last_slash(const char *path) {
    for (const char *at = path + strlen(path); at > path; at--)
        if (tsri_system_is_slash(at[-1]))
            return (char *)at - 1;
    return NULL;
}

/* "C:/..", "//server/share/..", and "/..", which depends on the current drive alone. */
bool tsri_system_is_absolute(const char *path) {
    return tsri_system_is_slash(*path) ||
           (isalpha((unsigned char)*path) && path[1] == ':' && tsri_system_is_slash(path[2]));
}

char *tsri_system_target(const char *path) {
    return strdup(path);
}

const char *tsri_system_temporary_folder(void) {
    static const char *const names[] = {"TMPDIR", "TMP", "TEMP"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *given = getenv(names[i]);
        if (given && *given)
            return given;
    }
    return ".";
}

char *tsri_windows_realpath(const char *path, char *out) {
    wchar_t *wide = tsri_windows_wide(path), full[PATH_MAX];
    if (!wide)
        return NULL;
    const DWORD n = GetFullPathNameW(wide, PATH_MAX, full, NULL);
    free(wide);
    if (n == 0 || n >= PATH_MAX || GetFileAttributesW(full) == INVALID_FILE_ATTRIBUTES) {
        tsri_windows_fail();
        return NULL;
    }
    char *narrow = tsri_windows_narrow(full);
    if (!narrow)
        return NULL;
    tsri_windows_to_slashes(narrow);
    if (!out)
        return narrow;
    const bool fits = strlen(narrow) < PATH_MAX;
    if (fits)
        strcpy(out, narrow);
    else
        errno = ENAMETOOLONG;
    free(narrow);
    return fits ? out : NULL;
}

/* ---- one name ---- */

int tsri_windows_access(const char *path, int how) {
    wchar_t *wide = tsri_windows_wide(path);
    const int failed = wide ? _waccess(wide, how & ~X_OK) : -1; /* any file may be tried */
    free(wide);
    return failed;
}

/* done(ACTION): 0, or -1 with errno */
static int done(wchar_t *wide, BOOL (*action)(const wchar_t *path)) {
    if (!wide)
        return -1;
    const int failed = action(wide) ? 0 : tsri_windows_fail();
    free(wide);
    return failed;
}

static BOOL delete_file(const wchar_t *path) {
    return DeleteFileW(path);
}

static BOOL delete_folder(const wchar_t *path) {
    return RemoveDirectoryW(path);
}

static BOOL make_folder(const wchar_t *path) {
    return CreateDirectoryW(path, NULL);
}

int tsri_windows_unlink(const char *path) {
    return done(tsri_windows_wide(path), delete_file);
}

int tsri_windows_rmdir(const char *path) {
    return done(tsri_windows_wide(path), delete_folder);
}

int tsri_windows_mkdir(const char *path, mode_t mode) {
    (void)mode; /* a folder has the rights of the one that it lies in */
    return done(tsri_windows_wide(path), make_folder);
}

int tsri_windows_remove(const char *path) {
    struct stat facts;
    return lstat(path, &facts) == 0 && S_ISDIR(facts.st_mode) ? rmdir(path) : unlink(path);
}

char *tsri_windows_mkdtemp(char *pattern) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    char *end = pattern + strlen(pattern) - 6;
    for (int i = 0; i < 100; i++) {
        unsigned char drawn[6];
        if (!tsri_system_random(drawn, sizeof drawn))
            break;
        for (int c = 0; c < 6; c++)
            end[c] = letters[drawn[c] & 31];
        if (mkdir(pattern, 0700) == 0)
            return pattern;
        if (errno != EEXIST)
            break;
    }
    return NULL;
}

/* ---- two names ---- */

static BOOL move(const wchar_t *from, const wchar_t *to) {
    return MoveFileExW(from, to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH);
}

static BOOL add_name(const wchar_t *from, const wchar_t *to) {
    return CreateHardLinkW(to, from, NULL);
}

static int with_both(const char *from, const char *to,
                     BOOL (*action)(const wchar_t *from, const wchar_t *to)) {
    wchar_t *old = tsri_windows_wide(from), *new = tsri_windows_wide(to);
    const int failed =
        !old || !new || action(old, new) ? (old && new ? 0 : -1) : tsri_windows_fail();
    free(old);
    free(new);
    return failed;
}

int tsri_windows_rename(const char *from, const char *to) {
    return with_both(from, to, move);
}

int tsri_windows_link(const char *from, const char *to) {
    return with_both(from, to, add_name);
}
