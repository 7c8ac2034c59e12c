/* Plugins that can't be used, and the message that refuses each. */
#include "backend/host.h"
#include "backend/plugins.h"
#include "tessera/device.h"
#include "tessera/ranks.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(load, .init = plugins_begin, .fini = plugins_end);

static tsr_status open_with(const char *path, tsri_backend_set **set) {
    const tsri_backend_options options = {.plugins = &path, .n_plugins = path ? 1 : 0};
    return tsri_backend_set_open(&options, set);
}

static bool noted(const tsri_backend_set *set, const char *fragment) {
    for (size_t i = 0; i < tsri_backend_note_count(set); i++)
        if (strstr(tsri_backend_note(set, i), fragment))
            return true;
    return false;
}

Test(load, a_wrong_plugin_is_refused_with_a_sentence) {
    static const struct {
        const char *macros, *fragment;
    } table[] = {
        {"-DNO_SYMBOL", "no symbol tsr_backend_get"},
        {"-DNO_TABLE", "does not support backend ABI 0.1"},
        {"-DABI='(7u<<16|2)'", "built for backend ABI 7.2; this Tessera loads 0.x"},
        {"-DSIZE=4", "table has 4 bytes; at least"},
        {"-DSIZE=64", "table has 64 bytes; ABI 0.1 needs at least"},
        {"-DDROP=plan_run", "entry \"plan_run\" is NULL"},
        {"-DDROP=event_destroy", "entry \"event_destroy\" is NULL"},
        {"-DDROP=name", "the backend has no name"},
        {"-DNAME='\"Two Words\"'", "\"Two Words\" is not one lower-case word"},
        {"-DNAME='\"reference\"'",
         "a backend named \"reference\" came first, from the library itself"},
        {"-DOPEN_FAILS", "backend \"fake\" does not start: the fake driver is on holiday"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tsri_backend_set *set = NULL;
        const char *path = plugins_make("wrong.so", table[i].macros);
        cr_expect_neq(open_with(path, &set), TSR_OK, "%s", table[i].macros);
        cr_expect_null(set);
        cr_expect(strstr(tsr_error_last(), table[i].fragment), "%s: \"%s\"", table[i].macros,
                  tsr_error_last());
        cr_expect(strstr(tsr_error_last(), "wrong.so"), "the path is named: \"%s\"",
                  tsr_error_last());

        /* when it is found by search, the same is a note, and the host starts */
        setenv("TESSERA_BACKEND_PATH", plugins_folder(), 1);
        cr_assert_eq(open_with(NULL, &set), TSR_OK);
        cr_expect(noted(set, table[i].fragment), "%s", table[i].macros);
        tsri_backend_set_close(&set);
        unsetenv("TESSERA_BACKEND_PATH");
        remove(path);
    }
}

Test(load, a_table_that_ends_before_its_extension_has_none) {
    tsri_backend_set *set = NULL;
    const char *path = plugins_make("short.so", "-DSIZE='offsetof(tsr_backend, extension)' -DWILD");
    cr_assert_eq(open_with(path, &set), TSR_OK, "%s", tsr_error_last());
    size_t fakes = 0;
    for (size_t i = 0; i < tsri_backend_count(set); i++)
        if (strcmp(tsri_backend_at(set, i)->backend->name, "fake") == 0) {
            cr_expect_null(tsri_backend_extension(set, i, "tsr.notes/1"));
            fakes++;
        }
    cr_expect_gt(fakes, 0);
    tsri_backend_set_close(&set);
}

Test(load, what_succeeds_leaves_the_sentence_of_the_last_failure) {
    static const char sentence[] = "/nowhere/at-all.so: can't find a backend there";
    char transports[4200];
    tsri_backend_set *set = NULL;
    tsr_ranks *ranks = NULL;
    plugins_make("wrong.so", "-DOPEN_FAILS");
    cr_assert_eq(open_with("/nowhere/at-all.so", &set), TSR_E_IO);
    setenv("TESSERA_BACKEND_PATH", plugins_folder(), 1);
    cr_assert_eq(open_with(NULL, &set), TSR_OK);
    cr_expect(noted(set, "the fake driver is on holiday"));
    cr_expect(strstr(tsr_error_last(), sentence), "\"%s\"", tsr_error_last());
    tsri_backend_set_close(&set);

    snprintf(transports, sizeof transports, "%s/tests/ranks", getenv("TESSERA_BUILD"));
    setenv("TESSERA_TRANSPORT_PATH", transports, 1);
    cr_assert_eq(tsr_ranks_open(&(tsr_ranks_options){.struct_size = sizeof(tsr_ranks_options),
                                                     .transport = "twin"},
                                &ranks),
                 TSR_OK, "%s", tsr_error_last());
    cr_expect(strstr(tsr_error_last(), sentence), "\"%s\"", tsr_error_last());
    tsr_ranks_close(&ranks);
}

Test(load, a_file_that_is_no_library_is_refused) {
    tsri_backend_set *set = NULL;
    char path[4200];
    cr_expect_eq(open_with("/nowhere/at-all.so", &set), TSR_E_IO);
    cr_expect(strstr(tsr_error_last(), "/nowhere/at-all.so: can't find a backend there"));
    snprintf(path, sizeof path, "%s/text.so", plugins_folder());
    FILE *file = fopen(path, "w");
    fputs("hello\n", file);
    fclose(file);
    cr_expect_eq(open_with(path, &set), TSR_E_UNSUPPORTED);
    cr_expect(strstr(tsr_error_last(), "text.so: it can't be loaded"), "%s", tsr_error_last());
}

Test(load, a_missing_libOpenCL_is_named_with_its_package) {
    char command[9000], path[4200];
    tsri_backend_set *set = NULL;
    /* a library that needs libOpenCL-absent.so.1, which is gone when it is loaded */
    snprintf(command, sizeof command,
             "cd '%s' && echo 'int x(void){return 1;}' > x.c && ${CC:-cc} -shared -fPIC -o "
             "libOpenCL-absent.so.1 -Wl,-soname,libOpenCL-absent.so.1 x.c && "
             "echo 'int x(void); int y(void){return x();}' > y.c && ${CC:-cc} -shared -fPIC -o "
             "needs.so y.c ./libOpenCL-absent.so.1 && rm libOpenCL-absent.so.1",
             plugins_folder());
    cr_assert_eq(system(command), 0);
    snprintf(path, sizeof path, "%s/needs.so", plugins_folder());
    cr_expect_eq(open_with(path, &set), TSR_E_UNSUPPORTED);
    cr_expect(strstr(tsr_error_last(), "ocl-icd-libopencl1"), "%s", tsr_error_last());
    setenv("TESSERA_BACKEND_PATH", plugins_folder(), 1);
    cr_assert_eq(open_with(NULL, &set), TSR_OK, "the host starts without the plugin");
    cr_expect(noted(set, "ocl-icd-libopencl1"));
    tsri_backend_set_close(&set);
}

Test(load, of_two_with_one_name_the_first_wins) {
    tsri_backend_set *set = NULL;
    const char *first = plugins_make("a.so", "");
    plugins_make("b.so", "");
    setenv("TESSERA_BACKEND_PATH", plugins_folder(), 1);
    cr_assert_eq(open_with(first, &set), TSR_OK);
    cr_expect(noted(set, "b.so: skipped: a backend named \"fake\" came first"));
    cr_expect(!noted(set, "a.so: skipped"),
              "a file that is found twice does not clash with itself");
    tsri_backend_set_close(&set);
}

Test(load, a_folder_that_is_named_twice_is_searched_once) {
    tsri_backend_set *set = NULL;
    char folders[9000];
    size_t notes = 0;
    plugins_make("wrong.so", "-DOPEN_FAILS");
    snprintf(folders, sizeof folders, "%s:%s/../%s", plugins_folder(), plugins_folder(),
             strrchr(plugins_folder(), '/') + 1);
    setenv("TESSERA_BACKEND_PATH", folders, 1);
    cr_assert_eq(open_with(NULL, &set), TSR_OK);
    for (size_t i = 0; i < tsri_backend_note_count(set); i++)
        notes += strstr(tsri_backend_note(set, i), "the fake driver is on holiday") != NULL;
    cr_expect_eq(notes, 1);
    tsri_backend_set_close(&set);
}

Test(load, the_current_folder_is_never_searched) {
    tsri_backend_set *set = NULL;
    plugins_make("here.so", "");
    cr_assert_eq(chdir(plugins_folder()), 0);
    setenv("TESSERA_BACKEND_PATH", ":.:", 1);
    cr_assert_eq(open_with(NULL, &set), TSR_OK);
    for (size_t i = 0; i < tsri_backend_count(set); i++)
        cr_expect_neq(strcmp(tsri_backend_at(set, i)->backend->name, "fake"), 0);
    cr_expect(noted(set, "TESSERA_BACKEND_PATH: \".\" is skipped: it is not an absolute path"));
    tsri_backend_set_close(&set);
}

Test(load, backends_get_a_cache_folder_that_exists) {
    tsri_backend_set *set = NULL;
    char cache[4200], blocked[4300], fragment[4300];
    const char *path = plugins_make("a.so", "");
    snprintf(cache, sizeof cache, "%s/deep/cache", plugins_folder());
    setenv("TESSERA_CACHE", cache, 1);
    cr_assert_eq(open_with(path, &set), TSR_OK);
    snprintf(fragment, sizeof fragment, "cache: %s", cache);
    cr_expect(noted(set, fragment), "the host passes the cache folder on");
    struct stat facts;
    cr_expect(stat(cache, &facts) == 0 && S_ISDIR(facts.st_mode));
    tsri_backend_set_close(&set);

    snprintf(blocked, sizeof blocked, "%s/a.so/cache", plugins_folder());
    setenv("TESSERA_CACHE", blocked, 1);
    cr_assert_eq(open_with(path, &set), TSR_OK, "a host without a cache folder starts");
    cr_expect(noted(set, "no cache folder: "));
    cr_expect(noted(set, "cache: none"));
    tsri_backend_set_close(&set);
}

Test(load, a_newer_field_of_the_options_is_refused) {
    struct {
        tsr_engine_options options;
        uint64_t newer;
    } wide = {.options.struct_size = sizeof wide};
    tsr_engine *engine = NULL;
    cr_assert_eq(tsr_engine_create(&wide.options, &engine), TSR_OK,
                 "a longer struct of zeros is fine: %s", tsr_error_last());
    tsr_engine_destroy(&engine);
    wide.newer = 1;
    cr_assert_eq(tsr_engine_create(&wide.options, &engine), TSR_E_UNSUPPORTED);
    cr_expect(strstr(tsr_error_last(), "newer field"));
}
