/* base/system/posix/files.c - paths, and what POSIX has no single call for. */
#include "base/system/files.h"

#include <poll.h>
#include <string.h>

bool tsri_system_is_slash(char c) {
    return c == '/';
}

char *tsri_system_last_slash(const char *path) {
    return strrchr(path, '/');
}

bool tsri_system_is_absolute(const char *path) {
    return *path == '/';
}

char *tsri_system_target(const char *path) {
    struct stat facts;
    return lstat(path, &facts) == 0 && S_ISLNK(facts.st_mode) ? realpath(path, NULL) : strdup(path);
}

const char *tsri_system_temporary_folder(void) {
    const char *given = getenv("TMPDIR");
    return given && *given ? given : "/tmp";
}

bool tsri_system_would_wait(int fd) {
    struct pollfd input = {.fd = fd, .events = POLLIN};
    return poll(&input, 1, 0) == 0;
}
