/* The harnesses under libFuzzer:  fuzz_guided TARGET [libFuzzer's options] CORPUS */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

static const fuzz_target *target;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t most);

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    target = *argc > 1 ? fuzz_begin((*argv)[1]) : NULL;
    if (!target) {
        fprintf(stderr, "usage: fuzz_guided TARGET [libFuzzer's options] CORPUS\nTargets:\n");
        fuzz_begin(NULL);
        exit(2);
    }
    (*argv)[1] = (*argv)[0]; /* libFuzzer sees the rest */
    ++*argv;
    --*argc;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    fuzz_run(target, data, n);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed) {
    return seed % 2 ? fuzz_change(data, n, most, seed) : LLVMFuzzerMutate(data, n, most);
}
