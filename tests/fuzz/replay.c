/* The harnesses without libFuzzer:  fuzz_replay [--runs N] [--seconds S] TARGET FILE|FOLDER...
 *
 * Each input is run unchanged; then N of them with a few changes each, or as many as S seconds
 * allow. The current input is kept in fuzz_replay.input of the initial folder, so that it is still
 * there after a crash. */
#include "fuzz.h"

#include "base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_INPUTS = 1024, MOST = 1 << 16 };

static tsri_bytes inputs[MOST_INPUTS];
static size_t count;
static int kept;

static void add(const char *path) {
    if (tsri_base_is_folder(path)) {
        DIR *folder = opendir(path);
        for (const struct dirent *entry; folder && (entry = readdir(folder));)
            if (entry->d_name[0] != '.') {
                char *inner = tsri_base_join(path, entry->d_name);
                add(inner);
                free(inner);
            }
        if (folder)
            closedir(folder);
        return;
    }
    fuzz_must(count < MOST_INPUTS, "there are not too many inputs");
    fuzz_must(tsri_base_read_whole(path, MOST, &inputs[count++]) == TSR_OK, path);
}

static void run(const fuzz_target *target, const uint8_t *data, size_t n) {
    fuzz_must(kept < 0 ||
                  (pwrite(kept, data, n, 0) == (ssize_t)n && ftruncate(kept, (off_t)n) == 0),
              "a copy");
    fuzz_run(target, data, n);
}

static double cpu_seconds(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

int main(int argc, char **argv) {
    static uint8_t data[MOST];
    double seconds = 0;
    long runs = 0;
    int at = 1;
    for (; at + 1 < argc && !strncmp(argv[at], "--", 2); at += 2) {
        if (!strcmp(argv[at], "--runs"))
            runs = strtol(argv[at + 1], NULL, 10);
        else
            seconds = strtod(argv[at + 1], NULL);
    }
    if (at >= argc) {
        fprintf(stderr,
                "usage: fuzz_replay [--runs N] [--seconds S] TARGET FILE|FOLDER...\nTargets:\n");
        fuzz_begin(NULL);
        return 2;
    }
    for (int i = at + 1; i < argc; i++)
        add(argv[i]);
    fuzz_must(count > 0, "there is an input");
    const char *keep = getenv("FUZZ_KEEP"); /* the file that keeps the current input */
    kept = keep ? open(keep, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
    const fuzz_target *target = fuzz_begin(argv[at]);
    if (!target) {
        fprintf(stderr, "fuzz_replay: there is no target %s\n", argv[at]);
        return 2;
    }
    const double begun = cpu_seconds();
    for (size_t i = 0; i < count; i++)
        run(target, (const uint8_t *)inputs[i].data, inputs[i].size);
    long done = 0;
    for (; done < runs || cpu_seconds() - begun < seconds; done++) {
        const tsri_bytes *input = &inputs[(size_t)done % count];
        size_t n = input->size;
        memcpy(data, input->data, n);
        for (long k = 0; k <= done / (long)count % 5; k++)
            n = fuzz_change(data, n, MOST, (uint32_t)(done * 8 + k));
        run(target, data, n);
    }
    printf("%-22s %4zu inputs, %7ld changed ones, %6.2f s\n", target->name, count, done,
           cpu_seconds() - begun);
    return 0;
}
