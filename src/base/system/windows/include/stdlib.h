/* <stdlib.h> with what POSIX adds to it, for Windows. */
#ifndef TSRI_WINDOWS_STDLIB_H
#define TSRI_WINDOWS_STDLIB_H

#pragma GCC system_header /* include_next is GCC's */
#include_next <stdlib.h>

/* UTF-8, valid until the process ends. HOME is USERPROFILE where it is not set. */
char *tsri_windows_getenv(const char *name);
#define getenv tsri_windows_getenv
int tsri_windows_setenv(const char *name, const char *value, int replace);
#define setenv tsri_windows_setenv
void *tsri_windows_reallocarray(void *items, size_t n, size_t size);
#define reallocarray tsri_windows_reallocarray

#endif
