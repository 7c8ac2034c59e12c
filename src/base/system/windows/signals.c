/* base/system/windows/signals.c - signals that arrive, and an event that wakes a thread. */
#include "base/system/system.h"

#include <signal.h>
#include <windows.h>

/* Of one signal: the C library resets its handler. */
void tsri_system_on_stop(void (*handler)(int number)) {
    signal(SIGINT, handler);
    signal(SIGTERM, handler);
}

/* Only drivers are known to crash, and this build has no backend with drivers. */
void tsri_system_on_crash(void (*handler)(int number)) {
    (void)handler;
}

const char *tsri_system_signal_name(int number) {
    return number == SIGINT ? "INT" : number == SIGTERM ? "TERM" : "?";
}

bool tsri_system_waker_open(tsri_system_waker *waker) {
    const HANDLE event = CreateEventW(NULL, FALSE, FALSE, NULL);
    if (!event)
        return false;
    waker->ends[0] = waker->ends[1] = (intptr_t)event;
    return true;
}

void tsri_system_wake(const tsri_system_waker *waker) {
    if (waker->ends[1] != -1)
        SetEvent((HANDLE)waker->ends[1]);
}

void tsri_system_wait(const tsri_system_waker *waker, int milliseconds) {
    WaitForSingleObject((HANDLE)waker->ends[0], milliseconds < 0 ? INFINITE : (DWORD)milliseconds);
}
