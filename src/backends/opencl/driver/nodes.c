/* backends/opencl/driver/nodes.c - tries to open the files of GPUs, as their drivers do. */
#include "backends/opencl/driver/nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* 0 where the file can be opened; else the error. */
static int open_error(const char *path) {
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

bool tsri_opencl_files_closed(const char *pattern, char *why, size_t size) {
    glob_t files = {0};
    int error = 0;
    const int missing = glob(pattern, 0, NULL, &files);
    if (missing == GLOB_NOMATCH)
        snprintf(why, size,
                 "there is no %s: the GPU's kernel driver is not loaded, or this container was not "
                 "given the file",
                 pattern);
    if (missing) {
        globfree(&files);
        return missing == GLOB_NOMATCH;
    }
    for (size_t i = 0; i < files.gl_pathc; i++)
        if ((error = open_error(files.gl_pathv[i])) == 0)
            break;
    if (error)
        snprintf(why, size, "%s can't be opened (%s)%s", files.gl_pathv[files.gl_pathc - 1],
                 strerror(error),
                 error == EACCES
                     ? "; add this user to the file's group, mostly `render`, and log in "
                       "again"
                 : error == EPERM ? "; a container has to be given the file"
                                  : "");
    globfree(&files);
    return error != 0;
}
