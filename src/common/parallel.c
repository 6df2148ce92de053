/* Parallel loops, and the optional pool of threads behind them. */
#include "common/common.h"

int32_t kbi_parallel_threads(const kb_parallel *parallel)
{
    return parallel && parallel->run && parallel->threads > 1 ? kbi_min_i(parallel->threads, 256) : 1;
}

void kbi_parallel_run(const kb_parallel *parallel, int32_t count, void (*task)(void *, int32_t), void *context)
{
    if (count > 1 && kbi_parallel_threads(parallel) > 1) {
        parallel->run(parallel->self, count, task, context);
        return;
    }
    for (int32_t i = 0; i < count; i++) task(context, i);
}

const kb_parallel *kb_pool_parallel(kb_pool *pool)
{
    /* A pool begins with its kb_parallel. */
    return (const kb_parallel *)(void *)pool;
}

#ifdef KB_NO_THREADS

struct kb_pool {
    kb_parallel parallel;
    kb_allocator allocator;
};

static void run_here(void *self, int32_t count, void (*task)(void *, int32_t), void *context)
{
    (void)self;
    for (int32_t i = 0; i < count; i++) task(context, i);
}

kb_status kb_pool_create_with(int32_t threads, const kb_allocator *allocator, kb_pool **out)
{
    kb_allocator from;
    if (out) *out = NULL;
    if (!out || threads < 0 || threads > 256 || !kbi_allocator_read(&from, allocator)) return KB_E_ARGUMENT;
    *out = kbi_allocate_zeros(&from, sizeof **out);
    if (!*out) return KB_E_MEMORY;
    (*out)->allocator = from;
    (*out)->parallel = (kb_parallel){run_here, *out, 1};
    return KB_OK;
}

void kb_pool_free(kb_pool *pool)
{
    if (!pool) return;
    kb_allocator from = pool->allocator;
    kbi_deallocate(&from, pool);
}

#else

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/* One job at a time. The caller works too, so a pool of n has n - 1 threads. Workers take the next index under the
 * lock: jobs are a few large pieces, so the lock is never contended enough to matter.
 *
 * Waking a sleeping thread takes a good part of a short loop, and a call has several parallel loops with little between
 * them. So who has nothing to do looks for some 50 microseconds whether there is something again, and
 * sleeps then; unless there are more threads than processors, where looking would keep others from working. */
#define LOOKS 2000
struct kb_pool {
    kb_parallel parallel;
    kb_allocator allocator;
    pthread_mutex_t lock;
    pthread_cond_t work, idle;
    pthread_t *workers;
    int32_t worker_count;
    bool stop;
    void (*task)(void *, int32_t);
    void *context;
    int32_t next, count;
    int32_t looks; /* LOOKS or 0 */
    /* Changed under the lock, looked at without. */
    atomic_int jobs;       /* that were given so far, and the end of the pool */
    atomic_int unfinished; /* indices of the current one */
};

static void relax(void)
{
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
    __builtin_ia32_pause();
#elif defined(__GNUC__) && defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Looks, without the lock, as long as `value` is `old`; the lock is held on entry and on return. */
static void spin(kb_pool *pool, atomic_int *value, int old)
{
    if (pool->looks == 0) return;
    pthread_mutex_unlock(&pool->lock);
    for (int32_t i = 0; i < pool->looks && atomic_load_explicit(value, memory_order_relaxed) == old; i++) relax();
    pthread_mutex_lock(&pool->lock);
}

/* Takes and runs indices until none is left; the lock is held on entry and on return. */
static void drain(kb_pool *pool)
{
    while (pool->next < pool->count) {
        int32_t index = pool->next++;
        void (*task)(void *, int32_t) = pool->task;
        void *context = pool->context;
        pthread_mutex_unlock(&pool->lock);
        task(context, index);
        pthread_mutex_lock(&pool->lock);
        if (atomic_fetch_sub(&pool->unfinished, 1) == 1) pthread_cond_broadcast(&pool->idle);
    }
}

static void *worker_main(void *argument)
{
    kb_pool *pool = argument;
    pthread_mutex_lock(&pool->lock);
    while (!pool->stop) {
        drain(pool);
        int seen = atomic_load(&pool->jobs);
        spin(pool, &pool->jobs, seen);
        while (atomic_load(&pool->jobs) == seen) pthread_cond_wait(&pool->work, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static void pool_run(void *self, int32_t count, void (*task)(void *, int32_t), void *context)
{
    kb_pool *pool = self;
    pthread_mutex_lock(&pool->lock);
    pool->task = task;
    pool->context = context;
    pool->next = 0;
    pool->count = count;
    atomic_store(&pool->unfinished, count);
    atomic_fetch_add(&pool->jobs, 1);
    pthread_cond_broadcast(&pool->work);
    drain(pool);
    for (int left; (left = atomic_load(&pool->unfinished)) > 0;) {
        spin(pool, &pool->unfinished, left);
        if (atomic_load(&pool->unfinished) == left) pthread_cond_wait(&pool->idle, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
}

kb_status kb_pool_create_with(int32_t threads, const kb_allocator *allocator, kb_pool **out)
{
    kb_allocator from;
    if (out) *out = NULL;
    if (!out || threads < 0 || threads > 256 || !kbi_allocator_read(&from, allocator)) return KB_E_ARGUMENT;
    long found = sysconf(_SC_NPROCESSORS_ONLN);
    if (threads == 0) threads = found < 1 ? 1 : found > 256 ? 256 : (int32_t)found;
    kb_pool *pool = kbi_allocate_zeros(&from, sizeof *pool);
    if (!pool) return KB_E_MEMORY;
    pool->allocator = from;
    pool->workers = kbi_allocate_zeros(&from, (size_t)threads * sizeof *pool->workers);
    if (!pool->workers) {
        kbi_deallocate(&from, pool);
        return KB_E_MEMORY;
    }
    pool->looks = threads <= found ? LOOKS : 0;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->idle, NULL);
    /* Fewer threads than asked for is still a pool. */
    while (pool->worker_count < threads - 1 &&
           pthread_create(&pool->workers[pool->worker_count], NULL, worker_main, pool) == 0)
        pool->worker_count++;
    pool->parallel = (kb_parallel){pool_run, pool, pool->worker_count + 1};
    *out = pool;
    return KB_OK;
}

void kb_pool_free(kb_pool *pool)
{
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    atomic_fetch_add(&pool->jobs, 1);
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (int32_t i = 0; i < pool->worker_count; i++) pthread_join(pool->workers[i], NULL);
    pthread_cond_destroy(&pool->idle);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    kb_allocator from = pool->allocator;
    kbi_deallocate(&from, pool->workers);
    kbi_deallocate(&from, pool);
}

#endif

kb_status kb_pool_create(int32_t threads, kb_pool **out) { return kb_pool_create_with(threads, NULL, out); }
