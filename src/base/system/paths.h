/* base/system/paths.h - names of files and folders. Paths are UTF-8 and may have '/' on every system. */
#ifndef TSRI_BASE_SYSTEM_PATHS_H
#define TSRI_BASE_SYSTEM_PATHS_H

#include <stdbool.h>

/* access, realpath and PATH_MAX, as POSIX has them, and what lies between the folders of a list in an
 * environment variable. */
#ifdef _WIN32
#include "base/system/windows/paths.h"
#define TSRI_SYSTEM_BETWEEN_FOLDERS ";"
#else
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>
#define TSRI_SYSTEM_BETWEEN_FOLDERS ":"
#endif

/* '/', on Windows also the backslash. */
bool tsri_system_is_slash(char c);
/* The last character of a path that separates folders, or NULL. */
char *tsri_system_last_slash(const char *path);
/* Whether a path does not depend on the current folder. */
bool tsri_system_is_absolute(const char *path);
/* The file that a write to `path` means: where a symbolic link leads, else the path itself; in new memory, and NULL
 * with errno where the link leads nowhere. On Windows, a link stands for itself. */
char *tsri_system_target(const char *path);
/* The folder of temporary files: TMPDIR, else the system's. Valid until the environment changes. */
const char *tsri_system_temporary_folder(void);

#endif
