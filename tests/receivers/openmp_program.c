// Has 20 parallel loops, and a region with 8 tasks, a barrier and a critical section in each of 4
// threads; takes a nested lock twice.
#include <omp.h>
#include <stdio.h>

static long sum_of_parts(long count) {
    long sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 64) num_threads(4)
    for (long i = 0; i < count; ++i) {
        sum += i % 7;
    }
    return sum;
}

static void lock_twice(void) {
    omp_nest_lock_t lock;
    omp_init_nest_lock(&lock);
    omp_set_nest_lock(&lock);
    omp_set_nest_lock(&lock);
    omp_unset_nest_lock(&lock);
    omp_unset_nest_lock(&lock);
    omp_destroy_nest_lock(&lock);
}

int main(void) {
    lock_twice();
    long sum = 0;
    for (int i = 0; i < 20; ++i) {
        sum += sum_of_parts(20000);
    }
    int tasks = 0;
    int threads = 0;
#pragma omp parallel num_threads(4)
    {
#pragma omp single
        for (int i = 0; i < 8; ++i) {
#pragma omp task shared(tasks)
            {
#pragma omp atomic
                ++tasks;
            }
        }
#pragma omp taskwait
#pragma omp barrier
#pragma omp critical
        ++threads;
    }
    printf("%ld %d %d\n", sum, tasks, threads);
    return 0;
}
