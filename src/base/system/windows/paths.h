/* base/system/windows/paths.h - what POSIX says of names. Included by base/system/paths.h alone. */
#ifndef TSRI_BASE_SYSTEM_WINDOWS_PATHS_H
#define TSRI_BASE_SYSTEM_WINDOWS_PATHS_H

#include <io.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#undef PATH_MAX
#define PATH_MAX 4096

int tsri_windows_access(const char *path, int how);
#define access tsri_windows_access
/* Gives '/' between folders. */
char *tsri_windows_realpath(const char *path, char *out);
#define realpath tsri_windows_realpath

#endif
