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

int hs__write(int file, const char *text, size_t bytes)
{
    const int error = errno;
    const struct timespec now = {0, 0};
    sigset_t pipe, before, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    const int is_whole = write_all(file, text, bytes);
    /* Take the signal that this write has caused, if there was none before. */
    if (!is_whole && errno == EPIPE && !sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipe, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return is_whole;
}
