/* Keeps a process from forking while one of its threads holds a lock of the dynamic loader for us.
 * The child would have the lock for ever, without the thread, and its first call that looks for a
 * function would wait for it. Locks that other code holds, and forks that run no handlers, are not
 * seen. */
#ifndef HS_BLAS_LOADER_H
#define HS_BLAS_LOADER_H

/* Begins and ends a use of the loader. Uses may be nested. A fork waits for the uses of other
 * threads, and a use waits for a fork, both for at most a second: a thread inside may itself wait
 * for a lock that the thread that forks holds. So a fork that takes longer is not protected. */
void hs__enter_loader(void);
void hs__leave_loader(void);

#endif
