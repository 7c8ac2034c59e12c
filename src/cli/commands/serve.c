/* cli/commands/serve.c - tessera serve: a model at an HTTP address, with OpenAI's interface. */
#include "cli/serve/serve.h"

#include "cli/commands/commands.h"
#include "cli/shared/embedding.h"

#include <stdlib.h>

int tsri_cli_serve(int argc, char **argv) {
    tsri_cli_app app = {0};
    tsri_serve_options o = {.app = &app,
                            .host = "127.0.0.1",
                            .port = 8080,
                            .slots = 8,
                            .queue = 256,
                            .connections = 1024,
                            .body = 8,
                            .idle = 60,
                            .header = 10,
                            .upload = 300,
                            .drain = 30,
                            .speculate = -1};
    tsri_cli_list operands = {0};
    const tsri_cli_option own[] = {
        {"model", 'm', CLI_LIST, &o.models, "[NAME=]MODEL[+ADAPTER]..[+task:TASK]",
         "a folder (Hugging Face or CTranslate2), a .gguf or llama2.c .bin file, or a name, as in "
         "every command; may be given several times: each model does what it is made for (text, "
         "vectors, ranks), and a request chooses one by its name. +ADAPTER adds this LoRA "
         "adapter (a folder in PEFT's layout) to the model's weights, +task:TASK the one that the "
         "model's own files have for this task; the name is then the adapter's or the task's",
         0, 0, NULL},
        {"host", 0, CLI_TEXT, &o.host, "ADDRESS",
         "listen there; default 127.0.0.1, this machine alone", 0, 0, NULL},
        {"port", 0, CLI_INT, &o.port, "N",
         "listen on this port; 0: a free one, which is printed; default 8080", 0, 65535, NULL},
        {"alias", 0, CLI_TEXT, &o.alias, "NAME",
         "the first model's name for clients; default: NAME of -m, else the name of the model, its "
         "folder or file",
         0, 0, NULL},
        {"chat-template", 0, CLI_TEXT, &o.template_file, "FILE",
         "the chat template (Jinja) of the first model that writes; default: the model's own", 0, 0,
         NULL},
        {"slots", 0, CLI_INT, &o.slots, "N",
         "requests that are answered at the same time, each of at most a context of tokens (-c; "
         "default "
         "4096 or what the model reads); default 8",
         1, 1024, NULL},
        {"kv-tokens", 0, CLI_INT, &o.kv_tokens, "N",
         "keep the keys and values of N tokens in memory, those of all requests together; where "
         "they are too "
         "few, the newest request waits; default: half of --slots contexts (-c), but at least one",
         1, 1e12, NULL},
        {"step-tokens", 0, CLI_INT, &o.step_tokens, "N",
         "process at most N prompt tokens per step (default: while answers are running, 64 to 512, "
         "as many as take no longer than a step of the answers)",
         1, 1e9, NULL},
        {"rank", 0, CLI_FLAG, &o.rank, NULL,
         "language models rank documents (Qwen3-Reranker) instead of writing text", 0, 0, NULL},
        {"pooling", 0, CLI_WORD, &o.pooling, TSRI_CLI_POOLINGS,
         "every model gives vectors, a language model, too, each made of its tokens' in this way "
         "(default: encoders and bare decoders, such as LlamaModel, as in tessera embed)",
         0, 0, NULL},
        {"speculate", 0, CLI_INT, &o.speculate, "N",
         "guess up to N tokens of a step from the text of a request, which saves time where it "
         "repeats "
         "itself and changes no answer; 0: none (default: up to 7, where it gains)",
         0, 7, NULL},
        {"queue", 0, CLI_INT, &o.queue, "N",
         "requests that wait at most, where each answer to a request for text counts as one; "
         "others get status 503; default 256",
         1, 1e6, NULL},
        {"api-key", 0, CLI_TEXT, &o.key, "KEY", "want this key in each request (as Bearer)", 0, 0,
         NULL},
        {"api-key-file", 0, CLI_TEXT, &o.key_file, "FILE",
         "want one of this file's keys, one a line; blanks around a key, and lines that begin with "
         "#, are left out",
         0, 0, NULL},
        {"cors-origin", 0, CLI_LIST, &o.origins, "ORIGIN",
         "let pages of this origin, as https://app.example.org, use the server from a browser; * "
         "for all; may be given several times; default: none but the server's own page",
         0, 0, NULL},
        {"tls-cert", 0, CLI_TEXT, &o.certificate_file, "FILE",
         "speak HTTPS with this certificate (PEM)", 0, 0, NULL},
        {"tls-key", 0, CLI_TEXT, &o.certificate_key_file, "FILE", "the certificate's key (PEM)", 0,
         0, NULL},
        {"max-body", 0, CLI_INT, &o.body, "MIB", "the largest body of a request; default 8", 1,
         1024, NULL},
        {"max-prompt-tokens", 0, CLI_INT, &o.prompt_tokens, "N",
         "refuse requests for text with a longer prompt; default: what a context holds (-c)", 1,
         1e9, NULL},
        {"max-new-tokens", 0, CLI_INT, &o.new_tokens, "N",
         "limit each request to N generated tokens, summed over all its answers. A request that "
         "asks for more is refused; without max_tokens, the N tokens are divided equally among its "
         "answers; default: what a context holds",
         1, 1e9, NULL},
        {"max-connections", 0, CLI_INT, &o.connections, "N",
         "open connections at most; default 1024", 1, 65536, NULL},
        {"idle-timeout", 0, CLI_INT, &o.idle, "S",
         "end a connection after so many seconds without a byte; default 60", 1, 86400, NULL},
        {"header-timeout", 0, CLI_INT, &o.header, "S",
         "end a connection whose first request has no complete header by then, or a later one "
         "within this and --idle-timeout together; default 10",
         1, 3600, NULL},
        {"body-timeout", 0, CLI_INT, &o.upload, "S",
         "end a connection whose request has no complete body so many seconds after the header; "
         "each 64 KiB of the body give one more; default 300",
         1, 86400, NULL},
        {"drain", 0, CLI_INT, &o.drain, "S",
         "after SIGTERM, running requests have so many seconds; default 30", 0, 3600, NULL},
        {"log-requests", 0, CLI_FLAG, &o.log, NULL,
         "write a line on stderr for each request when it is complete, without its text: status, "
         "model, tokens, times, whether the client left",
         0, 0, NULL},
        {"log-format", 0, CLI_WORD, &o.log_format, "text|json",
         "the same lines as text (the default) or as JSON", 0, 0, NULL},
        {"log-prompts", 0, CLI_FLAG, &o.log_prompts, NULL,
         "the same lines with what users wrote, and with errors that may quote it", 0, 0, NULL},
        {0}};
    /* The first of the models' options is -m, which is our own here. */
    const tsri_cli_option *tables[] = {own, tsri_cli_model_options(&app) + 1,
                                       tsri_cli_device_options(&app), tsri_cli_common_options(&app),
                                       NULL};
    int code = tsri_cli_parse(
        argc, argv, "tessera serve [-m [NAME=]MODEL[+ADAPTER]..[+task:TASK]].. [options]",
        "Serves models over HTTP, with OpenAI's interface: chat, completions, embeddings, and "
        "documents ranked by a cross-encoder. "
        "Requests that come at the same time share the device, and each gets the bytes that it "
        "gets alone. Without -m, the bundled model shakespeare is served. A signal "
        "(Ctrl-C, SIGTERM) ends it.",
        tables, &operands);
    if (code == CLI_OK && operands.n)
        code = tsri_cli_fail(CLI_USAGE, "%s: serve takes no operands; see tessera help serve",
                             operands.items[0]);
    if (code == CLI_OK && o.rank && o.pooling)
        code =
            tsri_cli_fail(CLI_USAGE, "a language model either ranks or gives vectors: give --rank "
                                     "or --pooling");
    if (code == CLI_OK)
        code = tsri_serve_run(&o);
    free(operands.items);
    free(o.models.items);
    free(o.origins.items);
    return tsri_cli_close(&app, code);
}
