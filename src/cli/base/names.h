/* cli/base/names.h - the names of an option or the words of a value, in one string: "a|b|c". */
#ifndef TESSERA_CLI_BASE_NAMES_H
#define TESSERA_CLI_BASE_NAMES_H

#include <stdbool.h>

enum { CLI_NAME_ROOM = 64 }; /* of one name, with its 0 */

/* Copies the first of the names at *at, and moves *at behind it. False: nothing is left. */
bool tsri_cli_next_name(const char **at, char name[CLI_NAME_ROOM]);

#endif
