/* Values of --device, on nine devices that do nothing (plugins/fake.c) and the reference. */
#include "backend/opened.h"
#include "backend/plugins.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static tsr_engine *engine;
static char last_line[256];

static void keep_line(void *data, tsr_log_level level, const char *line) {
    (void)data, (void)level;
    strncpy(last_line, line, sizeof last_line - 1);
}

static void begin(void) {
    plugins_begin();
    const char *path = plugins_make("fake.so", "");
    const tsr_engine_options options = {
        .struct_size = sizeof options, .n_backends = 1, .backends = &path, .log = keep_line};
    cr_assert_eq(tsr_engine_create(&options, &engine), TSR_OK, "%s", tsr_error_last());
}

static void end(void) {
    tsr_engine_destroy(&engine);
    plugins_end();
}

TestSuite(select, .init = begin, .fini = end);

Test(select, devices_are_listed_best_first_and_the_reference_last) {
    static const char *const want[] = {
        "Small GPU Ti", "Small GPU",  "Plain CPU",      "Twin",        "Twin",
        "pthread-fake", "basic-fake", "Board emulator", "Broken card", "reference"};
    cr_assert_eq(tsr_device_count(engine), sizeof want / sizeof *want);
    for (size_t i = 0; i < tsr_device_count(engine); i++) {
        tsr_device_info info = {.struct_size = sizeof info};
        cr_assert_eq(tsr_device_info_get(engine, i, &info), TSR_OK);
        cr_expect_str_eq(info.facts.name, want[i]);
        cr_expect_eq(info.is_default, i == 0);
        cr_expect_not_null(info.facts.reason, "texts are never NULL");
    }
    tsr_device_info info = {.struct_size = sizeof info};
    cr_expect_eq(tsr_device_info_get(engine, tsr_device_count(engine), &info), TSR_E_ARGUMENT);
}

Test(select, of_devices_of_one_score_the_first_is_the_default) {
    const char *path = plugins_make("equal.so", "-DFIRST_SCORE=4000");
    const tsr_engine_options options = {
        .struct_size = sizeof options, .n_backends = 1, .backends = &path, .log = keep_line};
    tsr_engine *equal;
    cr_assert_eq(tsr_engine_create(&options, &equal), TSR_OK, "%s", tsr_error_last());
    for (size_t i = 0; i < tsr_device_count(equal); i++) {
        tsr_device_info info = {.struct_size = sizeof info};
        cr_assert_eq(tsr_device_info_get(equal, i, &info), TSR_OK);
        cr_expect(i > 1 || info.facts.score == 4000);
        cr_expect_eq(info.is_default, i == 0);
    }
    tsr_engine_destroy(&equal);
}

Test(select, a_selector_names_one_device) {
    static const struct {
        const char *selector, *device;
    } table[] = {
        {NULL, "Small GPU Ti"},
        {"", "Small GPU Ti"},
        {"gpu", "Small GPU Ti"},
        {"GPU", "Small GPU Ti"},
        {"cpu", "Plain CPU"},
        {"accelerator", "Board emulator"},
        {"fake", "Small GPU Ti"},
        {"reference", "reference"},
        {"2", "Plain CPU"},
        {"Small GPU", "Small GPU"}, /* a whole name is preferred to part of another */
        {"small gpu ti", "Small GPU Ti"},
        {"plain", "Plain CPU"},
        {"fakeland/plain cpu", "Plain CPU"},
        {"pocl/pthread", "pthread-fake"},
        {"basic", "basic-fake"},
        {"portable computing language/basic", "basic-fake"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tsr_device *device = NULL;
        cr_assert_eq(tsr_device_open(engine, table[i].selector, NULL, &device), TSR_OK, "%s",
                     tsr_error_last());
        cr_expect_str_eq(tsri_backend_opened(device)->devices[0]->facts.name, table[i].device, "%s",
                         table[i].selector);
        tsr_device_close(&device);
        cr_expect_null(device);
    }
}

static void expect_turns(tsr_engine *of, const char *selector, const char *const devices[2]) {
    for (uint32_t turn = 0; turn < 4; turn++) {
        const tsr_device_open_options options = {.struct_size = sizeof options, .turn = turn};
        tsr_device *device = NULL;
        cr_assert_eq(tsr_device_open(of, selector, &options, &device), TSR_OK, "%s",
                     tsr_error_last());
        cr_expect_str_eq(tsri_backend_opened(device)->devices[0]->facts.name, devices[turn % 2],
                         "%s, turn %u", selector, turn);
        tsr_device_close(&device);
    }
}

/* Processes that share a machine take turns with the devices of the best one's driver, type and
 * score. */
Test(select, a_kind_of_device_has_turns) {
    static const struct {
        const char *selector;
        const char *devices[2];
    } table[] = {
        {NULL, {"Small GPU", "Small GPU Ti"}},
        {"gpu", {"Small GPU", "Small GPU Ti"}},
        {"fake", {"Small GPU", "Small GPU Ti"}},
        {"cpu", {"Plain CPU", "Plain CPU"}}, /* pocl's are another driver's */
        {"Small GPU Ti", {"Small GPU Ti", "Small GPU Ti"}},
        {"1", {"Small GPU Ti", "Small GPU Ti"}},
    };
    const char *path = plugins_make("two.so", "-DSECOND_SCORE=4000");
    const tsr_engine_options options = {
        .struct_size = sizeof options, .n_backends = 1, .backends = &path, .log = keep_line};
    tsr_engine *two;
    cr_assert_eq(tsr_engine_create(&options, &two), TSR_OK, "%s", tsr_error_last());
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        expect_turns(two, table[i].selector, table[i].devices);
    tsr_engine_destroy(&two);
}

/* A type or a backend that is given again is another device like its first one. */
Test(select, a_kind_that_is_given_twice_is_two_devices) {
    static const struct {
        const char *selector;
        uint32_t turn;
        size_t at[2];
    } table[] = {
        {"gpu,gpu", 0, {0, 1}}, {"gpu,gpu", 1, {1, 0}}, {"fake,gpu", 0, {0, 1}},
        {"0,gpu", 0, {0, 1}},   {"1,gpu", 0, {1, 0}},   {"gpu,cpu", 0, {0, 2}},
    };
    const char *path = plugins_make("two.so", "-DSECOND_SCORE=4000");
    const tsr_engine_options options = {
        .struct_size = sizeof options, .n_backends = 1, .backends = &path, .log = keep_line};
    tsr_engine *two;
    tsr_device *device = NULL;
    size_t at[2];
    cr_assert_eq(tsr_engine_create(&options, &two), TSR_OK, "%s", tsr_error_last());
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const tsr_device_open_options turn = {.struct_size = sizeof turn, .turn = table[i].turn};
        cr_assert_eq(tsr_device_open(two, table[i].selector, &turn, &device), TSR_OK, "%s",
                     tsr_error_last());
        cr_expect_eq(tsr_device_indices(device, at, 2), 2);
        cr_expect(at[0] == table[i].at[0] && at[1] == table[i].at[1], "%s, turn %u: %zu, %zu",
                  table[i].selector, table[i].turn, at[0], at[1]);
        tsr_device_close(&device);
    }
    tsr_engine_destroy(&two);
}

/* As a GPU that shares the processor's memory, beside one with its own. */
Test(select, a_worse_device_has_no_turn) {
    static const char *const only[2] = {"Small GPU Ti", "Small GPU Ti"};
    static const char *const selectors[] = {NULL, "gpu", "fake"};
    for (size_t i = 0; i < sizeof selectors / sizeof *selectors; i++)
        expect_turns(engine, selectors[i], only);
}

Test(select, what_fits_none_or_two_is_an_error_that_lists_them) {
    static const struct {
        const char *selector, *fragment, *absent;
    } table[] = {
        {"toaster", "fits none of these", "nothing is left out"},
        {"10", "is not one of these", "nothing is left out"},
        {"99999999999999999999", "is not one of these", "nothing is left out"},
        {"pocl", "fits more than one", "Plain CPU"},
        {"fakeland", "fits more than one", "pthread-fake"},
        {"twin", "fits more than one", "Plain CPU"},
        {"broken", "is not usable: its firmware is missing", "Plain CPU"},
        {"8", "is not usable: its firmware is missing", "Plain CPU"},
        {"gpu,", "give a device on both sides of each comma", "Plain CPU"},
        {",gpu", "give a device on both sides of each comma", "Plain CPU"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tsr_device *device = NULL;
        cr_expect_eq(tsr_device_open(engine, table[i].selector, NULL, &device), TSR_E_ARGUMENT,
                     "%s", table[i].selector);
        cr_expect_null(device);
        cr_expect(strstr(tsr_error_last(), table[i].fragment), "%s: %s", table[i].selector,
                  tsr_error_last());
        cr_expect(!strstr(tsr_error_last(), table[i].absent), "%s: %s", table[i].selector,
                  tsr_error_last());
    }
    tsr_device *device = NULL;
    cr_expect_eq(tsr_device_open(engine, "pocl", NULL, &device), TSR_E_ARGUMENT);
    cr_expect(strstr(tsr_error_last(), "\n  5  fake: Portable Computing Language/pthread-fake\n  6 "
                                       " fake: Portable Computing Language/basic-fake"),
              "%s", tsr_error_last());
}

Test(select, a_list_opens_several_in_order) {
    tsr_device *device = NULL;
    const tsr_device_open_options options = {
        .struct_size = sizeof options, .kernels = "matmul=plain", .profile = 1};
    cr_assert_eq(tsr_device_open(engine, "cpu,Small GPU,reference", &options, &device), TSR_OK,
                 "%s", tsr_error_last());
    const tsri_backend_opened_device *opened = tsri_backend_opened(device);
    cr_assert_eq(opened->n_devices, 3);
    cr_expect_str_eq(opened->devices[0]->facts.name, "Plain CPU");
    cr_expect_str_eq(opened->devices[2]->facts.name, "reference");
    cr_expect_str_eq(opened->kernels, "matmul=plain");
    cr_expect_neq(opened->kernels, options.kernels, "kept as a copy");
    cr_expect_str_eq(tsr_device_describe(device),
                     "Fakeland / Plain CPU (Fake 1.0, 4 compute units) + Fakeland / Small GPU "
                     "(Fake 1.0, 1 compute unit)"
                     " + Tessera / reference (C11, 1 compute unit)");
    tsr_device_close(&device);
}

Test(select, a_device_that_is_named_twice_is_warned_of) {
    static const char *const table[] = {"2,plain", "accelerator,accelerator",
                                        "reference,reference"};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tsr_device *device = NULL;
        *last_line = 0;
        cr_assert_eq(tsr_device_open(engine, table[i], NULL, &device), TSR_OK, "%s",
                     tsr_error_last());
        cr_expect_eq(tsri_backend_opened(device)->n_devices, 2);
        cr_expect(strstr(last_line, " was named more than once: "), "%s: %s", table[i], last_line);
        tsr_device_close(&device);
    }
}

Test(select, TESSERA_DEVICE_is_the_default_and_an_error_names_it) {
    tsr_device *device = NULL;
    setenv("TESSERA_DEVICE", "plain,basic", 1);
    cr_assert_eq(tsr_device_open(engine, NULL, NULL, &device), TSR_OK, "%s", tsr_error_last());
    cr_expect_eq(tsri_backend_opened(device)->n_devices, 2);
    tsr_device_close(&device);
    cr_assert_eq(tsr_device_open(engine, "gpu", NULL, &device), TSR_OK);
    cr_expect_str_eq(tsri_backend_opened(device)->devices[0]->facts.name, "Small GPU Ti",
                     "a selector is preferred to TESSERA_DEVICE");
    tsr_device_close(&device);
    setenv("TESSERA_DEVICE", "toaster", 1);
    cr_expect_eq(tsr_device_open(engine, NULL, NULL, &device), TSR_E_ARGUMENT);
    cr_expect(strstr(tsr_error_last(), "TESSERA_DEVICE: device \"toaster\""), "%s",
              tsr_error_last());
}

Test(alone, the_reference_runs_where_nothing_else_does_and_says_so, .init = plugins_begin,
     .fini = plugins_end) {
    const tsr_engine_options options = {.struct_size = sizeof options, .log = keep_line};
    tsr_device *device = NULL;
    cr_assert_eq(tsr_engine_create(&options, &engine), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsr_device_open(engine, NULL, NULL, &device), TSR_OK, "%s", tsr_error_last());
    cr_expect_str_eq(tsri_backend_opened(device)->devices[0]->backend->name, "reference");
    cr_expect(strstr(last_line, "the slow reference runs"), "%s", last_line);
    tsr_device_close(&device);
    tsr_engine_destroy(&engine);
}
