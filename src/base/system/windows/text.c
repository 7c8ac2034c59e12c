/* base/system/windows/text.c - converts texts and errors. */
#include "base/system/windows/text.h"

#include <errno.h>
#include <stdlib.h>
#include <windows.h>

wchar_t *tsri_windows_wide(const char *text) {
    const int n = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
    wchar_t *wide = n > 0 ? malloc((size_t)n * sizeof *wide) : NULL;
    if (wide)
        MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, n);
    else
        errno = n > 0 ? ENOMEM : ENOENT; /* every file has a name that is text */
    return wide;
}

char *tsri_windows_narrow(const wchar_t *text) {
    const int n = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
    char *narrow = n > 0 ? malloc((size_t)n) : NULL;
    if (narrow)
        WideCharToMultiByte(CP_UTF8, 0, text, -1, narrow, n, NULL, NULL);
    else
        errno = ENOMEM;
    return narrow;
}

void tsri_windows_to_slashes(char *path) {
    for (; *path; path++)
        if (*path == '\\')
            *path = '/';
}

int tsri_windows_fail(void) {
    static const struct {
        DWORD error;
        int number;
    } known[] = {{ERROR_FILE_NOT_FOUND, ENOENT},      {ERROR_PATH_NOT_FOUND, ENOENT},
                 {ERROR_INVALID_NAME, ENOENT},        {ERROR_INVALID_DRIVE, ENOENT},
                 {ERROR_BAD_NETPATH, ENOENT},         {ERROR_BAD_PATHNAME, ENOENT},
                 {ERROR_ACCESS_DENIED, EACCES},       {ERROR_SHARING_VIOLATION, EACCES},
                 {ERROR_WRITE_PROTECT, EROFS},        {ERROR_FILE_EXISTS, EEXIST},
                 {ERROR_ALREADY_EXISTS, EEXIST},      {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},
                 {ERROR_DIRECTORY, ENOTDIR},          {ERROR_NOT_SAME_DEVICE, EXDEV},
                 {ERROR_DISK_FULL, ENOSPC},           {ERROR_HANDLE_DISK_FULL, ENOSPC},
                 {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},   {ERROR_OUTOFMEMORY, ENOMEM},
                 {ERROR_TOO_MANY_OPEN_FILES, EMFILE}, {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
                 {ERROR_INVALID_HANDLE, EBADF},       {ERROR_LOCK_VIOLATION, EAGAIN},
                 {ERROR_BROKEN_PIPE, EPIPE},          {ERROR_NO_DATA, EPIPE}};
    const DWORD error = GetLastError();
    errno = EIO;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].error == error)
            errno = known[i].number;
    return -1;
}
