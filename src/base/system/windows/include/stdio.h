/* <stdio.h> with what POSIX adds to it, for Windows. Files are opened by UTF-8 names, and their bytes are
 * read and written as they are. */
#ifndef TSRI_WINDOWS_STDIO_H
#define TSRI_WINDOWS_STDIO_H

#pragma GCC system_header /* include_next is GCC's */
#include_next <stdio.h>

FILE *tsri_windows_fopen(const char *path, const char *mode);
#define fopen tsri_windows_fopen
ssize_t tsri_windows_getline(char **line, size_t *room, FILE *from);
#define getline tsri_windows_getline

#endif
