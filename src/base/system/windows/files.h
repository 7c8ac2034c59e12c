/* base/system/windows/files.h - POSIX's functions on files and folders, as Tessera uses them.
 * Included by base/system/files.h alone. */
#ifndef TSRI_BASE_SYSTEM_WINDOWS_FILES_H
#define TSRI_BASE_SYSTEM_WINDOWS_FILES_H

#include <direct.h>
#include <fcntl.h>
#include <io.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

/* ---- files ---- */

/* Files are opened as on POSIX: all bytes as they are, not inherited by other processes; they may be
 * renamed and removed meanwhile. A folder can be opened, but only to be examined and synced. */
#define O_CLOEXEC 0
#define O_NONBLOCK 0
#define O_DIRECTORY 0
int tsri_windows_open(const char *path, int flags, ...);
#define open tsri_windows_open
int tsri_windows_close(int fd);
#define close tsri_windows_close
ssize_t tsri_windows_read(int fd, void *data, size_t n);
#define read tsri_windows_read
ssize_t tsri_windows_write(int fd, const void *data, size_t n);
#define write tsri_windows_write
/* Both leave the place of the next read or write as it is. */
ssize_t tsri_windows_pread(int fd, void *data, size_t n, off_t offset);
#define pread tsri_windows_pread
ssize_t tsri_windows_pwrite(int fd, const void *data, size_t n, off_t offset);
#define pwrite tsri_windows_pwrite
/* A file has the rights of its folder, and no mode. */
#define fchmod(fd, mode) ((void)(fd), (void)(mode))
/* EINVAL for a folder: Windows writes folders with their files. */
int tsri_windows_fsync(int fd);
#define fsync tsri_windows_fsync
#define POSIX_FADV_DONTNEED 0
#define posix_fadvise(fd, offset, n, advice) ((void)(fd), (void)(offset), (void)(n))
enum { LOCK_EX = 1, LOCK_NB = 2 };
/* Takes the lock or fails by EWOULDBLOCK; the lock ends with the file. */
int tsri_windows_flock(int fd, int how);
#define flock tsri_windows_flock
#ifndef EWOULDBLOCK
#define EWOULDBLOCK EAGAIN
#endif

struct tsri_windows_stat {
    mode_t st_mode;
    int64_t st_size;
    struct timespec st_mtim;
};
#ifndef S_ISSOCK
#define S_ISSOCK(mode) 0
#endif
#undef stat
#undef fstat
int tsri_windows_stat(const char *path, struct tsri_windows_stat *facts);
int tsri_windows_fstat(int fd, struct tsri_windows_stat *facts);
int tsri_windows_lstat(const char *path, struct tsri_windows_stat *facts);
#define stat tsri_windows_stat
#define fstat tsri_windows_fstat
#define lstat tsri_windows_lstat

/* ---- names ---- */

int tsri_windows_unlink(const char *path);
#define unlink tsri_windows_unlink
int tsri_windows_mkdir(const char *path, mode_t mode);
#define mkdir tsri_windows_mkdir
int tsri_windows_rmdir(const char *path);
#define rmdir tsri_windows_rmdir
/* Replaces the file that has the new name. */
int tsri_windows_rename(const char *from, const char *to);
#define rename tsri_windows_rename
int tsri_windows_remove(const char *path);
#define remove tsri_windows_remove
int tsri_windows_link(const char *from, const char *to);
#define link tsri_windows_link
char *tsri_windows_mkdtemp(char *pattern);
#define mkdtemp tsri_windows_mkdtemp

/* ---- folders ---- */

struct dirent {
    char d_name[1024];
};
typedef struct tsri_windows_dir DIR;
DIR *tsri_windows_opendir(const char *path);
#define opendir tsri_windows_opendir
struct dirent *tsri_windows_readdir(DIR *dir);
#define readdir tsri_windows_readdir
int tsri_windows_closedir(DIR *dir);
#define closedir tsri_windows_closedir
int tsri_windows_alphasort(const struct dirent **a, const struct dirent **b);
#define alphasort tsri_windows_alphasort
int tsri_windows_scandir(const char *path, struct dirent ***out,
                         int (*wanted)(const struct dirent *entry),
                         int (*order)(const struct dirent **a, const struct dirent **b));
#define scandir tsri_windows_scandir

enum { FTW_F, FTW_D, FTW_DP };
enum { FTW_PHYS = 1, FTW_DEPTH = 2 };
struct FTW {
    int base, level;
};
/* `most` is not needed. */
int tsri_windows_nftw(const char *path,
                      int (*visit)(const char *path, const struct tsri_windows_stat *facts,
                                   int kind, struct FTW *place),
                      int most, int flags);
#define nftw tsri_windows_nftw

#endif
