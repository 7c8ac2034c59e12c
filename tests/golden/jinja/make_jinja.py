#!/usr/bin/env python3
"""Writes expected.json: own templates as Jinja renders them, with transformers' settings. Needs jinja2.

    python3 make_jinja.py                                  from this folder
    python3 make_jinja.py FOLDER OUT                       the same cases of every *.jinja of FOLDER, each with conversations

The second form serves as a comparison with real templates, which are not kept here: the source package of llama-cpp-python has some in
vendor/llama.cpp/models/templates. Then TESSERA_JINJA_CASES=OUT test_text --filter 'jinja/of_a_file' compares them.
"""
import datetime
import json
import pathlib
import sys

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = 1741348800  # 7 March 2025, 12:00 UTC


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda f: datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).strftime(f)
    return env


DATA = {"n": 7, "f": 2.5, "s": "hello wörld's Ä\u20ac\U0001F600", "empty": "", "words": ["b", "a", "C", "a"], "nothing": None, "yes": True,
        "d": {"b": 1, "a": [1, 2.0, None, True], "items": "x"}, "rows": [{"k": "x", "v": 2}, {"k": "y", "v": 1}, {"k": "x"}],
        "lines": "one\n\n two\nthree\n", "bos_token": "<s>"}

EXPRESSIONS = """
n + 1, n - 10, n / 2, n // 2, -n // 2, n % 4, -n % 4, 2 ** 10, n * f, f // 2, -f % 2, 1e20, 1.0, 0.1 + 0.2, 123456789.0 * 1e9, 1e-7
1 if n > 3 else 2, 'a' if none, n if false else 'no', not n == 7, n == 7.0, 1 < 2 < 3, 3 > 2 >= 2, 'a' in s, 'h' not in s, 'b' in words, 'a' in d
s | length, s[0], s[-1], s[6:8], s[::-1], s[::2], s[-3:], s[100], s[5:2], words[1:], words[::-1], words[-1], d['a'][1:], d.a, d['items']
s | upper, s | lower, s | title, s.title(), s | capitalize, s.upper(), 'they\\'re BILL\\'s'.title(), 'a-b c(d)' | title, 'ß' | upper, 'ÀÉ' | lower
lines.split(), lines.split('\\n'), lines.splitlines(), 'a,b,,c'.split(','), 'a,b,c'.split(',', 1), 'a,b,c'.rsplit(',', 1), 'a b  c '.split(none, 1)
'  x '.strip(), '  x '.lstrip() ~ '|', '  x '.rstrip() ~ '|', 'xxhixx'.strip('x'), '\\u00a0x\\u2003' | trim, 'aXbX'.replace('X', '-'), 'aXbX'.replace('X', '', 1)
s.startswith('hello'), s.endswith(('x', '\U0001F600')), s.find('w'), s.find('zz'), 'abcabc'.rfind('b'), 'abcabc'.count('bc'), 'abc' | replace('', '.')
words | join(', '), words | sort, words | sort(reverse=true), words | sort(case_sensitive=true), words | unique | list, words | reverse | list, s | reverse
rows | map(attribute='k') | list, rows | selectattr('v', 'defined') | list | length, rows | selectattr('k', 'equalto', 'x') | list, rows | rejectattr('v') | list
rows | sum(attribute='n') if false else 3, [1, 2, 3] | sum, [3, 1, 2] | max, [3, 1, 2] | min, words | first, words | last, [] | first, words | map('upper') | list
d | tojson, d | tojson(indent=2), s | tojson, d | tojson(sort_keys=true), [] | tojson(indent=4), d | tojson(separators=(',', ':')), s | tojson(ensure_ascii=true)
{'k': [1, (2, 'x')], 'q': 'it\\'s'}, (1,), [none, true, 1.5], 'a\\nb"' | list, ["it's", 'say "x"', 'tab\\t'], d | dictsort, d | items | list, {1: 'a', 'b': none}
n is odd, n is even, n is divisibleby 7, n is number, s is string, d is mapping, words is sequence, d is iterable, nothing is none, missing is defined, missing is not defined
n is integer, f is float, yes is true, yes is boolean, n is eq 7, n is in [7], n is not in [7], s is upper, 'abc' is lower, none is none and true, namespace is callable
missing | default('x'), nothing | default('x'), nothing | default('x', true), missing | d, '' | default('y', boolean=true), missing | length, missing ~ 'a', missing == other
'%s and %s' | format('a', 1), '%d%%' % 5, '{} {}'.format(1, 'b'), '{0}{0}'.format('z'), '{a}'.format(a=1), 'a' ~ 1 ~ none ~ true ~ 1.5, 'ab' * 2, [1] * 2, [1] + [2]
'42' | int, '4x' | int, '4x' | int(-1), 3.9 | int, '2.5' | float, 2.567 | round(2), 2.5 | round, 7 | round, n | string, -3 | abs, 1000000, 10_000, '0' | int + 1
'a\\tb', "q'q", 'q"q', 'back\\\\slash', '\\x41\\u00e4', 'ab' 'cd', 'a' 'b' | upper, 'isspace'.isspace(), '12'.isdigit(), 'ab1'.isalnum(), 'Ab'.isalpha(), '  '.isspace()
lines | indent, lines | indent(2, true), lines | indent(2, false, true), '<a>&' | e, range(5) | list, range(2, 10, 3) | list, range(5, 0, -2) | list, dict(a=1, b=2), words | safe
d.get('a'), d.get('zz'), d.get('zz', 4), d.keys() | list, d.values() | list, words.index('C'), words.count('a'), rows[0].k, rows[0]['v'], rows.0.k, d.b.c is defined
true and 'x', false or 'y', none or 0, 1 and 0, not none, (1, 2) == (1, 2), {'a': 1} == {'a': 1.0}, [1] < [2], 'a' < 'b', 'removeprefix'.removeprefix('remove')
'Hello World foo' | trim(chars='Ho'), s | replace('l', '0', count=1), s | replace(new='L', old='l'), [1, 2] | sum(start=5), [[1], [2]] | sum(start=[]), [1.5, true] | sum
rows | map('tojson', indent=1) | list, ['a\\nb'] | map('indent', width=2, first=true) | list, ['5', 'x'] | map('int', default=7) | list, rows | map(attribute='v', default=0) | list
rows[:2] | sum(attribute='v', start=1), d | dictsort(reverse=true), words | sort(attribute=none, reverse=true), 2.567 | round(method='floor', precision=1), rows | join(attribute='k', d='/')
words | unique(case_sensitive=true) | list, nothing | default(boolean=true, default_value='y'), missing | d(boolean=true), lines.splitlines(keepends=true), lines.split(sep='\\n', maxsplit=1)
lines.split(maxsplit=1), s.startswith('wör', 6), s.startswith('h', 1), s.endswith('ö', 0, 8), s.endswith('d', none, -6), s.find('l', 4), s.find('l', -3), s.find('o', 99), s.rfind('l', 0, 4)
s.count('l', 3), 'abc'.find('', 5), 'abc'.startswith('', 4), 'abc'.count('', 3), 'abc'.endswith('', 3, 2), s.startswith(('x', 'w'), -11, 99), 'abc'.find('c', 1, true), 'abc'.rfind('b', 1)
'0x1f' | int(0, 16), '0x1f' | int, '1F' | int(0, 16), '0b11' | int(base=0), '0o17' | int(base=0), '9' | int(0, 8), '12' | int(default=3, base=8), '1_000' | int, '1__0' | int(-1), ' 42\\n' | int
'-0x10' | int(0, 16), '0x_ff' | int(0, 16), '9007199254740993' | int, '1e3' | int, '12' | int(5, 1), '+7' | int, '_1' | int, 'zz' | int(0, 36), '- 1' | int, '' | int(4), '0x' | int(6, 16), '017' | int(0, 0)
{'B': 1, 'a': 2} | tojson(sort_keys=true), {'b': {'Z': 1, 'y': 2}, 'A': 0} | tojson(sort_keys=true, indent=1), {'B': 1, 'a': 2} | dictsort
s[1:-1:2], s[-2:1:-3], s[16:], s[:99], s[3:3], s[10:2:-1], s[::-4], empty[::-1], s | first, s | last, empty | first, 'ab'[5:], s[-99:3], s[5::-1], s[:3:-1], s[0:1:1], s[2:1:2]
0x10, 0XfF + 1, 0b101, 0o17, 0x_ff, 0B1_0, 0x7fffffffffffffff, -0x2
strftime_now('%d %b %Y'), strftime_now('%Y-%m-%d'), bos_token + 'x', -2 ** 2, 2 ** -1, 7 - 2 - 1, 2 ~ 3 * 4, '1' + '2' | int | string, n | abs is odd
"""

TEMPLATES = [
    "{% for x in words %}{{ loop.index }}/{{ loop.length }}{{ loop.first }}{{ loop.last }}{{ loop.revindex0 }}{{ loop.previtem }}|{{ loop.nextitem }}\n{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for x in [] %}a{% else %}none{% endfor %}",
    "{% for x in range(9) if x is odd %}{% if x == 7 %}{% break %}{% endif %}{% if x == 3 %}{% continue %}{% endif %}{{ x }}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + 1 %}{{ x }}{% endfor %}{{ x }}{% if true %}{% set x = 9 %}{% endif %}{{ x }}",
    "{% set ns = namespace(a=1, l=[]) %}{% for i in range(3) %}{% set ns.a = ns.a * 2 %}{% set ns.l = ns.l + [i] %}{% endfor %}{{ ns.a }}{{ ns.l }}{{ ns.zz is defined }}",
    "{% macro f(a, b=2, c='x') %}[{{ a }}{{ b }}{{ c }}{{ s }}]{% endmacro %}{{ f(1) }}{{ f(1, c='z') }}{{ f(b=5) }}{% set y = f(3) %}{{ y | upper }}",
    "{% macro g(n) %}{% if n > 0 %}{{ n }}{{ g(n - 1) }}{% endif %}{% endmacro %}{{ g(5) }}",
    "{% macro w() %}<{{ caller('q') }}>{% endmacro %}{% call(x) w() %}in {{ x }} {{ n }}{% endcall %}",
    "{% set a, b = (1, 2) %}{{ a }}{{ b }}{% set t %}  block {{ n }}\n{% endset %}[{{ t }}]{% set u | upper | trim %} up {% endset %}{{ u }}",
    "{% with a = 1, b = n %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}{% filter upper %}abc {{ s }}{% endfilter %}",
    "a\n  {% if true %}\n  b\n  {% endif %}\n c {# note #}\n  {#- x -#}  d\n  {{- n -}}  \n e\n\n",
    "  {%- if true -%}  x  {%- endif -%}  y {%+ if true %}\n z{% endif +%}\n{{ n }}\n\n",
    "{% raw %}{{ x }}{% if %}{% endraw %}\n!{%- raw -%} {% y {%- endraw -%} ?",
    "{% raw %}\n  a {{ x }}\n \t{% endraw %}\nb\n  {% raw %} x\n {%+ endraw %}y{% raw %}  {% endraw %}|{% raw -%}\n  {% endraw %}c{% raw %}b\n \u00a0 {% endraw -%} \n d",
    "{% for r in rows recursive %}{{ r.k }}{% if r.v == 2 %}{{ loop([{'k': 'in'}]) }}{% endif %}{{ loop.depth }}{% endfor %}",
    "{% for a in words %}{% for b in words %}{{ loop.index0 }}{% endfor %}{{ loop.index0 }}{% endfor %}{{ loop is defined }}",
    "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{% set j = joiner('; ') %}{{ j() }}x{{ j() }}y",
    "{% for x in [1, 1, 2] %}{{ loop.changed(x) }}{% endfor %}{% for c in s %}{{ c }}.{% endfor %}",
    "{% if n == 1 %}a{% elif n == 7 %}b{% else %}c{% endif %}{% generation %}said{% endgeneration %}{{ {'a': {'b': 1}}['a']['b'] }}",
    "{% macro f(a) %}{{ a }}{{ varargs | join(',') }}{{ kwargs }}{% endmacro %}{{ f(1, 2, k=3) }}|{{ f(1) }}|{{ f(1, a=2) }}"
    "{% macro g() %}{{ varargs }}{% endmacro %}|{{ g(1) }}",
    "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, 2) }}", "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, a=2) }}",
    "{% macro f(kwargs) %}{{ kwargs }}{% endmacro %}{{ f(b=1) }}",
    "{% set x = 1 %}{% generation %}{% set x = 2 %}{{ x }}{% endgeneration %}{{ x }}",
    "{{ 'a\\r\\nb' | indent(2) }}|{{ '\\n\\na' | indent(1, true) }}|{{ 'a\\x85\\x0bb\\n' | indent('> ', blank=true) }}"
    "|{{ 'a\\nb' | indent(70) | length }}|{{ 'a\\nb' | indent(-1) }}",
    "{{ rows | map(attribute='k.z', default='?') | list }}{{ [{'f': {'n': 1}}, {}] | map(attribute='f.n', default='') | list }}"
    "{{ ([{}] | map(attribute='x', default=none) | list)[0] is defined }}{{ 'banana' | replace('a', 1) }}{{ 112 | replace(1, none, 1) }}",
    "{% for c in '\\x00\\x1f\\x7f\\x85\\xa0\\xa1\\xad\\u0300\\u0378\\u0600\\u061c\\u1680\\u180e\\u2003\\u200b\\u200e\\u2028\\u2029\\u202f\\u3000\\u3001"
    "\\ue000\\ufeff\\uffff\\U0001f600\\U000e0001\\U0010ffff \\\\\\'\"' %}{{ [c] }}{{ c.split('b') }}\n{% endfor %}",
    "{% for c in '\\n\\x0b\\x0c\\r\\x1c\\x1d\\x1e\\x1f\\x85\\u2028\\u2029\\t' %}{{ ('a' ~ c ~ 'b' ~ c).splitlines() }}{{ ('a' ~ c ~ 'b').splitlines(true) }}\n{% endfor %}"
    "{{ 'a\\r\\n\\n\\rb\\r\\n'.splitlines() }}{{ '\\x85\\u2028'.splitlines(true) }}{{ ''.splitlines() }}",
    "{% for c in '\u00df\u0149\u01c6\u01f0\u0390\u03b0\u0587\u1e96\u1e9a\u1e9e\u0130\u1f50\u1f57\u1f80\u1f88\u1fb2\u1fb3\u1fb6\u1fb7\u1fbc\u1fc4\u1ff7\ufb01\ufb03\ufb06\ufb13' %}"
    "{{ c | upper }} {{ c | title }} {{ c | capitalize }} {{ (c ~ 'a' ~ c).title() }} {{ (c ~ 'B') | upper }} {{ c | lower }}\n{% endfor %}",
    "{{ 0xg }}", "{{ 0b2 }}", "{{ 0x }}", "{{ 0x1g }}",
    "{{ raise_exception('no ' ~ n) }}", "{{ missing.x }}", "{{ 1 + missing }}", "{{ missing() }}", "{{ 'a' + 1 }}", "{{ 1 / 0 }}", "{{ words.append(1) }}", "{% if x %}", "{{ x",
    "{{ 'a' | trim(foo=1) }}", "{{ 'a' | upper(1) }}", "{{ 'a' | trim('x', chars='y') }}", "{{ [1] | sum(begin=2) }}", "{{ ['a'] | map('upper', 2) | list }}",
    "{{ [d] | map(attribute='b', other=1) | list }}", "{{ 'a'.upper(1) }}", "{{ 'a'.split(by='x') }}", "{{ 'a'.startswith('a', 'b') }}", "{{ d.items(1) }}", "{{ range(stop=3) }}",
    "{{ cycler(a=1) }}", "{{ 1 is odd(2) }}", "{{ 1 is defined(2) }}", "{{ 1 is number(a=2) }}", "{{ ['a', 'b'] | sum(start='') }}", "{{ words.index('a', value='a') }}",
    "{{ raise_exception(text='a') }}", "{{ 'a' | join(by='x') }}", "{{ 'a' | tojson(nice=true) }}",
    "{% endif %}", "{{ 1 | nofilter }}", "{{ [1, 2", "{% set ns.x = 1 %}", "{{ none.x.y }}", "{% for x in 5 %}{% endfor %}", "{{ d < 1 }}", "{{ 'a' 1 }}",
]

TOOLS = [{"type": "function", "function": {"name": "weather", "description": "Says the \"weather\" <now>", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "description": "Which ä"}, "days": {"type": "integer"},
                                     "unit": {"type": "string", "enum": ["C", "F"]}}, "required": ["city"]}}}]
SYSTEM = {"role": "system", "content": "Be brief. "}
USER, ANSWER = {"role": "user", "content": " Where do herons sleep? ä\n"}, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nIn trees. "}
CALL = {"role": "assistant", "content": "", "tool_calls": [{"id": "call00001", "type": "function", "function": {
    "name": "weather", "arguments": {"city": "K\u00f6ln", "days": 2}}}]}
RESULT = {"role": "tool", "tool_call_id": "call00001", "name": "weather", "content": "{\"rain\": true}"}
CONVERSATIONS = [([USER], None, True), ([SYSTEM, USER], None, True), ([SYSTEM, USER, ANSWER, USER], None, True), ([USER, ANSWER], None, False),
                 ([SYSTEM, USER], TOOLS, True), ([USER, CALL, RESULT], TOOLS, True), ([SYSTEM, USER, CALL, RESULT, ANSWER, USER], TOOLS, True)]


def case(env, name, text, context):
    try:
        return {"name": name, "template": text, "context": context, "text": env.from_string(text).render(**context)}
    except Exception as e:  # a template fails in many ways
        return {"name": name, "template": text, "context": context, "error": str(e)[:200]}


def real(env, folder):
    for path in sorted(pathlib.Path(folder).rglob("*.jinja")):
        text = path.read_bytes().decode()
        for i, (messages, tools, prompt) in enumerate(CONVERSATIONS):
            context = {"messages": messages, "add_generation_prompt": prompt, "bos_token": "<s>", "eos_token": "</s>"}
            if tools:
                context["tools"] = tools
            made = case(env, f"{path.name} {i}", text, context)
            # Left out: Tessera has lists where Python has generators, and "safe" doesn't escape what is joined to it.
            if "generator" not in made.get("error", "") and "&#34;" not in made.get("text", ""):
                yield made


# Channels, types of arguments and calls as gpt-oss' form (harmony) has them; the words are our own.
CHANNELS = """{%- macro typed(p) -%}
    {%- if p.type == "array" -%}{{ typed(p["items"]) }}[]{%- elif p.enum is defined and p.enum is not none -%}
        {%- for x in p.enum -%}"{{ x }}"{%- if not loop.last %} | {% endif -%}{%- endfor -%}
    {%- elif p.type is string -%}{{ {"string": "string", "integer": "number"}.get(p.type, "any") }}{%- else -%}any{%- endif -%}
{%- endmacro -%}
{%- macro declared(name, list) -%}
    {{- "namespace " + name + " {\\n\\n" }}
    {%- for t in list %}{% set f = t.function %}
        {{- "// " + f.description + "\\ntype " + f.name + " = " }}
        {%- if f.parameters and f.parameters.properties %}
            {{- "(_: {\\n" }}
            {%- for key, p in f.parameters.properties.items() %}
                {%- if p.description %}{{- "// " + p.description + "\\n" }}{% endif %}
                {{- key + ("" if key in f.parameters.required else "?") + ": " + typed(p) + (", // default: " + p.default if p.default else ",") + "\\n" }}
            {%- endfor %}{{- "}) => any;\\n\\n" }}
        {%- else %}{{- "() => any;\\n\\n" }}{% endif %}
    {%- endfor %}{{- "} // namespace " + name }}
{%- endmacro -%}
{%- if messages[0].role in ["system", "developer"] %}{% set told = messages[0].content %}{% set rest = messages[1:] %}
{%- else %}{% set told = "" %}{% set rest = messages %}{% endif -%}
<|start|>system<|message|>{{ "On " + strftime_now("%Y-%m-%d") + ": " + (effort | default("medium", true)) }}<|end|>
{%- if told or tools %}<|start|>developer<|message|>{{ told }}{% if tools %}{{ declared("functions", tools) }}{% endif %}<|end|>{% endif %}
{%- set last = namespace(call=none) %}
{%- for m in rest -%}
    {%- if m.role == "assistant" -%}
        {%- if "tool_calls" in m %}{% set call = m.tool_calls[0].function if m.tool_calls[0].function else m.tool_calls[0] %}
            {{- "<|start|>assistant to=functions." + call.name + "<|channel|>commentary json<|message|>" + call.arguments | tojson + "<|call|>" }}{% set last.call = call.name %}
        {%- elif loop.last and not add_generation_prompt %}{{- "<|start|>assistant<|channel|>final<|message|>" + m.content + "<|return|>" }}
        {%- else %}{{- "<|start|>assistant<|channel|>final<|message|>" + m.content + "<|end|>" }}{% set last.call = none %}{% endif -%}
    {%- elif m.role == "tool" -%}
        {%- if last.call is none %}{{ raise_exception("a result without a call") }}{% endif %}
        {{- "<|start|>functions." + last.call + " to=assistant<|channel|>commentary<|message|>" + m.content | tojson + "<|end|>" }}
    {%- else %}{{- "<|start|>" + m.role + "<|message|>" + m.content + "<|end|>" }}{% endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}<|start|>assistant{% endif -%}"""


def own(env):
    for line in EXPRESSIONS.strip().splitlines():
        yield case(env, line, "".join("{{ %s }}\n" % e for e in split(line)), DATA)
    for text in TEMPLATES:
        yield case(env, text, text, DATA)
    for i, (messages, tools, prompt) in enumerate(CONVERSATIONS + [([USER, RESULT], TOOLS, True)]):
        yield case(env, f"channels {i}", CHANNELS, {"messages": messages, "add_generation_prompt": prompt} | ({"tools": tools} if tools else {}))


def split(line):
    parts, depth, quote, start, i = [], 0, "", 0, 0
    while i < len(line):
        c = line[i]
        if quote:
            i += c == "\\"
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == "," and not depth:
            parts.append(line[start:i])
            start = i + 1
        i += 1
    return [p.strip() for p in parts + [line[start:]]]


def main():
    env = environment()
    cases, out = (list(real(env, sys.argv[1])), sys.argv[2]) if len(sys.argv) == 3 else (list(own(env)), "expected.json")
    with open(out, "w", encoding="utf-8") as f:
        json.dump(cases, f, ensure_ascii=False, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
