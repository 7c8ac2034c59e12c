/* base/numbers.c - fractions with a decimal point, whatever locale the program has set. */
#include "base/numbers.h"

#include "base/system/system.h"

double tsri_base_read_number(const char *text, char **end) {
    return tsri_system_read_number(text, end);
}

int tsri_base_print(char *out, size_t room, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int n = tsri_system_print(out, room, format, args);
    va_end(args);
    return n;
}
