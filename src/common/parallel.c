/* SPDX-License-Identifier: Apache-2.0 */
/* Parallel loops, and the optional thread pool behind them. */
#include "common/common.h"

#if !KBI_ONE_THREAD
int32_t kbi_parallel_threads(const kb_parallel *parallel)
{
    bool several = parallel && parallel->struct_size >= sizeof *parallel && parallel->run && parallel->threads > 1;
    return several ? kbi_min_i(parallel->threads, 256) : 1;
}
#endif

void kbi_parallel_run(const kb_parallel *parallel, int32_t count, void (*task)(void *, int32_t), void *context)
{
    if (count > 1 && kbi_parallel_threads(parallel) > 1) {
        parallel->run(parallel->self, count, task, context);
        return;
    }
    for (int32_t i = 0; i < count; i++) task(context, i);
}

#if defined(KB_NO_THREADS) || KBI_ONE_THREAD

/* Callers see only the first member. Without `run` everything runs on the calling thread. */
typedef struct thread_pool {
    kb_parallel parallel;
    kb_allocator allocator;
} thread_pool;

static bool pool_start(thread_pool *pool, int32_t threads)
{
    (void)threads;
    pool->parallel.threads = 1;
    return true;
}

static void pool_stop(thread_pool *pool) { (void)pool; }

#else

#include <stdatomic.h>

/* ---- threads of the system: POSIX or Windows ---- */
#if defined(_WIN32)
#    define WIN32_LEAN_AND_MEAN
#    include <windows.h>
/* after windows.h */
#    include <process.h>

typedef SRWLOCK pool_mutex;
typedef CONDITION_VARIABLE pool_condition;
typedef HANDLE pool_thread;
#    define POOL_THREAD_MAIN unsigned __stdcall
#    define POOL_THREAD_RESULT 0

static void mutex_init(pool_mutex *m) { InitializeSRWLock(m); }
static void mutex_free(pool_mutex *m) { (void)m; }
static void mutex_lock(pool_mutex *m) { AcquireSRWLockExclusive(m); }
static void mutex_unlock(pool_mutex *m) { ReleaseSRWLockExclusive(m); }
static void condition_init(pool_condition *c) { InitializeConditionVariable(c); }
static void condition_free(pool_condition *c) { (void)c; }
static void condition_wait(pool_condition *c, pool_mutex *m) { SleepConditionVariableSRW(c, m, INFINITE, 0); }
static void condition_wake_all(pool_condition *c) { WakeAllConditionVariable(c); }
static bool thread_start(pool_thread *t, unsigned(__stdcall *main)(void *), void *argument)
{
    *t = (HANDLE)_beginthreadex(NULL, 0, main, argument, 0, NULL);
    return *t != NULL;
}
static void thread_join(pool_thread t)
{
    WaitForSingleObject(t, INFINITE);
    CloseHandle(t);
}
static long processor_count(void)
{
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return (long)info.dwNumberOfProcessors;
}
#else
#    include <pthread.h>
#    include <unistd.h>

typedef pthread_mutex_t pool_mutex;
typedef pthread_cond_t pool_condition;
typedef pthread_t pool_thread;
#    define POOL_THREAD_MAIN void *
#    define POOL_THREAD_RESULT NULL

static void mutex_init(pool_mutex *m) { pthread_mutex_init(m, NULL); }
static void mutex_free(pool_mutex *m) { pthread_mutex_destroy(m); }
static void mutex_lock(pool_mutex *m) { pthread_mutex_lock(m); }
static void mutex_unlock(pool_mutex *m) { pthread_mutex_unlock(m); }
static void condition_init(pool_condition *c) { pthread_cond_init(c, NULL); }
static void condition_free(pool_condition *c) { pthread_cond_destroy(c); }
static void condition_wait(pool_condition *c, pool_mutex *m) { pthread_cond_wait(c, m); }
static void condition_wake_all(pool_condition *c) { pthread_cond_broadcast(c); }
static bool thread_start(pool_thread *t, void *(*main)(void *), void *argument)
{
    return pthread_create(t, NULL, main, argument) == 0;
}
static void thread_join(pool_thread t) { pthread_join(t, NULL); }
static long processor_count(void) { return sysconf(_SC_NPROCESSORS_ONLN); }
#endif

/* ---- the pool ----
 * One job at a time. The caller works too, so a pool of n has n - 1 workers. Workers take the next index under the
 * lock: jobs are a few large pieces, so the lock is never contended enough to matter.
 *
 * Waking a sleeping thread costs a good part of a short loop, and a call runs several parallel loops with little
 * between them. So an idle worker spins for about 50 microseconds before it sleeps; unless there are more threads than
 * processors, where spinning would take time from threads that have work. */
#define SPIN_LIMIT 2000
typedef struct thread_pool {
    kb_parallel parallel; /* all that callers see */
    kb_allocator allocator;
    pool_mutex lock;
    pool_condition work, idle;
    pool_thread *workers;
    int32_t worker_count;
    bool stop;
    void (*task)(void *, int32_t);
    void *context;
    int32_t next, count;
    int32_t spin_limit; /* SPIN_LIMIT or 0 */
    /* Written under the lock, read by spinning threads without it. */
    atomic_int jobs;       /* started so far; the end of the pool counts as one */
    atomic_int unfinished; /* indices of the current job */
} thread_pool;

static void spin_pause(void)
{
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
    __builtin_ia32_pause();
#elif defined(__GNUC__) && defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Spins, without the lock, while `value` is `old`; the lock is held on entry and on return. */
static void pool_spin(thread_pool *pool, atomic_int *value, int old)
{
    if (pool->spin_limit == 0) return;
    mutex_unlock(&pool->lock);
    for (int32_t i = 0; i < pool->spin_limit && atomic_load_explicit(value, memory_order_relaxed) == old; i++)
        spin_pause();
    mutex_lock(&pool->lock);
}

/* Takes and runs indices until none is left; the lock is held on entry and on return. */
static void pool_drain(thread_pool *pool)
{
    while (pool->next < pool->count) {
        int32_t index = pool->next++;
        void (*task)(void *, int32_t) = pool->task;
        void *context = pool->context;
        mutex_unlock(&pool->lock);
        task(context, index);
        mutex_lock(&pool->lock);
        if (atomic_fetch_sub(&pool->unfinished, 1) == 1) condition_wake_all(&pool->idle);
    }
}

static POOL_THREAD_MAIN worker_main(void *argument)
{
    thread_pool *pool = argument;
    mutex_lock(&pool->lock);
    while (!pool->stop) {
        pool_drain(pool);
        int seen = atomic_load(&pool->jobs);
        pool_spin(pool, &pool->jobs, seen);
        while (atomic_load(&pool->jobs) == seen) condition_wait(&pool->work, &pool->lock);
    }
    mutex_unlock(&pool->lock);
    return POOL_THREAD_RESULT;
}

static void pool_run(void *self, int32_t count, void (*task)(void *, int32_t), void *context)
{
    thread_pool *pool = self;
    mutex_lock(&pool->lock);
    pool->task = task;
    pool->context = context;
    pool->next = 0;
    pool->count = count;
    atomic_store(&pool->unfinished, count);
    atomic_fetch_add(&pool->jobs, 1);
    condition_wake_all(&pool->work);
    pool_drain(pool);
    for (int left; (left = atomic_load(&pool->unfinished)) > 0;) {
        pool_spin(pool, &pool->unfinished, left);
        if (atomic_load(&pool->unfinished) == left) condition_wait(&pool->idle, &pool->lock);
    }
    mutex_unlock(&pool->lock);
}

static bool pool_start(thread_pool *pool, int32_t threads)
{
    long found = processor_count();
    if (threads == 0) threads = found < 1 ? 1 : found > 256 ? 256 : (int32_t)found;
    pool->workers = kbi_allocate_zeros(&pool->allocator, (size_t)threads * sizeof *pool->workers);
    if (!pool->workers) return false;
    pool->spin_limit = threads <= found ? SPIN_LIMIT : 0;
    mutex_init(&pool->lock);
    condition_init(&pool->work);
    condition_init(&pool->idle);
    /* Fewer threads than asked for is still a pool. */
    while (pool->worker_count < threads - 1 &&
           thread_start(&pool->workers[pool->worker_count], worker_main, pool))
        pool->worker_count++;
    pool->parallel.threads = pool->worker_count + 1;
    pool->parallel.run = pool_run;
    return true;
}

static void pool_stop(thread_pool *pool)
{
    mutex_lock(&pool->lock);
    pool->stop = true;
    atomic_fetch_add(&pool->jobs, 1);
    condition_wake_all(&pool->work);
    mutex_unlock(&pool->lock);
    for (int32_t i = 0; i < pool->worker_count; i++) thread_join(pool->workers[i]);
    condition_free(&pool->idle);
    condition_free(&pool->work);
    mutex_free(&pool->lock);
    kbi_deallocate(&pool->allocator, pool->workers);
}

#endif

kb_status kb_pool_create(int32_t threads, const kb_allocator *allocator, kb_parallel **out)
{
    kb_allocator from;
    if (out) *out = NULL;
    if (!out || threads < 0 || threads > 256 || kbi_allocator_read(&from, allocator, NULL) != KB_OK)
        return KB_E_ARGUMENT;
    thread_pool *pool = kbi_allocate_zeros(&from, sizeof *pool);
    if (!pool) return KB_E_MEMORY;
    pool->allocator = from;
    pool->parallel.struct_size = sizeof pool->parallel;
    pool->parallel.self = pool;
    if (pool_start(pool, threads)) *out = &pool->parallel;
    else kbi_deallocate(&from, pool);
    return *out ? KB_OK : KB_E_MEMORY;
}

void kb_pool_free(kb_parallel *parallel)
{
    thread_pool *pool = (thread_pool *)(void *)parallel;
    if (!pool) return;
    pool_stop(pool);
    kb_allocator from = pool->allocator;
    kbi_deallocate(&from, pool);
}
