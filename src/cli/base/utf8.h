/* cli/base/utf8.h - where a text stops being UTF-8. */
#ifndef TESSERA_CLI_BASE_UTF8_H
#define TESSERA_CLI_BASE_UTF8_H

#include <stddef.h>

/* The place of the first byte that belongs to no UTF-8 character; n where there is none. */
size_t tsri_cli_utf8_until(const char *text, size_t n);

#endif
