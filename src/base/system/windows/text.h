/* base/system/windows/text.h - UTF-8 and Windows's UTF-16, and its errors as errno. */
#ifndef TSRI_BASE_SYSTEM_WINDOWS_TEXT_H
#define TSRI_BASE_SYSTEM_WINDOWS_TEXT_H

#include <wchar.h>

/* New memory; NULL with errno where the text is not UTF-8 or there is too little memory. */
wchar_t *tsri_windows_wide(const char *text);
/* New memory; NULL with errno where there is too little of it. Unpaired surrogates become U+FFFD. */
char *tsri_windows_narrow(const wchar_t *text);
/* Replaces backslashes. */
void tsri_windows_to_slashes(char *path);
/* Sets errno by GetLastError(), and returns -1. */
int tsri_windows_fail(void);

#endif
