/* cli/base/names.c - walks over the names in a string. */
#include "cli/base/names.h"

#include <stdio.h>
#include <string.h>

bool tsri_cli_next_name(const char **at, char name[CLI_NAME_ROOM]) {
    const size_t n = strcspn(*at, "|");
    if (!n)
        return false;
    snprintf(name, CLI_NAME_ROOM, "%.*s", (int)n, *at);
    *at += n + ((*at)[n] == '|');
    return true;
}
