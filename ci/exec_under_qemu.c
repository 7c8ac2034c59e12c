/* ci/exec_under_qemu.c - preloaded into programs that qemu-user runs, so that they can start others of their kind: the kernel refuses
 * a program for another processor where qemu is not registered for it, which needs rights over the machine. Criterion starts each test
 * by execve. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int execve_function(const char *path, char *const argv[], char *const envp[]);

static size_t length(char *const *list) {
    size_t n = 0;
    while (list[n])
        n++;
    return n;
}

/* QEMU and QEMU_ROOT: the emulator, and the folder with the libraries of its programs. Both must be set. */
int execve(const char *path, char *const argv[], char *const envp[]) {
    execve_function *real = (execve_function *)dlsym(RTLD_NEXT, "execve");
    char *emulator = getenv("QEMU"), *root = getenv("QEMU_ROOT"), self[4096] = "";
    if (strcmp(path, "/proc/self/exe") == 0 && readlink(path, self, sizeof self - 1) > 0) /* it would be the emulator's */
        path = self;
    char *const head[] = {emulator, "-L", root, "-0", argv[0], (char *)path};
    const size_t n_head = sizeof head / sizeof *head, n = length(argv);
    char **args = calloc(n_head + n + 1, sizeof *args), **environment = calloc(length(envp) + 1, sizeof *environment);
    if (!args || !environment || !emulator || !root)
        abort();
    memcpy(args, head, sizeof head);
    memcpy(args + n_head, argv + 1, (n ? n - 1 : 0) * sizeof *argv);
    /* The emulator itself must not preload this library; QEMU_SET_ENV says that its program does. */
    for (size_t to = 0; *envp; envp++)
        if (strncmp(*envp, "LD_PRELOAD=", 11) != 0)
            environment[to++] = *envp;
    return real(emulator, args, environment);
}
