/* base/system/posix/converter.c - encodings of texts, by iconv. */
#include "base/system/system.h"

#include <iconv.h>

/* A converter is iconv's own handle, which is a pointer everywhere. */
tsri_system_converter *tsri_system_converter_open(const char *encoding) {
    const iconv_t state = iconv_open("UTF-8", encoding);
    return state == (iconv_t)-1 ? NULL : (tsri_system_converter *)state;
}

int tsri_system_convert(tsri_system_converter *converter, char **from, size_t *n, char **out,
                        size_t *room) {
    return iconv((iconv_t)converter, from, n, out, room) == (size_t)-1 ? -1 : 0;
}

void tsri_system_converter_close(tsri_system_converter *converter) {
    if (converter)
        iconv_close((iconv_t)converter);
}
