/* base/structs.c - copies public structs, which begin with their size, from and to callers. */
#include "base/structs.h"

#include "base/error.h"

#include <stdint.h>
#include <string.h>

static uint32_t size_of(const void *given) {
    uint32_t size;
    memcpy(&size, given, sizeof size);
    return size;
}

static tsr_status check_size(const char *name, const void *given) {
    const uint32_t size = size_of(given);
    if (size < sizeof size)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%s.struct_size is %u: set it to sizeof(%s) before the call", name,
                              size, name);
    return TSR_OK;
}

/* TSR_E_UNSUPPORTED where a byte beyond those that this build knows is not zero. */
static tsr_status check_struct(const char *name, const void *given, size_t known) {
    const uint32_t size = size_of(given);
    TRY(check_size(name, given));
    for (size_t i = known; i < size; i++)
        if (((const unsigned char *)given)[i])
            return tsri_base_fail(
                TSR_E_UNSUPPORTED,
                "%s: a newer field, at byte %zu, is set; this Tessera knows the first %zu bytes",
                name, i, known);
    return TSR_OK;
}

tsr_status tsri_base_adopt(const char *name, const void *given, void *out, size_t known) {
    memset(out, 0, known);
    if (!given)
        return TSR_OK;
    TRY(check_struct(name, given, known));
    const uint32_t size = size_of(given);
    memcpy(out, given, size < known ? size : known);
    return TSR_OK;
}

tsr_status tsri_base_need(const char *function, const char *name, bool given) {
    return given ? TSR_OK : tsri_base_fail(TSR_E_ARGUMENT, "%s: %s is NULL", function, name);
}

tsr_status tsri_base_check_out(const char *name, const void *out) {
    return out ? check_size(name, out) : TSR_OK;
}

void tsri_base_give(const void *ours, size_t known, void *out) {
    if (!out)
        return;
    const uint32_t size = size_of(out);
    memcpy(out, ours, size < known ? size : known);
    if (size > known)
        memset((char *)out + known, 0, size - known);
    memcpy(out, &size, sizeof size);
}
