/* backends/opencl/device/exit.c - the process's open devices, whose work is finished before the
 * process exits. */
#include "backends/opencl/device/exit.h"
#include "backends/opencl/device/failure.h"
#include "backends/opencl/driver/host.h"
#include "backends/opencl/driver/marker.h"

#include <pthread.h>

/* Drivers crash when a process exits while work is in flight, so the exit handler must find every
 * open device. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static tsr_dev *open_devices;

void tsri_opencl_drain_all(void) {
    if (tsri_opencl_forked())
        return;
    pthread_mutex_lock(&open_lock);
    for (tsr_dev *dev = open_devices; dev; dev = dev->next) {
        tsri_opencl_come_to_rest(dev);
        tsri_opencl_unmark(&dev->marker);
    }
    pthread_mutex_unlock(&open_lock);
}

void tsri_opencl_list(tsr_dev *dev) {
    pthread_mutex_lock(&open_lock);
    dev->next = open_devices;
    open_devices = dev;
    pthread_mutex_unlock(&open_lock);
}

void tsri_opencl_unlist(tsr_dev *dev) {
    pthread_mutex_lock(&open_lock);
    for (tsr_dev **at = &open_devices; *at; at = &(*at)->next)
        if (*at == dev) {
            *at = dev->next;
            break;
        }
    pthread_mutex_unlock(&open_lock);
}

void tsri_opencl_leave(tsr_dev *dev) {
    static tsr_dev *left;
    pthread_mutex_lock(&open_lock);
    dev->next = left;
    left = dev;
    pthread_mutex_unlock(&open_lock);
}
