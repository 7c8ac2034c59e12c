/* The names of signals, by which a crash of a driver is told. */
#include "base/system/system.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

Test(base, signals_have_names) {
    static const struct {
        int number;
        const char *name;
    } rows[] = {{SIGINT, "INT"},   {SIGTERM, "TERM"}, {SIGSEGV, "SEGV"}, {SIGBUS, "BUS"},
                {SIGABRT, "ABRT"}, {SIGILL, "ILL"},   {SIGFPE, "FPE"},   {SIGKILL, "KILL"},
                {SIGXCPU, "XCPU"}, {0, "?"},          {-1, "?"},         {1000, "?"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_assert_str_eq(tsri_system_signal_name(rows[i].number), rows[i].name, "%d",
                         rows[i].number);
}
