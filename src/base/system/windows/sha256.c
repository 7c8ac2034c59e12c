/* base/system/windows/sha256.c - SHA-256, by Windows's own cryptography (CNG). */
#include "base/system/system.h"

#include <windows.h>

#include <bcrypt.h>

void *tsri_system_sha256_begin(void) {
    BCRYPT_ALG_HANDLE algorithm;
    BCRYPT_HASH_HANDLE hash = NULL;
    if (BCryptOpenAlgorithmProvider(&algorithm, BCRYPT_SHA256_ALGORITHM, NULL, 0) < 0)
        return NULL;
    if (BCryptCreateHash(algorithm, &hash, NULL, 0, NULL, 0, 0) < 0)
        hash = NULL;
    BCryptCloseAlgorithmProvider(algorithm, 0);
    return hash;
}

void tsri_system_sha256_add(void *hash, const void *data, size_t n) {
    enum { MOST = 1 << 30 };
    const unsigned char *at = data;
    for (size_t part; n > 0; at += part, n -= part) {
        part = n < MOST ? n : MOST;
        BCryptHashData(hash, (unsigned char *)at, (ULONG)part, 0); /* in memory, it cannot fail */
    }
}

void tsri_system_sha256_end(void *hash, unsigned char digest[32]) {
    BCryptFinishHash(hash, digest, 32, 0);
    BCryptDestroyHash(hash);
}
