/* base/system/windows/files.c - open files, and what is known of them. */
#include "base/system/files.h"

#include "base/system/windows/text.h"

#include <errno.h>
#include <stdarg.h>
#include <windows.h>

/* The C library's own functions, which the header renames. */
#undef open
#undef close
#undef read
#undef write

enum { MOST = 1 << 30 }; /* bytes of one read or write */

static HANDLE handle_of(int fd) {
    return (HANDLE)_get_osfhandle(fd);
}

/* ---- opening ---- */

int tsri_windows_open(const char *path, int flags, ...) {
    const int way = flags & (O_RDONLY | O_WRONLY | O_RDWR);
    const DWORD access = way == O_WRONLY ? GENERIC_WRITE
                         : way == O_RDWR ? GENERIC_READ | GENERIC_WRITE
                                         : GENERIC_READ;
    const DWORD make = (flags & O_CREAT) && (flags & O_EXCL)    ? CREATE_NEW
                       : (flags & O_CREAT) && (flags & O_TRUNC) ? CREATE_ALWAYS
                       : flags & O_CREAT                        ? OPEN_ALWAYS
                       : flags & O_TRUNC                        ? TRUNCATE_EXISTING
                                                                : OPEN_EXISTING;
    wchar_t *wide = tsri_windows_wide(path);
    if (!wide)
        return -1;
    const HANDLE handle = CreateFileW(
        wide, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, make,
        way == O_RDONLY ? FILE_FLAG_BACKUP_SEMANTICS : FILE_ATTRIBUTE_NORMAL, NULL);
    free(wide);
    if (handle == INVALID_HANDLE_VALUE)
        return tsri_windows_fail();
    const int fd =
        _open_osfhandle((intptr_t)handle, (flags & O_APPEND) | way | _O_BINARY | _O_NOINHERIT);
    if (fd < 0)
        CloseHandle(handle);
    return fd;
}

int tsri_windows_close(int fd) {
    return _close(fd);
}

/* ---- bytes ---- */

ssize_t tsri_windows_read(int fd, void *data, size_t n) {
    return _read(fd, data, (unsigned)(n < MOST ? n : MOST));
}

ssize_t tsri_windows_write(int fd, const void *data, size_t n) {
    return _write(fd, data, (unsigned)(n < MOST ? n : MOST));
}

static OVERLAPPED place_at(off_t offset) {
    return (OVERLAPPED){.Offset = (DWORD)(uint64_t)offset,
                        .OffsetHigh = (DWORD)((uint64_t)offset >> 32)};
}

ssize_t tsri_windows_pread(int fd, void *data, size_t n, off_t offset) {
    OVERLAPPED place = place_at(offset);
    DWORD got = 0;
    if (ReadFile(handle_of(fd), data, (DWORD)(n < MOST ? n : MOST), &got, &place))
        return (ssize_t)got;
    return GetLastError() == ERROR_HANDLE_EOF ? 0 : tsri_windows_fail();
}

ssize_t tsri_windows_pwrite(int fd, const void *data, size_t n, off_t offset) {
    const HANDLE handle = handle_of(fd);
    const LARGE_INTEGER zero = {.QuadPart = 0};
    LARGE_INTEGER before;
    OVERLAPPED place = place_at(offset);
    DWORD put = 0;
    if (!SetFilePointerEx(handle, zero, &before, FILE_CURRENT))
        return tsri_windows_fail();
    const bool wrote = WriteFile(handle, data, (DWORD)(n < MOST ? n : MOST), &put, &place);
    const int failed = wrote ? 0 : tsri_windows_fail();
    SetFilePointerEx(handle, before, NULL, FILE_BEGIN);
    return failed ? failed : (ssize_t)put;
}

int tsri_windows_fsync(int fd) {
    struct stat facts;
    if (FlushFileBuffers(handle_of(fd)))
        return 0;
    const int failed = tsri_windows_fail();
    if (fstat(fd, &facts) == 0 && S_ISDIR(facts.st_mode))
        errno = EINVAL;
    return failed;
}

int tsri_windows_flock(int fd, int how) {
    OVERLAPPED place = {0};
    const DWORD flags = LOCKFILE_EXCLUSIVE_LOCK | (how & LOCK_NB ? LOCKFILE_FAIL_IMMEDIATELY : 0);
    if (LockFileEx(handle_of(fd), flags, 0, MAXDWORD, MAXDWORD, &place))
        return 0;
    const int failed = tsri_windows_fail();
    if (errno == EAGAIN || GetLastError() == ERROR_IO_PENDING)
        errno = EWOULDBLOCK;
    return failed;
}

bool tsri_system_would_wait(int fd) {
    const HANDLE handle = handle_of(fd);
    DWORD ready = 0;
    switch (GetFileType(handle)) {
    case FILE_TYPE_PIPE:
        return PeekNamedPipe(handle, NULL, 0, NULL, &ready, NULL) && ready == 0;
    case FILE_TYPE_CHAR:
        return WaitForSingleObject(handle, 0) == WAIT_TIMEOUT;
    default:
        return false;
    }
}

/* ---- facts ---- */

/* Windows counts 100 ns from 1601. */
static struct timespec time_of(FILETIME time) {
    const uint64_t ticks =
        ((uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime) - UINT64_C(116444736000000000);
    return (struct timespec){.tv_sec = (time_t)(ticks / 10000000),
                             .tv_nsec = (long)(ticks % 10000000 * 100)};
}

static int facts_of(HANDLE handle, struct stat *facts) {
    BY_HANDLE_FILE_INFORMATION info;
    *facts = (struct stat){0};
    const DWORD type = GetFileType(handle);
    if (type == FILE_TYPE_PIPE || type == FILE_TYPE_CHAR) {
        facts->st_mode = type == FILE_TYPE_PIPE ? S_IFIFO : S_IFCHR;
        return 0;
    }
    if (!GetFileInformationByHandle(handle, &info))
        return tsri_windows_fail();
    facts->st_mode = info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY ? S_IFDIR : S_IFREG;
    facts->st_size = (int64_t)((uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow);
    facts->st_mtim = time_of(info.ftLastWriteTime);
    return 0;
}

int tsri_windows_fstat(int fd, struct stat *facts) {
    return facts_of(handle_of(fd), facts);
}

static int facts_at(const char *path, DWORD flags, struct stat *facts) {
    wchar_t *wide = tsri_windows_wide(path);
    if (!wide)
        return -1;
    const HANDLE handle = CreateFileW(wide, FILE_READ_ATTRIBUTES,
                                      FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                                      OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | flags, NULL);
    free(wide);
    if (handle == INVALID_HANDLE_VALUE)
        return tsri_windows_fail();
    const int failed = facts_of(handle, facts);
    CloseHandle(handle);
    return failed;
}

int tsri_windows_stat(const char *path, struct stat *facts) {
    return facts_at(path, 0, facts);
}

int tsri_windows_lstat(const char *path, struct stat *facts) {
    return facts_at(path, FILE_FLAG_OPEN_REPARSE_POINT, facts);
}
