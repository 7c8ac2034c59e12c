/* text/base/byte_level.h - GPT-2's alphabet: each byte as one printable character, so that a
 * vocabulary of text holds bytes. */
#ifndef TSRI_TEXT_BASE_BYTE_LEVEL_H
#define TSRI_TEXT_BASE_BYTE_LEVEL_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

/* Appends a character for each byte. */
tsr_status tsri_text_bytes_to_characters(const char *bytes, size_t n, tsri_bytes *out);
/* Appends the byte of each character; a text that has a character outside the alphabet is appended
 * unchanged. */
tsr_status tsri_text_characters_to_bytes(const char *text, size_t n, tsri_bytes *out);

#endif
