#!/usr/bin/env python3
"""Writes expected.json: conversations as Jinja renders them, with transformers' settings.

The templates are written here by hand, as small as each family's form allows; they are no copies of published ones (those are known to
Tessera by their hashes). Needs jinja2. Run from this folder: python3 make_chat.py
"""
import json

from jinja2.sandbox import ImmutableSandboxedEnvironment

MESSAGES = "{% for m in messages %}"
LAST = "{% if add_generation_prompt %}"
SPLIT = ("{% if messages[0].role == 'system' %}{% set sys = messages[0].content %}{% set turns = messages[1:] %}"
         "{% else %}{% set sys = none %}{% set turns = messages %}{% endif %}")


def chatml(bos="", default=None):
    head = "" if default is None else (
        "{% if messages[0].role != 'system' %}<|im_start|>system\n" + default + "<|im_end|>\n{% endif %}")
    return bos + head + MESSAGES + ("<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{{ '\n' }}{% endfor %}" + LAST
                                    + "<|im_start|>assistant{{ '\n' }}{% endif %}")


def llama3(head="", always=False):
    block = "<|start_header_id|>system<|end_header_id|>\n\n" + head + "{{ (sys or '') | trim }}<|eot_id|>"
    if not always:
        block = "{% if sys is not none %}" + block + "{% endif %}"
    return (SPLIT + "{{ bos_token }}" + block + "{% for m in turns %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
            "{{ m.content | trim }}<|eot_id|>{% endfor %}" + LAST + "<|start_header_id|>assistant<|end_header_id|>{{ '\n\n' }}{% endif %}")


def inst(before, after, end, each_bos=False, system="{{ sys }}\n\n", trim=""):
    bos = "{{ bos_token }}"
    return (SPLIT + ("" if each_bos else bos) + "{% for m in turns %}{% if m.role == 'user' %}" + (bos if each_bos else "") + before
            + "{% if loop.first and sys is not none %}" + system + "{% endif %}{{ m.content" + trim + " }}" + after
            + "{% else %}{{ m.content }}" + end + "{% endif %}{% endfor %}")


TEMPLATES = {
    "chatml": chatml(),
    "llama2": inst("[INST] ", " [/INST]", " {{ eos_token }}", True, "<<SYS>>\n{{ sys }}\n<</SYS>>\n\n", " | trim"),
    "llama3": llama3(),
    "mistral": inst("[INST] ", " [/INST]", "{{ eos_token }}"),
    "gemma": SPLIT + "{{ bos_token }}{% for m in turns %}<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n"
             "{% if loop.first and sys is not none %}{{ sys }}\n\n{% endif %}{{ m.content | trim if m.role == 'user' else m.content }}"
             "<end_of_turn>{{ '\n' }}{% endfor %}" + LAST + "<start_of_turn>model{{ '\n' }}{% endif %}",
    "phi3": MESSAGES + "<|{{ m.role }}|>\n{{ m.content }}<|end|>{{ '\n' }}{% endfor %}" + LAST + "<|assistant|>{{ '\n' }}{% endif %}",
}

CONVERSATIONS = [
    (None, ["Where do herons sleep?"], []),
    ("Answer like a sailor.", ["Where do herons sleep?"], []),
    (None, ["One plum", " two plums\n", "Three?"], ["Aye.", "Two it is."]),
    ("Answer like a sailor.", ["One plum", "two {plums}", "Drei Pflaumen: ä €"], ["Aye.", "Two it is."]),
]


def main():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    cases = []
    for name, text in TEMPLATES.items():
        for system, users, answers in CONVERSATIONS:
            messages = [] if system is None else [{"role": "system", "content": system}]
            for i, user in enumerate(users):
                messages.append({"role": "user", "content": user})
                if i < len(answers):
                    messages.append({"role": "assistant", "content": answers[i]})
            rendered = env.from_string(text).render(messages=messages, add_generation_prompt=True, bos_token="<s>", eos_token="</s>")
            cases.append({"template": name, "system": system, "users": users, "answers": answers, "text": rendered})
    with open("expected.json", "w", encoding="utf-8") as out:
        json.dump(cases, out, ensure_ascii=False, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main()
