/* <glob.h> for Windows: no file matches. Tessera looks for Linux's files about the machine by it. */
#ifndef TSRI_WINDOWS_GLOB_H
#define TSRI_WINDOWS_GLOB_H

#include <stddef.h>

typedef struct glob_t {
    size_t gl_pathc;
    char **gl_pathv;
} glob_t;

static inline int glob(const char *pattern, int flags, int (*failed)(const char *path, int error),
                       glob_t *found) {
    (void)pattern;
    (void)flags;
    (void)failed;
    *found = (glob_t){0, NULL};
    return 3; /* GLOB_NOMATCH */
}

static inline void globfree(glob_t *found) {
    (void)found;
}

#endif
