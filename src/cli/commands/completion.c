/* cli/commands/completion.c - tessera completion: prints the script that makes a shell complete
 * tessera's commands and options; the script asks tessera completion --words for candidates. */
#include "cli/base/app.h"
#include "cli/base/complete.h"
#include "cli/commands/commands.h"

#include <stdlib.h>
#include <string.h>

/* The word to complete is passed without what quotes it: the model "my model" begins with my\ mo. The
 * shells quote what they insert. */
static const char bash[] =
    "# bash completion for tessera; made by: tessera completion bash\n"
    "_tessera() {\n"
    "    local line word=${COMP_WORDS[COMP_CWORD]#[\\\"\\']}\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        case $line in\n"
    "        :files) compopt -o filenames && mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen "
    "-f -- \"${COMP_WORDS[COMP_CWORD]#=}\") ;;\n"
    "        :folders) compopt -o filenames && mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < "
    "<(compgen -d -- \"${COMP_WORDS[COMP_CWORD]#=}\") ;;\n"
    "        *=$'\\t'*) compopt -o nospace && COMPREPLY+=(\"${line%%$'\\t'*}\") ;;\n"
    "        *) COMPREPLY+=(\"${line%%$'\\t'*}\") ;;\n"
    "        esac\n"
    "    done < <(\"${COMP_WORDS[0]}\" completion --words "
    "\"${COMP_WORDS[@]:1:COMP_CWORD-1}\" \"${word//\\\\/}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _tessera tessera\n";

static const char zsh[] = "#compdef tessera\n"
                          "# zsh completion for tessera; made by: tessera completion zsh\n"
                          "_tessera() {\n"
                          "    local line name files ret=1\n"
                          "    local -a candidates\n"
                          "    for line in \"${(@f)$(\"${words[1]}\" completion --words "
                          "\"${(@Q)words[2,CURRENT]}\" 2>/dev/null)}\"; do\n"
                          "        name=${line%%$'\\t'*}\n"
                          "        case $line in\n"
                          "        :files|:folders) files=$line ;;\n"
                          "        '') ;;\n"
                          "        *) candidates+=(\"${name//:/\\\\:}:${line#*$'\\t'}\") ;;\n"
                          "        esac\n"
                          "    done\n"
                          "    (( $#candidates )) && _describe tessera candidates && ret=0\n"
                          "    compset -P 1 '--*=' # the name of a file stands behind it\n"
                          "    case $files in\n"
                          "    :files) _files && ret=0 ;;\n"
                          "    :folders) _files -/ && ret=0 ;;\n"
                          "    esac\n"
                          "    return ret\n"
                          "}\n"
                          "if [ \"$funcstack[1]\" = _tessera ]; then _tessera \"$@\"; else compdef "
                          "_tessera tessera; fi\n";

static const char fish[] =
    "# fish completion for tessera; made by: tessera completion fish\n"
    "function __tessera_complete\n"
    "    set -l words (commandline -opc)\n"
    "    set -l word (string unescape -- (commandline -ct))\n"
    "    set -l option (string match -r -- '^--[^=]+=' \"$word\")\n"
    "    set -l path (string replace -r -- '^--[^=]+=' '' \"$word\")\n"
    "    for line in ($words[1] completion --words $words[2..-1] \"$word\" 2>/dev/null)\n"
    "        switch $line\n"
    "            case :files\n"
    "                for name in (__fish_complete_path \"$path\")\n"
    "                    echo \"$option$name\"\n"
    "                end\n"
    "            case :folders\n"
    "                for name in (__fish_complete_directories \"$path\")\n"
    "                    echo \"$option$name\"\n"
    "                end\n"
    "            case '*'\n"
    "                echo $line\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c tessera -f -a '(__tessera_complete)'\n";

static const struct {
    const char *name, *script;
} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

/* ---- candidates ---- */

static void offer_verbs(const char *command) {
    for (const tsri_cli_verb *v = tsri_cli_verbs; v->command; v++)
        if (!strcmp(v->command, command))
            tsri_cli_complete_offer(v->word, v->about);
}

/* Words behind "tessera"; the last is the one to complete. */
static int candidates(const char *const *words, size_t n) {
    tsri_cli_complete_begin(words, n);
    if (n < 2) {
        for (const tsri_cli_command *c = tsri_cli_commands; c->name; c++)
            tsri_cli_complete_offer(c->name, c->about);
        tsri_cli_complete_offer("help", "list a command's options");
        tsri_cli_complete_offer("--version", "print the version");
        return CLI_OK;
    }
    if (!strcmp(words[0], "help")) {
        for (const tsri_cli_command *c = tsri_cli_commands; n == 2 && c->name; c++)
            tsri_cli_complete_offer(c->name, c->about);
        if (n == 2)
            tsri_cli_complete_offer("environment", "list the environment variables");
        else if (n == 3)
            offer_verbs(words[1]);
        return CLI_OK;
    }
    const tsri_cli_command *command = tsri_cli_find_command(words[0]);
    if (!command)
        return CLI_OK;
    if (!strcmp(words[0], "completion")) {
        for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
            tsri_cli_complete_offer(shells[i].name, "shell");
        return CLI_OK;
    }
    if (n == 2)
        offer_verbs(words[0]);
    const tsri_cli_verb *verb = n > 2 ? tsri_cli_find_verb(words[0], words[1]) : NULL;
    tsri_cli_help_as(&tsri_cli_candidates);
    return tsri_cli_help_of(command, verb);
}

int tsri_cli_completion(int argc, char **argv) {
    tsri_cli_app app = {0};
    tsri_cli_list operands = {0};
    if (argc > 1 && !strcmp(argv[1], "--words"))
        return tsri_cli_close(&app, candidates((const char *const *)argv + 2, (size_t)argc - 2));
    const tsri_cli_option *tables[] = {NULL};
    int code = tsri_cli_parse(argc, argv, "tessera completion bash|zsh|fish",
                              "Prints a script for a shell. For this shell alone: eval \"$(tessera "
                              "completion bash)\"; a package or\ncmake --install puts the scripts "
                              "where the shells look for them. Commands, options, models, devices,"
                              "\nrecipes, ops, kernel variants and files are completed.",
                              tables, &operands);
    if (code == CLI_OK && operands.n != 1)
        code = tsri_cli_fail(CLI_USAGE, "completion needs the name of a shell: bash, zsh or fish");
    const char *script = NULL;
    for (size_t i = 0; code == CLI_OK && i < sizeof shells / sizeof *shells; i++)
        if (!strcmp(operands.items[0], shells[i].name))
            script = shells[i].script;
    if (code == CLI_OK && !script)
        code = tsri_cli_fail(CLI_USAGE, "%s: give bash, zsh or fish", operands.items[0]);
    if (script)
        tsri_cli_write(&app, script, strlen(script));
    free(operands.items);
    return tsri_cli_close(&app, code);
}
