/* tests/fuzz/fuzz.h - one harness for each format that comes from outside.
 *
 * A harness takes the bytes of one input. Several files or parts form one input, separated by lines
 * of "====". Where a length or a hash is checked first, the harness writes the value that fits the
 * rest of the input, so that the code after the check is reached.
 *
 * The same harnesses are run by libFuzzer (libfuzzer.c, clang) and by replay.c (any compiler). */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include "base/bytes.h"
#include "tessera/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fuzz_part {
    const char *data;
    size_t size;
} fuzz_part;

typedef struct fuzz_target {
    const char *name;
    void (*begin)(void); /* called once, in the folder that all runs share; may be NULL */
    void (*run)(const fuzz_part *parts, size_t n);
    size_t parts; /* at most this many; 1: the input is never split */
} fuzz_target;

extern const fuzz_target fuzz_targets[];
extern const size_t fuzz_target_count;

/* Makes a new folder the current one and begins the target. NULL: there is no target of that name;
 * the names are printed. The folder is removed when the process ends. */
const fuzz_target *fuzz_begin(const char *name);
void fuzz_run(const fuzz_target *target, const uint8_t *data, size_t n);
/* Changes data[0 .. n) once more, to `most` bytes at most; returns the new size. The elements of
 * text formats - numbers, texts, brackets, parts - are exchanged as a whole. */
size_t fuzz_change(uint8_t *data, size_t n, size_t most, uint32_t seed);

/* ---- for harnesses ---- */

/* Ends the process unless the call succeeded or failed as calls must: with its own message, which
 * is safe on a terminal, and without TSR_E_INTERNAL or TSR_E_HOST_MEMORY, which a few KB never
 * justify. */
bool fuzz_is_ok(tsr_status status);
void fuzz_must(bool holds, const char *what);
void fuzz_write(const char *path, const void *data, size_t n);
void fuzz_write_part(const char *path, const fuzz_part *parts, size_t n,
                     size_t index); /* or none */
/* A copy of a file of tests/golden. */
void fuzz_copy_golden(const char *golden, const char *path);
/* Two parts, a header and its data, become a safetensors file with the right length, and with as
 * much data as the header says, up to 64 KiB. One part is the file itself. */
void fuzz_write_safetensors(const char *path, const fuzz_part *parts, size_t n);

/* Each list is in its own file. */
extern const fuzz_target fuzz_io_targets[], fuzz_text_targets[], fuzz_model_targets[],
    fuzz_train_targets[], fuzz_results_targets[], fuzz_opencl_targets[], fuzz_serve_targets[];

#endif
