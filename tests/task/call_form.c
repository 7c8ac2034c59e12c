/* How tessera serve learns from a chat template in which form a model writes calls of functions: templates in
 * the manner of those that models have. */
#include "cli/serve/call_form.h"
#include "task/fixture.h"

#include <stdio.h>
#include <string.h>

/* What an assistant's message is. `calls` is a list; endings of turns differ where those of models do. */
static const struct {
    const char *like, *answer, *before, *between, *next, *after, *marker;
    bool text_arguments, no_content, only_calls;
    const char *text_before, *text_after; /* NULL: none */
} forms[] = {
    {.like = "Qwen, Hermes",
     .answer =
         "{{ m.content }}{% for c in calls %}{{ '\n<tool_call>\n{\"name\": \"' + c.function.name + "
         "'\", \"arguments\": ' }}{{ c.function.arguments | tojson }}{{ '}\n</tool_call>' }}"
         "{% endfor %}<|end|>",
     .before = "<tool_call>\n{\"name\": \"",
     .between = "\", \"arguments\": ",
     .next = "}\n</tool_call>\n<tool_call>\n{\"name\": \"",
     .after = "}\n</tool_call>",
     .marker = "<tool_call>"},
    {.like = "Llama 3.1, which calls once",
     .answer =
         "{{ m.content }}{% if calls | length > 1 %}{{ raise_exception('one call') }}{% endif %}"
         "{% for c in calls %}{\"name\": \"{{ c.function.name }}\", \"parameters\": "
         "{{ c.function.arguments | tojson }}}{% endfor %}<|end|>",
     .before = "{\"name\": \"",
     .between = "\", \"parameters\": ",
     .after = "}",
     .marker = "{\"name\":"},
    {.like = "Mistral, with numbers of calls",
     .answer =
         "{{ m.content }}{% for c in calls %}{{ '[TOOL_CALLS][' if loop.first else ', ' "
         "}}{\"name\": "
         "\"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson }}, \"id\": "
         "\"{{ c.id }}\"}{{ ']' if loop.last }}{% endfor %}</s>",
     .before = "[TOOL_CALLS][{\"name\": \"",
     .between = "\", \"arguments\": ",
     .next = ", \"id\": \"" TSRI_SERVE_CALL_ID "\"}, {\"name\": \"",
     .after = ", \"id\": \"" TSRI_SERVE_CALL_ID "\"}]",
     .marker = "[TOOL_CALLS]"},
    {.like = "Devstral, with nothing behind a call",
     .answer = "{{ m.content }}{% for c in calls %}[TOOL_CALLS]{{ c.function.name }}[ARGS]"
               "{{ c.function.arguments | tojson }}{% endfor %}</s>",
     .before = "[TOOL_CALLS]",
     .between = "[ARGS]",
     .next = "[TOOL_CALLS]",
     .after = "",
     .marker = "[TOOL_CALLS]"},
    {.like = "Command R7B, whose tags for answers and calls begin and end alike",
     .answer =
         "{% if calls %}<|START_ACTION|>[{% for c in calls %}{\"tool_name\": \"{{ c.function.name "
         "}}\", "
         "\"parameters\": {{ c.function.arguments | tojson }}}{{ ', ' if not loop.last }}"
         "{% endfor %}]<|END_ACTION|>{% else %}<|START_RESPONSE|>{{ m.content }}<|END_RESPONSE|>"
         "{% endif %}<|end|>",
     .before = "<|START_ACTION|>[{\"tool_name\": \"",
     .between = "\", \"parameters\": ",
     .next = "}, {\"tool_name\": \"",
     .after = "}]<|END_ACTION|>",
     .marker = "<|START_ACTION|>"},
    {.like = "DeepSeek, with arguments as texts, and without content",
     .answer =
         "{% if m.content is none %}{% for c in calls %}<｜call▁begin｜>{{ c.type + '<｜sep｜>' + "
         "c.function.name + '\n```json\n' + c.function.arguments + '\n```' }}<｜call▁end｜>"
         "{% endfor %}{% else %}{{ m.content }}<｜end▁of▁sentence｜>{% endif %}",
     .before = "<｜call▁begin｜>function<｜sep｜>",
     .between = "\n```json\n",
     .next = "\n```<｜call▁end｜><｜call▁begin｜>function<｜sep｜>",
     .after = "\n```<｜call▁end｜>",
     .marker = "<｜call▁begin｜>",
     .text_arguments = true,
     .no_content = true},
    {.like = "Functionary, where calls end a turn in another way",
     .answer = "{{ m.content }}{% for c in calls %}{{ '<function=' + c.function.name + '>' + "
               "c.function.arguments + '</function>' }}{% endfor %}"
               "{{ '<|eom_id|>' if calls else '<|eot_id|>' }}",
     .before = "<function=",
     .between = ">",
     .next = "</function><function=",
     .after = "</function><|eom_id|>",
     .marker = "<function=",
     .text_arguments = true},
    {.like = "Command R+, whose calls begin with a word",
     .answer =
         "{{ m.content }}{% for c in calls %}{{ 'Action: ```json\n[' if loop.first else ', ' }}"
         "{\"tool_name\": \"{{ c.function.name }}\", \"parameters\": "
         "{{ c.function.arguments | tojson }}}{{ ']```' if loop.last }}{% endfor %}<|end|>",
     .before = "Action: ```json\n[{\"tool_name\": \"",
     .between = "\", \"parameters\": ",
     .next = "}, {\"tool_name\": \"",
     .after = "}]```",
     .marker = "Action: ```json"},
    {.like = "Mistral, whose mark is a special token",
     .answer = "{{ m.content }}{% for c in calls %}{{ '<|im_start|>[' if loop.first else ', ' "
               "}}{\"name\": "
               "\"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson }}}"
               "{{ ']' if loop.last }}{% endfor %}</s>",
     .before = "\xFF"
               "3\xFF[{\"name\": \"",
     .between = "\", \"arguments\": ",
     .next = "}, {\"name\": \"",
     .after = "}]",
     .marker = "\xFF"
               "3\xFF"},
    {.like = "DeepSeek, with special tokens around calls and in them; the end of the answer is "
             "left out",
     .answer =
         "{{ m.content }}{% for c in calls %}<|im_start|>{{ c.type }}<|im_end|>{{ c.function.name "
         "+ ' ' }}{{ c.function.arguments | tojson }}<|im_end|>{% endfor %}{{ '</s>' if calls }}",
     .before = "\xFF"
               "3\xFF"
               "function\xFF"
               "4\xFF",
     .between = " ",
     .next = "\xFF"
             "4\xFF\xFF"
             "3\xFF"
             "function\xFF"
             "4\xFF",
     .after = "\xFF"
              "4\xFF",
     .marker = "\xFF"
               "3\xFF"},
    {.like = "Command R7B, whose answers stand between special tokens, too",
     .answer =
         "{% if calls %}<|im_start|>[{% for c in calls %}{\"tool_name\": \"{{ c.function.name "
         "}}\", \"parameters\": {{ c.function.arguments | tojson }}}{{ ', ' if not loop.last }}"
         "{% endfor %}]{% else %}<unk>{{ m.content }}<|im_end|>{% endif %}</s>",
     .before = "\xFF"
               "3\xFF[{\"tool_name\": \"",
     .between = "\", \"parameters\": ",
     .next = "}, {\"tool_name\": \"",
     .after = "}]",
     .marker = "\xFF"
               "3\xFF",
     .text_before = "\xFF"
                    "0\xFF",
     .text_after = "\xFF"
                   "4\xFF"},
    {.like = "harmony, where special tokens and words stand before answers and in calls",
     .answer =
         "{% for c in calls %} to=functions.{{ c.function.name }}<|im_start|>commentary "
         "json<|im_end|>"
         "{{ c.function.arguments | tojson }}{% else %}<|im_start|>final<|im_end|>{{ m.content }}"
         "{% endfor %}</s>",
     .before = "to=functions.",
     .between = "\xFF"
                "3\xFF"
                "commentary json\xFF"
                "4\xFF",
     .next = " to=functions.",
     .after = "",
     .marker = "to=functions.",
     .only_calls = true},
    {.like = "special tokens behind words: the plain form",
     .answer = "{{ m.content }}{% for c in calls %}to <|im_start|>{{ c.function.name }}: "
               "{{ c.function.arguments | tojson }}{% endfor %}<|end|>",
     .before = "{\"name\": \"",
     .between = "\", \"arguments\": ",
     .after = "}",
     .marker = "{\"name\":",
     .only_calls = true},
    {.like = "no calls: the plain form",
     .answer = "{{ m.content }}<|end|>",
     .before = "{\"name\": \"",
     .between = "\", \"arguments\": ",
     .after = "}",
     .marker = "{\"name\":"},
};

static void expect(const char *like, const char *what, const char *got, const char *wanted) {
    cr_expect(got && wanted ? !strcmp(got, wanted) : got == wanted, "%s, %s: <<%s>>, wanted <<%s>>",
              like, what, got, wanted);
}

Test(call_form, of_templates) {
    tsr_model *model = NULL;
    char text[2048], marker[80];
    open_chat_model(&model);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const char *like = forms[i].like;
        snprintf(text, sizeof text,
                 "{%% for m in messages %%}{%% if m.role != 'assistant' %%}<|user|>{{ m.content }}"
                 "{%% else %%}{%% set calls = m.tool_calls or [] %%}<|assistant|>%s{%% endif %%}"
                 "{%% endfor %%}",
                 forms[i].answer);
        tsri_serve_model served = {.model = model, .template_text = text};
        const tsri_serve_call_form *form = tsri_serve_call_form_of(&served);
        cr_assert(form);
        expect(like, "before", form->before, forms[i].before);
        expect(like, "between", form->between, forms[i].between);
        expect(like, "next", form->next, forms[i].next);
        expect(like, "after", form->after, forms[i].after);
        expect(like, "text_before", form->text_before,
               forms[i].text_before ? forms[i].text_before : "");
        expect(like, "text_after", form->text_after,
               forms[i].text_after ? forms[i].text_after : "");
        snprintf(marker, sizeof marker, "%.*s", (int)form->marker, form->before);
        expect(like, "marker", marker, forms[i].marker);
        cr_expect(form->text_arguments == forms[i].text_arguments &&
                      form->no_content == forms[i].no_content &&
                      form->only_calls == forms[i].only_calls &&
                      form->anywhere == !strchr(forms[i].marker, '{'),
                  "%s", like);
        tsri_serve_call_form_free(served.call_form);
    }
    close_chat_model(&model);
}
