/* A program whose locale has a decimal comma gets the settings, reports and prompts of any other. */
#include "base/bytes.h"
#include "support/comma.h"
#include "task/bench/conditions.h"
#include "tessera/results.h"
#include "tessera/tessera.h"
#include "text/jinja/jinja.h"
#include "train/recipe/settings.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_setting(const tsri_train_settings *s, const char *name, const char *wanted) {
    char text[64];
    const tsri_train_key *key = tsri_train_key_find(tsri_train_settings_keys(), name);
    cr_assert_not_null(key, "%s", name);
    tsri_train_key_text(key, s, text, sizeof text);
    cr_expect_str_eq(text, wanted, "%s", name);
}

Test(decimal_comma, settings) {
    tsri_train_settings s;
    comma_begin();
    memset(&s, 0, sizeof s);
    tsri_train_key_defaults(tsri_train_settings_keys(), &s);
    cr_expect(s.adam_beta1 == 0.9 && s.adam_beta2 == 0.999 && s.mlm_probability == 0.15, "%g %g %g",
              s.adam_beta1, s.adam_beta2, s.mlm_probability);
    const tsri_train_key *rate = tsri_train_key_find(tsri_train_settings_keys(), "learning_rate");
    cr_expect_eq(tsri_train_key_set(rate, &s, "0.00125"), TSR_OK, "%s", tsr_error_last());
    cr_expect_eq(tsri_train_key_set(rate, &s, "0,5"), TSR_E_ARGUMENT);
    expect_setting(&s, "learning_rate", "0.00125");
    expect_setting(&s, "adam_beta2", "0.999");
    json_t *from_recipe = json_pack("{s:f}", "weight_decay", 0.0625);
    cr_expect_eq(tsri_train_key_set_object(tsri_train_settings_keys(), &s, from_recipe, "x"),
                 TSR_OK, "%s", tsr_error_last());
    json_decref(from_recipe);
    expect_setting(&s, "weight_decay", "0.0625");
}

Test(decimal_comma, reports) {
    static const char *const formats[] = {"md", "csv", "html", "junit", "llama-bench", "badge"};
    enum { N = sizeof formats / sizeof *formats };
    char *before[N], *after;
    tsr_results *results;
    cr_assert_eq(tsr_results_open(TESSERA_SOURCE_DIR
                                  "/docs/results/epyc-zen4-2-cores-pocl-laptop.json",
                                  &results),
                 TSR_OK, "%s", tsr_error_last());
    const tsr_results *const one = results;
    for (int i = 0; i < N; i++)
        cr_assert_eq(tsr_results_report(&one, 1, formats[i], &before[i], NULL), TSR_OK);
    comma_begin();
    for (int i = 0; i < N; i++) {
        cr_assert_eq(tsr_results_report(&one, 1, formats[i], &after, NULL), TSR_OK);
        cr_expect(!strcmp(before[i], after), "%s", formats[i]);
        tsr_text_free(before[i]);
        tsr_text_free(after);
    }
    tsr_results_close(&results);
}

Test(decimal_comma, templates) {
    static const char template[] = "{{ 0.5 }} {{ '2.75'|float }} {{ 1.26|round(1) }} "
                                   "{{ {'top_p': 0.95}|tojson }} {{ x }} {{ 1e22 }}";
    tsri_jinja *parsed = NULL;
    tsri_bytes text = {0}, said = {0};
    json_t *context = json_pack("{s:f}", "x", 1.5);
    comma_begin();
    cr_assert_eq(tsri_jinja_parse(template, strlen(template), &parsed), TSR_OK);
    cr_assert_eq(tsri_jinja_render(parsed, context, NULL, 1741348800, &text, &said), TSR_OK, "%s",
                 tsr_error_last());
    cr_expect_str_eq(text.data, "0.5 2.75 1.3 {\"top_p\": 0.95} 1.5 1e+22");
    tsri_base_bytes_clear(&text);
    tsri_base_bytes_clear(&said);
    tsri_jinja_destroy(&parsed);
    json_decref(context);
}

Test(decimal_comma, load) {
    comma_begin();
    const tsri_task_reading r = tsri_task_read_conditions("", true, 0);
    FILE *file = fopen("/proc/loadavg", "r");
    if (!file)
        cr_skip_test("this system has no /proc/loadavg");
    fclose(file);
    cr_expect(r.load >= 0 && r.load_minute >= 0, "%g %g", r.load, r.load_minute);
}
