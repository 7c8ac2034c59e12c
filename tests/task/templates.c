/* What each template's row writes, compared with Jinja's rendering of the family's form
 * (tests/golden/chat); and how template texts are recognised. */
#include "task/generate/templates.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())

static const char *text_at(const json_t *list, size_t i) {
    return json_string_value(json_array_get(list, i));
}

static void compare(const json_t *item) {
    const char *name = json_string_value(json_object_get(item, "template")),
               *want = json_string_value(json_object_get(item, "text"));
    const json_t *users = json_object_get(item, "users"),
                 *answers = json_object_get(item, "answers");
    const tsri_task_template *row = tsri_task_template_named(name);
    tsri_bytes got = {0};
    cr_assert(row && want, "%s", name);
    for (size_t i = 0; i < json_array_size(users); i++) {
        const char *user = text_at(users, i), *answer = text_at(answers, i);
        const tsri_task_turn turn = {.first = i == 0,
                                     .system = json_string_value(json_object_get(item, "system")),
                                     .user = user,
                                     .user_size = strlen(user),
                                     .bos = "<s>",
                                     .eos = "</s>",
                                     .date = "07 Mar 2025"};
        tsri_task_written written = {0};
        OK(tsri_task_template_write(row, &turn, &written));
        const tsri_task_range said = written.said[written.n_said - 1];
        cr_expect(memmem(user, strlen(user), written.text.data + said.start, said.end - said.start),
                  "%s: the user's range", name);
        OK(tsri_base_bytes_append(&got, written.text.data, written.text.size));
        if (answer)
            OK(tsri_base_bytes_append(&got, answer, strlen(answer)));
        tsri_base_bytes_clear(&written.text);
    }
    cr_expect(got.data && strcmp(got.data, want) == 0, "%s gave\n%s\nwanted\n%s", name, got.data,
              want);
    tsri_base_bytes_clear(&got);
}

Test(templates, as_jinja_renders) {
    json_t *cases = json_load_file(TESSERA_SOURCE_DIR "/tests/golden/chat/expected.json", 0, NULL),
           *item;
    size_t i;
    cr_assert(json_array_size(cases) == 24);
    json_array_foreach(cases, i, item) compare(item);
    json_decref(cases);
}

Test(templates, names) {
    size_t n = 0;
    for (const char *name; (name = tsri_task_template_name(n)); n++) {
        const tsri_task_template *row = tsri_task_template_named(name);
        cr_expect(row && strcmp(row->name, name) == 0 && strstr(tsri_task_template_list(), name));
    }
    cr_expect(n == 6);
    cr_expect(!tsri_task_template_named("vicuna") && !tsri_task_template_named(""));
}

Test(templates, by_text) {
    /* The text of tests/golden/chat/make_chat.py: line ends are read as Jinja reads them, and one
     * at the end is ignored. */
    static const char unix_ends[] =
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{{ '\n' }}{% "
        "endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant{{ '\n' }}{% endif %}";
    static const char dos_ends[] =
        "{% for m in messages %}<|im_start|>{{ m.role }}\r\n{{ m.content }}<|im_end|>{{ '\r\n' "
        "}}{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant{{ '\r' }}{% endif %}\r\n";
    static const char two_ends[] =
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{{ '\n' }}{% "
        "endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant{{ '\n' }}{% endif %}\n\n";
    const tsri_task_template *row = NULL;
    OK(tsri_task_template_of_text(unix_ends, strlen(unix_ends), &row));
    cr_assert(row && strcmp(row->name, "chatml") == 0 && !row->default_system);
    OK(tsri_task_template_of_text(dos_ends, strlen(dos_ends), &row));
    cr_expect(row && strcmp(row->name, "chatml") == 0);
    OK(tsri_task_template_of_text(two_ends, strlen(two_ends), &row));
    cr_expect(row == NULL);
    OK(tsri_task_template_of_text(unix_ends, strlen(unix_ends) - 1, &row));
    cr_expect(row == NULL);
    OK(tsri_task_template_of_text("", 0, &row));
    cr_expect(row == NULL);
}
