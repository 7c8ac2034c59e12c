/* base/system/files.h - files and folders, by POSIX's functions. This header stands for <fcntl.h>,
 * <unistd.h>, <dirent.h>, <ftw.h>, <sys/stat.h> and <sys/file.h>: where a system lacks them, it
 * declares what Tessera uses of them, with the same meaning.
 * Bytes are read and written as they are.
 *
 * On Windows it renames some of these functions by macros: a file that includes it can't have members of
 * those names (close). Files that only deal with names include base/system/paths.h. */
#ifndef TSRI_BASE_SYSTEM_FILES_H
#define TSRI_BASE_SYSTEM_FILES_H

#include "base/system/paths.h"

#ifdef _WIN32
#include "base/system/windows/files.h"
#else
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/file.h>
#include <sys/stat.h>
#endif

#ifdef __APPLE__
#define st_mtim st_mtimespec
#define posix_fadvise(fd, offset, n, advice) ((void)(fd), (void)(offset), (void)(n))
#endif

/* Whether a read from an open file would have to wait for the bytes. */
bool tsri_system_would_wait(int fd);

#endif
