/* support/folder.c - makes temporary folders and removes them. */
#include "support/folder.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

void folder_make(char path[64]) {
    snprintf(path, 64, "/tmp/tessera-test-XXXXXX");
    cr_assert_not_null(mkdtemp(path));
}

static int drop(const char *path, const struct stat *facts, int kind, struct FTW *where) {
    (void)facts, (void)kind, (void)where;
    return remove(path);
}

void folder_drop(const char *path) {
    cr_assert_eq(nftw(path, drop, 8, FTW_DEPTH | FTW_PHYS), 0, "%s", path);
}
