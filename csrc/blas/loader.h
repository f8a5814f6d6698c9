/* Keeps a process from forking while one of its threads holds a lock of the dynamic loader for us.
 * In the child the lock would stay locked, because the thread that holds it does not exist there.
 * The child's first call that looks for a function would then hang. Not covered: locks taken by
 * other code, and forks that run no handlers of pthread_atfork. */
#ifndef HS_BLAS_LOADER_H
#define HS_BLAS_LOADER_H

/* Begins and ends a use of the loader. Uses may be nested. A fork waits until no other thread uses
 * the loader, and a new use waits until no other thread forks. Each waits for at most a second,
 * because the two threads could otherwise wait for each other. After that second the fork, or the
 * use, goes on without protection. */
void hs__enter_loader(void);
void hs__leave_loader(void);

#endif
