/* Which devices of the list were opened, where names are parts of others, or the same. */
#include "backend/plugins.h"
#include "tessera/device.h"

#include <criterion/criterion.h>
#include <stdio.h>

static tsr_engine *engine;

static void begin(void) {
    plugins_begin();
    const char *path = plugins_make("fake.so", "");
    const tsr_engine_options options = {
        .struct_size = sizeof options, .n_backends = 1, .backends = &path};
    cr_assert_eq(tsr_engine_create(&options, &engine), TSR_OK, "%s", tsr_error_last());
}

static void end(void) {
    tsr_engine_destroy(&engine);
    plugins_end();
}

TestSuite(indices, .init = begin, .fini = end);

/* The numbers in the list of the devices that a selector opens. */
static size_t opened(const char *selector, size_t indices[2]) {
    tsr_device *device = NULL;
    cr_assert_eq(tsr_device_open(engine, selector, NULL, &device), TSR_OK, "%s: %s", selector,
                 tsr_error_last());
    const size_t n = tsr_device_indices(device, indices, 2);
    cr_expect_eq(tsr_device_indices(device, NULL, 0), n);
    tsr_device_close(&device);
    return n;
}

Test(indices, are_those_of_the_list) {
    size_t at[2];
    for (size_t i = 0; i < tsr_device_count(engine); i++) {
        tsr_device_info info = {.struct_size = sizeof info};
        info.facts.struct_size = sizeof info.facts;
        char number[24];
        cr_assert_eq(tsr_device_info_get(engine, i, &info), TSR_OK);
        snprintf(number, sizeof number, "%zu", i);
        if (info.facts.usable)
            cr_expect(opened(number, at) == 1 && at[0] == i, "%s: %zu", info.facts.name, at[0]);
    }
    cr_expect(opened("Small GPU", at) == 1 && at[0] == 1,
              "the one before has this name in its own");
}

Test(indices, of_several_are_in_the_order_of_the_selector) {
    size_t at[2] = {0}, first;
    tsr_device *device = NULL;
    cr_expect(opened("4,3", at) == 2 && at[0] == 4 && at[1] == 3, "%zu, %zu", at[0], at[1]);
    cr_assert_eq(tsr_device_open(engine, "1,0", NULL, &device), TSR_OK);
    cr_expect_eq(tsr_device_indices(device, &first, 1), 2, "how many there are");
    cr_expect_eq(first, 1);
    tsr_device_close(&device);
}
