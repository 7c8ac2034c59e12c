/* base/system/posix/sha256.c - SHA-256, by OpenSSL's libcrypto. */
#include "base/system/system.h"

#include <assert.h>
#include <openssl/evp.h>

void *tsri_system_sha256_begin(void) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (context && EVP_DigestInit_ex(context, EVP_sha256(), NULL))
        return context;
    EVP_MD_CTX_free(context);
    return NULL;
}

void tsri_system_sha256_add(void *hash, const void *data, size_t n) {
    const int done = EVP_DigestUpdate(hash, data, n); /* SHA-256 in memory cannot fail */
    assert(done == 1);
    (void)done;
}

void tsri_system_sha256_end(void *hash, unsigned char digest[32]) {
    const int done = EVP_DigestFinal_ex(hash, digest, NULL);
    assert(done == 1);
    (void)done;
    EVP_MD_CTX_free(hash);
}
