/* base/structs.c - public structs that begin with their size are copied from their callers. */
#include "base/structs.h"

#include "base/error.h"

#include <stdint.h>
#include <string.h>

/* TSR_E_UNSUPPORTED where a byte past those that this build knows is not zero. */
static tsr_status check_struct(const char *name, const void *given, size_t known) {
    uint32_t size;
    memcpy(&size, given, sizeof size);
    if (size < sizeof size)
        return tsri_base_fail(TSR_E_ARGUMENT, "%s.struct_size is %u: set it to sizeof(%s)", name,
                              size, name);
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
    uint32_t size;
    memcpy(&size, given, sizeof size);
    memcpy(out, given, size < known ? size : known);
    return TSR_OK;
}
