/* With SLOW, a library whose constructor takes a while; otherwise a function that loads it in a
 * thread of its own. Meanwhile other threads wait for the dynamic linker. */
#ifdef SLOW
#include <unistd.h>

__attribute__((constructor)) static void take_a_while(void) { usleep(700000); }

#else
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static void *load(void *path)
{
    dlopen(path, RTLD_NOW);
    return NULL;
}

int load_in_thread(const char *path)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, load, (void *)path);
}
#endif
