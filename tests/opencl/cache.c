/* A damaged cache file is a miss with a warning, whichever byte is damaged. */
#include "backends/opencl/driver/cache.h"
#include "opencl/rig.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int warnings;

/* In place of the plugin's own function, which cache.c calls. */
void tsri_opencl_log(const tsr_state *state, tsr_log_level level, const char *format, ...) {
    (void)state, (void)format;
    warnings += level == TSR_LOG_WARNING;
}

static char folder[128], path[256];
static tsr_host host;
static tsr_state state;
static tsri_opencl_key key;
static const char payload[] = "device code";
enum { SIZE = 80 + sizeof payload };

static void begin(void) {
    snprintf(folder, sizeof folder, "%s/tessera-cache-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    cr_assert_not_null(mkdtemp(folder));
    host.cache_folder = folder;
    state.host = &host;
    for (int i = 0; i < 32; i++)
        key.digest[i] = (unsigned char)(i * 9);
    int n = snprintf(path, sizeof path, "%s/opencl/", folder);
    for (int i = 0; i < 32; i++)
        n += snprintf(path + n, sizeof path - (size_t)n, "%02x", key.digest[i]);
    snprintf(path + n, sizeof path - (size_t)n, ".bin");
    tsri_opencl_cache_save(&state, &key, "bin", payload, sizeof payload);
}

static void end(void) {
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(opencl_cache, .init = begin, .fini = end);

static bool found(void) {
    tsri_bytes bytes = {0};
    bool hit = false;
    cr_assert_eq(tsri_opencl_cache_load(&state, &key, "bin", &bytes, &hit), TSR_OK);
    if (hit)
        cr_expect(bytes.size == sizeof payload && !memcmp(bytes.data, payload, sizeof payload));
    tsri_base_bytes_clear(&bytes);
    return hit;
}

static void read_file(unsigned char *data) {
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    cr_assert_eq(fread(data, 1, SIZE, file), SIZE);
    cr_assert_eq(fgetc(file), EOF);
    fclose(file);
}

static void write_file(const unsigned char *data, size_t n) {
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(data, 1, n, file), n);
    fclose(file);
}

Test(opencl_cache, what_was_saved_is_found) {
    cr_expect(found());
    cr_expect_eq(warnings, 0);
    key.digest[5] ^= 1;
    cr_expect_not(found());
    cr_expect_eq(warnings, 0, "a miss gives no warning");
}

Test(opencl_cache, every_flipped_byte_is_seen) {
    unsigned char data[SIZE];
    read_file(data);
    for (size_t i = 0; i < SIZE; i++) {
        data[i] ^= 0x20;
        write_file(data, SIZE);
        warnings = 0;
        cr_expect_not(found(), "byte %zu", i);
        cr_expect_eq(warnings, 1, "byte %zu", i);
        data[i] ^= 0x20;
    }
    tsri_opencl_cache_save(&state, &key, "bin", payload, sizeof payload);
    cr_expect(found(), "it can be written again");
}

Test(opencl_cache, every_cut_is_seen) {
    unsigned char data[SIZE + 1] = {0};
    read_file(data);
    for (size_t n = 0; n < SIZE; n++) {
        write_file(data, n);
        cr_expect_not(found(), "%zu bytes", n);
    }
    write_file(data, SIZE + 1);
    cr_expect_not(found(), "a file with one byte too many");
}

Test(opencl_cache, a_cache_that_cannot_be_written_is_a_warning) {
    char file[200];
    snprintf(file, sizeof file, "%s/plain-file", folder);
    fclose(fopen(file, "w"));
    host.cache_folder = file;
    warnings = 0;
    tsri_opencl_cache_save(&state, &key, "bin", payload, sizeof payload);
    cr_expect_eq(warnings, 1);
    cr_expect_not(found());
}

/* Whether a start for which this variable is set (NULL: none) builds kernels. */
static bool builds_with(rig *r, const char *variable) {
    rig_linear linear;
    if (variable)
        setenv(variable, "1", 1);
    r->log[0] = 0;
    rig_open(r, "Portable Computing Language", false);
    cr_assert_eq(rig_linear_make(r, r->dev, NULL, &linear), TSR_OK, "%s", r->sentence);
    rig_linear_free(r, &linear);
    r->backend->device_close(r->dev);
    r->dev = NULL;
    if (variable)
        unsetenv(variable);
    return strstr(r->log, "building");
}

/* No driver reads CL_CONFIG_TESSERA_TEST; those that steer Intel's compilers begin like it. */
Test(opencl_cache, variables_that_may_steer_a_compiler_are_part_of_keys) {
    static const char *const others[] = {"POCL_MAX_PTHREAD_COUNT", "CL_CONFIG_CPU_TBB_NUM_WORKERS",
                                         "CUDA_VISIBLE_DEVICES", "LD_TESSERA_TEST"};
    static const char steering[] = "CL_CONFIG_TESSERA_TEST";
    rig r;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        unsetenv(others[i]);
    rig_begin(&r, NULL, NULL);
    cr_expect(builds_with(&r, NULL));
    cr_expect(builds_with(&r, steering), "kernels of another compiler's settings were used");
    cr_expect_not(builds_with(&r, steering));
    cr_expect_not(builds_with(&r, NULL));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        cr_expect_not(builds_with(&r, others[i]), "%s", others[i]);
    rig_end(&r);
}

/* Cuts every file of a rig's cache in half. */
static int halve_all(const rig *r) {
    char name[160], file[600];
    int n = 0;
    snprintf(name, sizeof name, "%s/opencl", r->cache);
    DIR *dir = opendir(name);
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.') {
            snprintf(file, sizeof file, "%s/%s", name, entry->d_name);
            cr_assert_eq(truncate(file, 40), 0);
            n++;
        }
    if (dir)
        closedir(dir);
    return n;
}

Test(opencl_cache, a_run_survives_damaged_files) {
    rig r;
    rig_linear linear;
    rig_begin(&r, NULL, NULL);
    rig_open(&r, "Portable Computing Language", false);
    cr_assert_eq(rig_linear_make(&r, r.dev, NULL, &linear), TSR_OK, "%s", r.sentence);
    cr_expect(strstr(r.log, "building"), "%s", r.log);
    rig_linear_free(&r, &linear);
    r.backend->device_close(r.dev);
    cr_expect_gt(halve_all(&r), 0);
    for (int again = 0; again < 2; again++) {
        r.log[0] = 0;
        rig_open(&r, "Portable Computing Language", false);
        cr_assert_eq(rig_linear_make(&r, r.dev, NULL, &linear), TSR_OK, "%s", r.sentence);
        cr_assert_eq(rig_linear_run(&r, r.dev, &linear), TSR_OK, "%s", r.sentence);
        cr_expect_eq(rig_linear_error(&linear), 0.0);
        cr_expect_eq(strstr(r.log, "is damaged") != NULL, again == 0, "%s", r.log);
        cr_expect_eq(strstr(r.log, "building") != NULL, again == 0, "%s", r.log);
        rig_linear_free(&r, &linear);
        if (!again)
            r.backend->device_close(r.dev);
    }
    rig_end(&r);
}
