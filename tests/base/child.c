/* Other programs: what they are given and what they say, how they end, and that one which can't be started is
 * an error that leaves nothing open. */
#include "base/system/child.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GRACE_MS = 600000 }; /* on a busy machine, too */

static const char *const none[] = {NULL};

/* A command of the shell, with its output to this process. */
static tsri_system_command shell(const char *const argv[4]) {
    return (tsri_system_command){.program = "/bin/sh",
                                 .argv = argv,
                                 .in = TSRI_SYSTEM_NOWHERE,
                                 .out = TSRI_SYSTEM_PIPED,
                                 .err = TSRI_SYSTEM_NOWHERE};
}

#define SHELL(text) shell((const char *const[]){"sh", "-c", text, NULL})

static void hear(const tsri_system_child *child, char *text, size_t room) {
    ptrdiff_t n;
    size_t size = 0;
    while ((n = tsri_system_child_read(child, text + size, room - 1 - size)) > 0)
        size += (size_t)n;
    cr_assert_eq(n, 0);
    text[size] = 0;
}

static void expect_end(tsri_system_child *child, int code, int number) {
    cr_assert_eq(tsri_system_child_wait(child, -1), 1);
    cr_expect_eq(child->code, code, "exit code %d", child->code);
    cr_expect_eq(child->signal, number, "signal %d", child->signal);
    cr_expect_eq(child->process, 0);
    tsri_system_child_close(child);
}

/* How many files this process has open. */
static int open_files(void) {
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

Test(child, its_output_and_exit_code_are_told) {
    const int before = open_files();
    tsri_system_command command = SHELL("echo one; echo lost >&2; cat; echo two; exit 7");
    tsri_system_child child;
    char text[64];
    cr_assert_eq(tsri_system_child_start(&command, &child), 0);
    hear(&child, text, sizeof text);
    cr_expect_str_eq(text, "one\ntwo\n");
    expect_end(&child, 7, 0);
    cr_expect_gt(child.memory, 1000);
    cr_expect_eq(open_files(), before, "%d files more are open", open_files() - before);
}

Test(child, it_is_given_the_streams_that_were_asked_for) {
    tsri_system_command command = SHELL("read a; read b; echo \"$b$a\"; echo wrong >&2");
    tsri_system_child child;
    char text[64];
    command.in = TSRI_SYSTEM_PIPED;
    command.err = TSRI_SYSTEM_PIPED;
    cr_assert_eq(tsri_system_child_start(&command, &child), 0);
    cr_expect(tsri_system_child_write(&child, "first\n", 6));
    cr_expect(tsri_system_child_write(&child, "second\n", 7));
    hear(&child, text, sizeof text);
    cr_expect_str_eq(text, "secondfirst\n");
    cr_expect_eq(read((int)child.err, text, sizeof text), 6);
    cr_expect(!strncmp(text, "wrong\n", 6));
    expect_end(&child, 0, 0);
}

Test(child, it_gets_its_streams_where_this_process_has_closed_its_own) {
    tsri_system_command command = SHELL("read a; echo \"<$a>\"");
    tsri_system_child child;
    char text[64];
    command.in = TSRI_SYSTEM_PIPED;
    const int kept = dup(2);
    close(0), close(1), close(2);
    const int failed = tsri_system_child_start(&command, &child);
    const bool wrote = !failed && tsri_system_child_write(&child, "word\n", 5);
    dup2(kept, 2);
    cr_assert_eq(failed, 0);
    cr_expect(wrote);
    cr_expect(child.in > 2 && child.out > 2);
    hear(&child, text, sizeof text);
    cr_expect_str_eq(text, "<word>\n");
    expect_end(&child, 0, 0);
}

Test(child, words_for_one_that_has_ended_raise_no_signal) {
    tsri_system_command command = SHELL("exit 3");
    tsri_system_child child;
    char text[8];
    command.in = TSRI_SYSTEM_PIPED;
    signal(SIGPIPE, SIG_DFL);
    cr_assert_eq(tsri_system_child_start(&command, &child), 0);
    hear(&child, text, sizeof text);
    cr_expect_not(tsri_system_child_write(&child, "word\n", 5));
    expect_end(&child, 3, 0);
}

Test(child, its_environment_is_this_one_but_for_what_is_changed) {
    static const char *const names[] = {"CHILD_LEFT_OUT", "CHILD_REPLACED", NULL};
    tsri_system_command command =
        SHELL("echo \"$CHILD_KEPT,$CHILD_LEFT_OUT,$CHILD_REPLACED,$CHILD_REPLACED_NOT\"");
    tsri_system_child child;
    char text[64];
    size_t n = 0, all = 0;
    setenv("CHILD_KEPT", "kept", 1);
    setenv("CHILD_LEFT_OUT", "there", 1);
    setenv("CHILD_REPLACED", "old", 1);
    setenv("CHILD_REPLACED_NOT", "as it is", 1);
    const char **whole = tsri_system_environment(none, 0, &all);
    const char **env = tsri_system_environment(names, 1, &n);
    cr_assert(whole && env);
    cr_expect_eq(n, all - 2);
    cr_expect_null(whole[all]);
    env[n] = "CHILD_REPLACED=new";
    cr_expect_null(env[n + 1]);
    command.env = env;
    cr_assert_eq(tsri_system_child_start(&command, &child), 0);
    hear(&child, text, sizeof text);
    cr_expect_str_eq(text, "kept,,new,as it is\n");
    expect_end(&child, 0, 0);
    free(whole);
    free(env);
}

Test(child, one_that_ends_by_a_signal_says_so) {
    const tsri_system_command command = SHELL("kill -SEGV $$");
    tsri_system_child child;
    cr_assert_eq(tsri_system_child_start(&command, &child), 0);
    expect_end(&child, 0, SIGSEGV);
}

Test(child, it_is_ended_at_a_deadline) {
    const tsri_system_command command = SHELL("exec sleep 600");
    tsri_system_child child;
    cr_assert_eq(tsri_system_child_start(&command, &child), 0);
    cr_expect_eq(tsri_system_child_wait(&child, 0), 0);
    cr_expect_eq(tsri_system_child_wait(&child, 20), 0);
    cr_assert_neq(child.process, 0);
    tsri_system_child_end(&child, GRACE_MS);
    cr_expect_eq(child.process, 0);
    cr_expect_eq(child.signal, SIGTERM);
    tsri_system_child_end(&child, GRACE_MS); /* does nothing */
    tsri_system_child_close(&child);
}

Test(child, one_that_does_not_heed_the_request_is_killed) {
    const tsri_system_command command = SHELL("trap '' TERM; echo deaf; while :; do sleep 1; done");
    tsri_system_child child;
    char text[8] = "";
    for (int grace = 0; grace <= 20; grace += 20) {
        cr_assert_eq(tsri_system_child_start(&command, &child), 0);
        cr_expect_eq(tsri_system_child_read(&child, text, sizeof text), 5);
        tsri_system_child_end(&child, grace);
        cr_expect_eq(child.signal, SIGKILL);
        tsri_system_child_close(&child);
    }
}

static volatile sig_atomic_t alarms;

static void count_alarm(int number) {
    (void)number;
    alarms = alarms + 1;
}

Test(child, a_signal_interrupts_a_wait_without_limit) {
    const tsri_system_command command = SHELL("exec sleep 600");
    const struct sigaction action = {.sa_handler = count_alarm};
    tsri_system_child child;
    cr_assert_eq(tsri_system_child_start(&command, &child), 0);
    sigaction(SIGALRM, &action, NULL);
    alarm(1);
    while (!alarms)
        cr_assert_eq(tsri_system_child_wait(&child, -1), 0);
    tsri_system_child_ask(&child);
    expect_end(&child, 0, SIGTERM);
}

Test(child, one_apart_has_its_own_group_and_no_blocked_signal) {
    tsri_system_command command = SHELL("kill -TERM $$; echo blocked");
    tsri_system_child child;
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
    command.apart = true;
    cr_assert_eq(tsri_system_child_start(&command, &child), 0);
    cr_expect_neq(getpgid((pid_t)child.process), getpgrp());
    expect_end(&child, 0, SIGTERM);
}

Test(child, the_processor_time_of_one_that_works_grows) {
    const tsri_system_command command = SHELL("while :; do :; done");
    tsri_system_child child;
    cr_assert_eq(tsri_system_child_start(&command, &child), 0);
#ifdef __linux__
    for (int i = 0; i < 6000 && tsri_system_child_used(&child) < 20000000u; i++)
        cr_assert_eq(tsri_system_child_wait(&child, 10), 0);
    cr_expect_geq(tsri_system_child_used(&child), 20000000u);
#endif
    tsri_system_child_end(&child, 0);
    tsri_system_child_close(&child);
}

Test(child, a_program_that_does_not_exist_is_one_error) {
    const int before = open_files();
    const char *const argv[] = {"missing", NULL};
    const tsri_system_command command = {.program = "/no/such/program",
                                         .argv = argv,
                                         .in = TSRI_SYSTEM_PIPED,
                                         .out = TSRI_SYSTEM_PIPED,
                                         .err = TSRI_SYSTEM_PIPED};
    tsri_system_child child = {.process = 5};
    cr_expect_eq(tsri_system_child_start(&command, &child), ENOENT);
    cr_expect_eq(child.process, 0);
    cr_expect(!child.in && !child.out && !child.err);
    cr_expect_eq(open_files(), before, "%d files more are open", open_files() - before);
    tsri_system_child_end(&child, GRACE_MS);
    tsri_system_child_close(&child);
}
