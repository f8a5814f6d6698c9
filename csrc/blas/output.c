/* Writes without locks and without signals. */
#define _GNU_SOURCE
#include "blas/output.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static int write_all(int file, const char *text, size_t bytes)
{
    while (bytes) {
        const ssize_t written = write(file, text, bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return 0;
        text += written;
        bytes -= (size_t)written;
    }
    return 1;
}

/* Returns the signal that a write with this error has caused, or 0. */
static int signal_of(int error)
{
    if (error == EPIPE) return SIGPIPE;
    return error == EFBIG ? SIGXFSZ : 0;
}

static void take_signal(int number)
{
    const struct timespec now = {0, 0};
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, number);
    sigtimedwait(&own, NULL, &now);
}

int hs__write(int file, const char *text, size_t bytes)
{
    const int error = errno;
    sigset_t caused, before, pending;
    sigemptyset(&caused);
    sigaddset(&caused, SIGPIPE);
    sigaddset(&caused, SIGXFSZ);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &caused, &before);
    const int is_whole = write_all(file, text, bytes);
    const int number = is_whole ? 0 : signal_of(errno);
    if (number && !sigismember(&pending, number)) take_signal(number);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return is_whole;
}
