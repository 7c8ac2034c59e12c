/* SHA-256 by the examples of its standard; keys of hashed texts. */
#include "base/hash.h"

#include <criterion/criterion.h>

Test(base, sha256_is_the_standards) {
    tsri_hash *hash = NULL;
    unsigned char digest[32];
    char text[65];
    cr_assert_eq(tsri_base_hash_begin(&hash), TSR_OK);
    tsri_base_hash_add(hash, "abc", 3);
    tsri_base_hash_end(&hash, digest);
    tsri_base_hash_hex(digest, text);
    cr_assert_null(hash);
    cr_assert_str_eq(
        text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"); /* FIPS 180-4 */
}

static void digest_of(const char *first, const char *second, unsigned char digest[32]) {
    tsri_hash *hash = NULL;
    cr_assert_eq(tsri_base_hash_begin(&hash), TSR_OK);
    tsri_base_hash_text(hash, first);
    tsri_base_hash_text(hash, second);
    tsri_base_hash_end(&hash, digest);
}

Test(base, hashed_texts_keep_their_bounds) {
    unsigned char a[32], b[32];
    digest_of("ab", "c", a);
    digest_of("a", "bc", b);
    cr_assert_arr_neq(a, b, 32);
}
