#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
static int left = -1, has_memory = 1;
void threads_left(int count) { left = count; }
void memory(int there) { has_memory = there; }
int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    int (*next)(void **, size_t, size_t) = dlsym(RTLD_NEXT, "posix_memalign");
    return has_memory ? next(memory, alignment, bytes) : ENOMEM;
}
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
    if (left == 0) return EAGAIN;
    if (left > 0) left--;
    return next(thread, attributes, start, argument);
}
int pthread_join(pthread_t thread, void **result)
{
    int (*next)(pthread_t, void **) = dlsym(RTLD_NEXT, "pthread_join");
    const int failed = next(thread, result);
    if (!failed && left >= 0) left++;
    return failed;
}
