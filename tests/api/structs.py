#!/usr/bin/env python3
"""Public structs begin with their size, so that a program runs with a libtessera older or newer than its headers. And NULL is answered.

The lists of structs and of functions are those of include/tessera: one that is added there is tested here, or this script says which
argument it has no value for. Of each function that takes a struct, one C program calls, in a process each:

    short   struct_size 8: what lies behind is not read (it is not zero there), and not written
    long    64 bytes that this Tessera doesn't know: zeros are accepted; of a result they become zero, and nothing behind the caller's size
            is touched
    newer   one of these bytes is not zero: TSR_E_UNSUPPORTED, of structs that are read
    none    struct_size 0: TSR_E_ARGUMENT
and each function that returns a status with NULL for each pointer: TSR_OK or TSR_E_ARGUMENT with a sentence, not a crash.
"""

import os
import re
import subprocess

from support.command import BUILD, SOURCE, environment, main
from support.results import write as write_results

INCLUDE = SOURCE / "include" / "tessera"
# op.h, backend.h and transport.h are between the host and its plugins: tests/backend and cli/faults/ranks.py have their cases.
HEADERS = [path for path in sorted(INCLUDE.glob("*.h")) if path.name not in ("op.h", "backend.h", "tensor.h", "transport.h")]

# What a parameter gets: by "function:parameter", else by its type and name, else by its type.
VALUES = {
    "tsr_engine *": "engine", "tsr_device *": "device", "tsr_model *": "decoder", "tsr_graph *": "graph", "tsr_plot *": "plot",
    "tsr_attention *": "attention", "tsr_chat *": "chat", "tsr_answer *": "answer", "tsr_part_fn": "take_part", "char *prompt": '"To be"', "tsr_classifier *": "classifier", "tsr_embedder *": "embedder", "tsr_answerer *": "answerer", "tsr_ranker *": "ranker",
    "tsr_vectors *": "vectors", "tsr_vectors_writer *": "writer", "tsr_vectors_writer **writer": "&writer", "tsr_session *": "session", "tsr_scheduler *": "scheduler", "tsr_scheduler_event_fn": "take_event", "uint32_t sequence": "0", "uint32_t from": "0", "uint32_t to": "1", "int64_t length": "0", "int32_t": "1",
    "tsr_ranks *": "NULL", "tsr_share *": "share", "tsr_share_next:block": "&(const void *){0}", "tsr_share_give:result": "ids", "char *list": '"a\\tb\\n"', "tsr_bench_training *": "training", "tsr_training *": "learner", "double": "0.5", "size_t i": "0", "void *": "NULL", "uint32_t": "1", "int64_t": "1", "uint64_t": "1", "size_t": "1",
    "char *text": '"To be"', "size_t size": "5", "tsr_string *": "strings", "size_t n": "2", "float *": "numbers", "uint32_t *": "labels",
    "int32_t *": "ids", "char **": "&(char *){0}", "char **name": "&(const char *){0}", "int32_t **": "&(int32_t *){0}", "size_t *": "&(size_t){0}", "double *": "&(double){0}",
    "uint64_t *": "&(uint64_t){0}", "char *folder": "fresh()", "char *path": "fresh()", "char *out": "fresh()", "char *name": '"shakespeare"',
    "char *model": '"shakespeare"', "char *json_path": 'FOLDER "/dump.json"', "tsr_hit *": "hits", "tsr_label_score *": "scores", "tsr_answer_score *": "answer_scores",
    "tsr_value": "value", "size_t index": "0", "uint32_t labels": "2", "uint32_t width": "4", "uint32_t C": "4", "uint64_t N": "4",
    "uint32_t layer": "0", "uint64_t first": "0", "int64_t past": "0", "uint32_t flags": "0", "uint32_t k": "1", "uint32_t compute": "0", "uint32_t attention": "0",
    "tsr_generated_fn": "take_generated", "tsr_translated_fn": "take_translated", "tsr_line_fn": "next_line", "int64_t *": "dims",
    "char *const *": "paths", "size_t n_paths": "1", "char *selector": '"reference"', "char *op": '"add"', "char *shapes": '"8,8,f32"', "char *grammar": '"root ::= [a-z]*"', "char *json_schema": '"{}"',
    "char *binary": "NULL", "char *hex": "&(char[65]){0}[0]", "int64_t context": "64", "int64_t tokens": "4",
    "tsr_generate:model": "translator", "tsr_generate_text:model": "translator", "tsr_translate:model": "translator", "tsr_translate_text:model": "translator", "tsr_translate_defaults:model": "translator",
    "tsr_classifier_create:model": "encoder", "tsr_embedder_create:model": "encoder", "tsr_fill_mask:model": "encoder", "tsr_answerer_create:model": "answering",
    "tsr_ranker_create:model": "ranking", "tsr_string": "strings[0]",
    "tsr_explain_encoder:model": "encoder", "tsr_vectors_open:path": 'FOLDER "/vectors.npy"', "tsr_plot_add:path": 'FOLDER "/log.jsonl"',
    "tsr_classify:seconds": "NULL", "tsr_classify_logits:seconds": "NULL", "tsr_classify_logits:logits": "many", "tsr_bench:model": "NULL", "tsr_merge:name": "NULL", "tsr_embed:vectors": "many", "tsr_training_array_read:data": "many", "tsr_training_array_write:data": "many", "tsr_training_gradient_read:data": "many",
    "tsr_classify:scores": "many", "tsr_session_prefill:logits": "many", "tsr_session_step:logits": "many", "tsr_session_prefill:n": "1", "tsr_session_step:n": "1", "tsr_session_greedy:n": "1",
    "tsr_session_create:model": "translator", "tsr_session_encode:session": "writing",
    "tsr_evaluate_perplexity:size": "5", "tsr_bench_file *": "results", "tsr_bench_file_text:text": "&(char *){0}",
    "tsr_results *": "read_results", "const tsr_results *const *": "files_read", "tsr_results *const *": "files_read", "size_t count": "1", "size_t n_before": "1", "size_t n_after": "1", "char *format": '"md"',
    "tsr_results_open:path": 'FOLDER "/run.json"', "tsr_results_report:text": "&(char *){0}", "tsr_chat_render:text": "&(char *){0}", "tsr_attention_json:text": "&(char *){0}",
    "char *messages": r'"[{\"role\": \"user\", \"content\": \"a\"}]"',
}
# What the structs that are read hold beside their size, so that the call does its work.
FIELDS = {
    "tsr_chat_options": '.template_text = "{{ messages[0].content }}"',
    "tsr_generate_options": ".max_new_tokens = 1, .top_p = 1, .repeat_penalty = 1", "tsr_prompt": ".n_ids = 1, .ids = ids", "tsr_request": ".prompt = &start", "tsr_share_options": ".make = make_block, .take = take_block", "tsr_scheduler_options": ".slots = 2, .context = 16",
    "tsr_dump_inputs": ".B = 1, .T = 2, .input_ids = long_ids", "tsr_verify_options": '.level = 1, .op = "add"',
    "tsr_train_options": '.data = paths, .n_data = 1, .output = fresh(), .recipe = "char-gpt", .dry_run = 1', "tsr_cluster_options": ".k = 2",
    "tsr_training_batch": ".B = 1, .T = 3, .ids = ids, .targets = ids", "tsr_merge_options": ".n_lora = 1, .lora = paths", "tsr_bench_options": ".repeats = 1", "tsr_bench_suite_options": '.parts = "peaks"', "tsr_bench_row": '.test = "t", .unit = "s", .reason = ""', "tsr_tune_options": ".seconds = 0.1", "tsr_quantize_options": None,
}
# Calls that can't succeed on the reference device, or with these models; everything else is asked of them as well.
UNABLE = {"tsr_tune_model", "tsr_tune_shapes", "tsr_merge", "tsr_fill_mask", "tsr_classify_tokens", "tsr_evaluate_words", "tsr_bundle_export", "tsr_bundle_build", "tsr_profile"}
# Without its options, or with the first alone, every op is verified, and the whole suite measured.
TAKES_LONG = {(function, "options", kind) for function in ("tsr_verify", "tsr_bench_suite") for kind in ("NULL", "short", "first fields")}


def stripped(path):
    return re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)


def structs():
    """Names of the structs that begin with their size."""
    return {name for path in HEADERS for name in re.findall(r"typedef struct (tsr_\w+) \{\s*uint32_t struct_size", stripped(path))}


class Parameter:
    def __init__(self, text):
        pointer = re.fullmatch(r"(\w[\w ]*?)\s*\(\*(\w+)\)(\(.*\))", text)
        if pointer:
            self.name, self.kind, self.function = pointer[2], "", (pointer[1], pointer[3])
        else:
            kind, self.name, array = re.fullmatch(r"(.*?)(\w+)(\[\w*\])?", text).groups()
            self.kind, self.function = (kind + "*" if array else kind).strip(), None

    @property
    def is_pointer(self):
        return bool(self.function) or self.kind.endswith("*") and self.kind != "void *"

    def struct(self, names):
        """(its struct, whether it is read) where it is a pointer to one with a size."""
        match = re.fullmatch(r"(const )?(tsr_\w+) \*(const \*)?", self.kind)
        return (match[2], bool(match[1])) if match and match[2] in names else None


def functions():
    """{name: its parameters}, of those that return a status."""
    found = {}
    for path in HEADERS:
        for name, text in re.findall(r"TSR_API tsr_status (tsr_\w+)\(([^;]*)\);", stripped(path)):
            parts, depth, part = [], 0, ""
            for letter in " ".join(text.split()) + ",":
                depth += (letter == "(") - (letter == ")")
                if letter == "," and depth == 0:
                    parts.append(part.strip())
                    part = ""
                else:
                    part += letter
            found[name] = [Parameter(part) for part in parts if part != "void"]
    return found


class Program:
    """The C program: a world of objects, and a numbered case for each call."""

    def __init__(self, names):
        self.names, self.visitors, self.cases, self.labels = names, [], [], []

    def value(self, function, parameter):
        if parameter.function:
            result, arguments = parameter.function
            name = f"visit_{len(self.visitors)}"
            self.visitors.append(f"static {result} {name}{arguments} {{ {'return 0;' if result != 'void' else ''} }}")
            return name
        struct = parameter.struct(self.names)
        if struct:
            return f"({parameter.kind}){{0}}" if not struct[1] else "NULL"
        kind = re.sub(r"\bconst (?=\w)", "", parameter.kind)
        joined = f"{kind}{parameter.name}" if kind.endswith("*") else f"{kind} {parameter.name}"
        for key in (f"{function}:{parameter.name}", joined, kind):
            if key in VALUES:
                return VALUES[key]
        made = re.fullmatch(r"(tsr_\w+ \*)\*", kind)
        assert made, f"tests/api/structs.py has no value for the parameter \"{parameter.kind} {parameter.name}\" of {function}: add one to VALUES"
        return f"&({made[1]}){{0}}"

    def add(self, label, function, parameters, before="", changed=None, after=""):
        """A case: `changed` is {parameter's name: C}."""
        arguments, setup = [], []
        if label in TAKES_LONG:
            return
        for parameter in parameters:
            struct = parameter.struct(self.names)
            if changed and parameter.name in changed:
                arguments.append(changed[parameter.name])
            elif struct:  # whole, and what it should be
                name, read = struct
                fields = (FIELDS.get(name) or "") if read else ""
                setup.append(f"{name} {parameter.name}_ = {{.struct_size = sizeof {parameter.name}_{', ' + fields if fields else ''}}};")
                if "const *" in parameter.kind:
                    setup.append(f"const {name} *{parameter.name}_list[] = {{&{parameter.name}_, &{parameter.name}_}};")
                arguments.append(f"{parameter.name}_list" if "const *" in parameter.kind else f"&{parameter.name}_")
            else:
                arguments.append(self.value(function, parameter))
        self.cases.append(f"case {len(self.labels)}: {{ {' '.join(setup)} {before} const tsr_status s = {function}({', '.join(arguments)}); "
                          f"{after} return told(s); }}")
        self.labels.append(label)

    def struct_cases(self, function, parameters, parameter):
        name, read = parameter.struct(self.names)
        fields = (FIELDS.get(name) or "") if read else ""
        listed = "const *" in parameter.kind
        begin = f"{name} whole = {{.struct_size = sizeof whole{', ' + fields if fields else ''}}};"
        room = "_Alignas(16) unsigned char room[sizeof whole + 64];"
        given = {parameter.name: f"(const {name} *[]){{(const {name} *)room, (const {name} *)room}}" if listed else f"({name} *)room"}
        size = "memcpy(room, &(uint32_t){%s}, 4);"

        def case(kind, fill, after=""):
            self.add((function, parameter.name, kind), function, parameters, f"{begin} {room} {fill}", given, after)
        if read:
            case("whole", "memset(room, 0xA5, sizeof room); memcpy(room, &whole, sizeof whole);")
            case("first fields", "memset(room, 0, sizeof room); memcpy(room, &whole, 8);")
            case("short", "memset(room, 0xA5, sizeof room); memcpy(room, &whole, 8);" + size % "8")
            case("long", "memset(room, 0, sizeof room); memcpy(room, &whole, sizeof whole);" + size % "sizeof room")
            case("newer", "memset(room, 0, sizeof room); memcpy(room, &whole, sizeof whole); room[sizeof room - 1] = 1;" + size % "sizeof room")
            case("none", "memset(room, 0, sizeof room);")
        else:
            keeps = "if (!as_before(room, %s, sizeof room, %s)) return TOUCHED;"
            case("whole", "memset(room, 0x5A, sizeof room);" + size % "sizeof whole", keeps % ("sizeof whole", "sizeof whole"))
            case("short", "memset(room, 0x5A, sizeof room);" + size % "8", keeps % ("8", "8"))
            zeros = "for (size_t i = sizeof whole; s == TSR_OK && i < sizeof room; i++) if (room[i]) return TOUCHED;"
            case("long", "memset(room, 0x5A, sizeof room);" + size % "sizeof room", keeps % ("sizeof room", "sizeof room") + zeros)
            case("none", "memset(room, 0x5A, sizeof room);" + size % "0", keeps % ("4", "0"))

    def options_from_defaults(self):
        """tsr_generate takes the options that tsr_generate_defaults filled, of a program whose struct is longer, and was not zero."""
        fill = ("_Alignas(16) unsigned char room[sizeof(tsr_generate_options) + 64]; tsr_generate_options *options_room = (tsr_generate_options *)room; "
                "memset(room, 0x5A, sizeof room); memcpy(room, &(uint32_t){sizeof room}, 4); "
                "if (tsr_generate_defaults(translator, options_room) != TSR_OK) return 96; options_room->max_new_tokens = 1;")
        self.add(("tsr_generate", "options", "from defaults"), "tsr_generate", functions()["tsr_generate"], fill, {"options": "options_room"})

    def text(self, folder):
        return WORLD.replace("@FOLDER@", str(folder)).replace("@GOLDEN@", str(SOURCE / "tests/golden")).replace("@VISITORS@", "\n".join(self.visitors)).replace(
            "@CASES@", "\n".join(self.cases)).replace("@N@", str(len(self.cases)))


WORLD = r"""
#include "tessera/tessera.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define FOLDER "@FOLDER@"
#define GOLDEN "@GOLDEN@"
enum { SILENT = 98, TOUCHED = 99 };
static tsr_engine *engine; static tsr_device *device; static tsr_model *decoder, *encoder, *translator; static tsr_graph *graph;
static tsr_plot *plot; static tsr_attention *attention; static tsr_chat *chat; static tsr_answer *answer; static tsr_classifier *classifier; static tsr_embedder *embedder;
static tsr_model *answering, *ranking; static tsr_answerer *answerer; static tsr_ranker *ranker;
static tsr_vectors *vectors; static tsr_vectors_writer *writer; static tsr_session *session, *writing; static tsr_scheduler *scheduler; static tsr_share *share; static tsr_bench_training *training; static tsr_training *learner; static tsr_bench_file *results; static tsr_results *read_results; static const tsr_results *files_read[1];
static tsr_value value;
static const tsr_string strings[2] = {{"To be", 5}, {"or not", 6}};
static float numbers[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, many[1 << 20];
static uint32_t labels[16] = {0, 1, 1}; static int32_t ids[16] = {1, 2, 3}; static int64_t dims[8] = {2, 2}, long_ids[2] = {1, 2};
static tsr_hit hits[16]; static tsr_label_score scores[16]; static tsr_answer_score answer_scores[16];
static const tsr_prompt start = {.struct_size = sizeof start, .n_ids = 1, .ids = ids};
static const char *const paths[] = {FOLDER "/text.txt"};
static int take_generated(void *data, const tsr_generated *g) { return 0; }
static int take_part(void *data, const tsr_part *part) { return 0; }
static int take_event(void *data, const tsr_scheduler_event *e) { return 0; }
static int make_block(void *data, int wait, uint64_t most, const void **block, size_t *n) { *block = "a"; *n = 1; return 1; }
static int take_block(void *data, const void *result, size_t n) { return 0; }
static int take_translated(void *data, const tsr_translated *t) { return 0; }
static int next_line(void *data, int wait, const char **text, size_t *size) { return 0; }
@VISITORS@
static const char *fresh(void) { static char path[4096]; snprintf(path, sizeof path, FOLDER "/new-%ld", (long)getpid()); return path; }
static int told(tsr_status s) { if (s != TSR_OK) fprintf(stderr, "%s\n", tsr_error_last()); return s != TSR_OK && !*tsr_error_last() ? SILENT : (int)s; }
/* Whether the size is what was given, and every byte from `from` to `to` what was there. */
static int as_before(const unsigned char *room, size_t from, size_t to, uint32_t size) {
    uint32_t now; memcpy(&now, room, 4);
    for (size_t i = from; i < to; i++) if (room[i] != 0x5A) return 0;
    return now == size;
}
static int run_case(int n) { switch (n) {
@CASES@
} return 97; }
#define MUST(call) do { if ((call) != TSR_OK) { printf("world: %s: %s\n", #call, tsr_error_last()); exit(1); } } while (0)
int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    const tsr_engine_options alone = {.struct_size = sizeof alone, .device = "reference"};
    MUST(tsr_engine_create(&alone, &engine)); MUST(tsr_device_open(engine, "reference", NULL, &device));
    MUST(tsr_model_open("shakespeare", device, NULL, &decoder)); MUST(tsr_model_open("intents", device, NULL, &encoder));
    MUST(tsr_model_open("translate-de-en", device, NULL, &translator)); MUST(tsr_graph_create(device, &graph)); MUST(tsr_plot_create(&plot));
    MUST(tsr_plot_add(plot, FOLDER "/log.jsonl", "a", NULL)); MUST(tsr_attention_create(decoder, "To be", 5, NULL, &attention));
    const tsr_generate_options one = {.struct_size = sizeof one, .max_new_tokens = 1, .top_p = 1, .repeat_penalty = 1};
    const tsr_chat_options plainly = {.struct_size = sizeof plainly, .template_text = "{{ messages[0].content }}"};
    MUST(tsr_answer_create(decoder, "To be", 5, &answer)); MUST(tsr_chat_create(decoder, &plainly, &one, &chat)); MUST(tsr_classifier_create(encoder, NULL, &classifier));
    MUST(tsr_model_open(GOLDEN "/answers/word_piece", device, NULL, &answering)); MUST(tsr_answerer_create(answering, NULL, &answerer));
    MUST(tsr_model_open(GOLDEN "/ranks/qwen3", device, NULL, &ranking)); MUST(tsr_ranker_create(ranking, NULL, &ranker));
    MUST(tsr_embedder_create(encoder, NULL, &embedder)); MUST(tsr_vectors_create(FOLDER "/vectors.npy", 4, &writer));
    MUST(tsr_vectors_append(writer, numbers, 4)); MUST(tsr_vectors_commit(&writer)); MUST(tsr_vectors_open(FOLDER "/vectors.npy", &vectors));
    MUST(tsr_vectors_create(FOLDER "/more.npy", 4, &writer)); 
    const tsr_session_options pair = {.struct_size = sizeof pair, .sequences = 2, .context = 16};
    MUST(tsr_session_create(decoder, &pair, &session)); MUST(tsr_session_create(translator, &pair, &writing));
    const tsr_scheduler_options few = {.struct_size = sizeof few, .slots = 2, .context = 16};
    const tsr_request asked = {.struct_size = sizeof asked, .prompt = &start}; uint64_t number;
    const tsr_share_options sharing = {.struct_size = sizeof sharing, .make = make_block, .take = take_block};
    const void *block; size_t size;
    MUST(tsr_share_begin(NULL, &sharing, &share)); MUST(tsr_share_next(share, 1, &block, &size));
    MUST(tsr_scheduler_create(decoder, &few, &scheduler)); MUST(tsr_scheduler_add(scheduler, &asked, &number));
    MUST(tsr_bench_training_create("shakespeare", device, 1, 4, TSR_COMPUTE_F32, &training));
    MUST(tsr_training_create("shakespeare", device, NULL, &learner));
    const tsr_training_batch seen = {.struct_size = sizeof seen, .B = 1, .T = 3, .ids = ids, .targets = ids};
    MUST(tsr_training_gradients(learner, &seen, 1, NULL));
    tsr_device_info first = {.struct_size = sizeof first, .facts = {.struct_size = sizeof first.facts}};
    MUST(tsr_results_open(FOLDER "/run.json", &read_results)); files_read[0] = read_results;
    MUST(tsr_bench_file_create(NULL, &results)); MUST(tsr_device_info_get(engine, 0, &first)); MUST(tsr_bench_file_device(results, &first, 0));
    value = tsr_graph_input(graph, "x", TSR_F32, 2, dims, numbers);
    tsr_graph_output(graph, "y", value, many, 4 * sizeof *many);
    fflush(stdout);
    for (int n = 0; n < @N@; n++) {
        const pid_t child = fork();
        if (child == 0) _exit(run_case(n));
        int how = 0; waitpid(child, &how, 0);
        printf("%d %d\n", n, WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how));
    }
}
"""
OK, ARGUMENT, UNSUPPORTED, SILENT, TOUCHED = 0, 1, 2, 98, 99


def test_every_function_and_struct(folder):
    names, program = structs(), None
    program = Program(names)
    passed = set()
    for function, parameters in functions().items():
        program.add((function, None, "call"), function, parameters)
        for parameter in parameters:
            if parameter.struct(names):
                passed.add(parameter.struct(names)[0])
                program.struct_cases(function, parameters, parameter)
            if parameter.is_pointer:
                program.add((function, parameter.name, "NULL"), function, parameters, changed={parameter.name: "NULL"})
    program.options_from_defaults()
    (folder / "text.txt").write_text("To be, or not to be, that is the question.\n" * 40)
    write_results(folder / "run.json")
    (folder / "log.jsonl").write_text('{"step": 1, "loss": 2.0}\n{"step": 2, "loss": 1.0}\n')
    (folder / "dump.json").write_text('{"input_ids": [[1, 2]]}')
    source, binary = folder / "calls.c", folder / "calls"
    source.write_text(program.text(folder))
    flags = os.environ.get("TESSERA_SANITIZE_FLAGS", "").split()
    library = BUILD / "lib"
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-D_GNU_SOURCE", "-g", "-Werror", *flags, f"-I{INCLUDE.parent}", str(source), "-o", str(binary),
                    f"-L{library}", "-ltessera", f"-Wl,-rpath,{library}"], check=True)
    done = subprocess.run([str(binary)], capture_output=True, text=True, env=environment(TESSERA_CACHE=str(folder / "cache"), ASAN_OPTIONS="detect_leaks=0"), check=False)
    assert done.returncode == 0, f"{done.returncode}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
    status = dict(zip(program.labels, (int(line.split()[1]) for line in done.stdout.splitlines())))
    assert len(status) == len(program.labels), done.stdout[-500:] + done.stderr[-2000:]
    wrong = []
    for (function, parameter, kind), got in status.items():
        read = (function, parameter, "first fields") in status
        base = status[(function, None, "call")]
        if kind == "call":
            fine = got == OK or function in UNABLE and 0 < got < SILENT
        elif kind == "NULL":
            fine = got in (OK, ARGUMENT) or (function in UNABLE or (function in ("tsr_chat_create", "tsr_chat_render", "tsr_chat_prompt_create") and parameter == "chat")) and 0 < got < SILENT
        elif kind == "newer":
            fine = got == UNSUPPORTED
        elif kind == "none":
            fine = got == ARGUMENT
        elif kind == "first fields":
            fine = 0 <= got < SILENT
        elif kind == "short" and read:
            fine = got == status[(function, parameter, "first fields")]
        else:
            fine = got == base
        if not fine:
            wrong.append(f"{function}{f', {parameter}' if parameter else ''}: {kind}: {got}")
    unused = names - passed - CALLED_BACK
    assert not unused, f"no function takes {sorted(unused)}: of structs that callbacks get, CALLED_BACK is the list"
    assert not wrong, f"{len(wrong)} of {len(status)}:\n" + "\n".join(wrong)


# Structs that the library fills for a callback to read.
CALLED_BACK = {"tsr_compared", "tsr_explained", "tsr_fill", "tsr_model_found", "tsr_part", "tsr_profiled", "tsr_scheduler_event", "tsr_token_vectors", "tsr_train_event", "tsr_train_plan",
               "tsr_translated", "tsr_tune_result", "tsr_verify_result"}

main(globals())
