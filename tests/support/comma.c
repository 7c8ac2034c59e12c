/* A locale with a decimal comma: one of the system's, or the C locale of glibc with two bytes changed. */
#include "support/comma.h"
#include "support/folder.h"

#include <criterion/criterion.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Where the file LC_NUMERIC of glibc has the point, as a char and as a wide one. */
enum { SIZE = 50, POINT = 0x20, WIDE_POINT = 0x24 };

static bool is_set(const char *name) {
    return setlocale(LC_NUMERIC, name) && *localeconv()->decimal_point == ',';
}

static bool copy_with_commas(const char *to) {
    char bytes[SIZE + 1];
    FILE *from = fopen("/usr/lib/locale/C.utf8/LC_NUMERIC", "rb");
    const bool known = from && fread(bytes, 1, sizeof bytes, from) == SIZE && bytes[POINT] == '.' &&
                       bytes[WIDE_POINT] == '.';
    if (from)
        fclose(from);
    if (!known)
        return false;
    bytes[POINT] = bytes[WIDE_POINT] = ',';
    FILE *file = fopen(to, "wb");
    const bool written = file && fwrite(bytes, 1, SIZE, file) == SIZE;
    return file && fclose(file) == 0 && written;
}

static bool make(void) {
    char folder[64], path[128];
    folder_make(folder);
    setenv("LOCPATH", folder, 1);
    snprintf(path, sizeof path, "%s/xx_XX", folder);
    bool made = mkdir(path, 0700) == 0;
    snprintf(path, sizeof path, "%s/xx_XX/LC_NUMERIC", folder);
    made = made && copy_with_commas(path) && is_set("xx_XX");
    folder_drop(folder);
    return made;
}

void comma_begin(void) {
    if (!is_set("de_DE.UTF-8") && !is_set("fr_FR.UTF-8") && !make())
        cr_skip_test("this system has no locale with a decimal comma");
}
