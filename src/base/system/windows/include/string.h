/* <string.h> with what POSIX and GNU add to it, for Windows. */
#ifndef TSRI_WINDOWS_STRING_H
#define TSRI_WINDOWS_STRING_H

#pragma GCC system_header /* include_next is GCC's */
#include_next <string.h>

void *tsri_windows_memmem(const void *in, size_t n, const void *what, size_t size);
#define memmem tsri_windows_memmem
char *tsri_windows_strndup(const char *text, size_t most);
#define strndup tsri_windows_strndup
char *tsri_windows_strcasestr(const char *in, const char *what);
#define strcasestr tsri_windows_strcasestr

#endif
