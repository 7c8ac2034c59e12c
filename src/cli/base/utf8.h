/* cli/base/utf8.h - finds where a text stops being UTF-8. */
#ifndef TESSERA_CLI_BASE_UTF8_H
#define TESSERA_CLI_BASE_UTF8_H

#include <stddef.h>

/* Returns the position of the first byte that is not part of a UTF-8 character, or n if there is
 * none. */
size_t tsri_cli_utf8_until(const char *text, size_t n);

#endif
