/* base/hash.c - SHA-256 over bytes and texts. */
#include "base/hash.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/system/system.h"

#include <stdlib.h>
#include <string.h>

struct tsri_hash {
    void *state;
};

tsr_status tsri_base_hash_begin(tsri_hash **out) {
    tsri_hash *hash = NULL;
    TRY(tsri_base_new(1, sizeof *hash, &hash));
    hash->state = tsri_system_sha256_begin();
    if (!hash->state) {
        free(hash);
        return tsri_base_fail(TSR_E_HOST_MEMORY, "a SHA-256 could not be started");
    }
    *out = hash;
    return TSR_OK;
}

void tsri_base_hash_add(tsri_hash *hash, const void *data, size_t n) {
    tsri_system_sha256_add(hash->state, data, n);
}

void tsri_base_hash_text(tsri_hash *hash, const char *text) {
    const uint64_t n = strlen(text);
    tsri_base_hash_add(hash, &n, sizeof n);
    tsri_base_hash_add(hash, text, n);
}

void tsri_base_hash_end(tsri_hash **hash, unsigned char digest[32]) {
    tsri_system_sha256_end((*hash)->state, digest);
    free(*hash);
    *hash = NULL;
}

void tsri_base_hash_hex(const unsigned char digest[32], char text[65]) {
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 32; i++) {
        text[2 * i] = digits[digest[i] >> 4];
        text[2 * i + 1] = digits[digest[i] & 15];
    }
    text[64] = 0;
}

void tsri_base_hash_end_hex(tsri_hash **hash, char text[65]) {
    unsigned char digest[32];
    tsri_base_hash_end(hash, digest);
    tsri_base_hash_hex(digest, text);
}

tsr_status tsri_base_hash_bytes(const void *data, size_t n, char hex[65]) {
    tsri_hash *hash = NULL;
    TRY(tsri_base_hash_begin(&hash));
    tsri_base_hash_add(hash, data, n);
    tsri_base_hash_end_hex(&hash, hex);
    return TSR_OK;
}
