/* base/hash.h - SHA-256 (libcrypto). */
#ifndef TSRI_BASE_HASH_H
#define TSRI_BASE_HASH_H

#include "tessera/status.h"

#include <stddef.h>

typedef struct tsri_hash tsri_hash;
tsr_status tsri_base_hash_begin(tsri_hash **out);
void tsri_base_hash_add(tsri_hash *hash, const void *data, size_t n);
void tsri_base_hash_text(tsri_hash *hash,
                         const char *text); /* with its length, so "ab", "c" and "a", "bc" differ */
void tsri_base_hash_end(tsri_hash **hash, unsigned char digest[32]); /* frees */
void tsri_base_hash_hex(const unsigned char digest[32], char text[65]);
/* Both: ends the hash, and writes it in hex. */
void tsri_base_hash_end_hex(tsri_hash **hash, char text[65]);
/* All of it at once: the hash of n bytes, as text. */
tsr_status tsri_base_hash_bytes(const void *data, size_t n, char hex[65]);

#endif
