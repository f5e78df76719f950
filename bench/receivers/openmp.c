// 100,000 parallel loops, a million tasks. Prints the seconds, those of its processors, and a sum.
#include <omp.h>
#include <stdio.h>
#include <time.h>

int main(void) {
    const clock_t used = clock();
    const double begin = omp_get_wtime();
    long sum = 0;
    for (int round = 0; round < 100000; ++round) {
#pragma omp parallel for reduction(+ : sum) schedule(static)
        for (long i = 0; i < 5000; ++i) {
            sum += i % 7;
        }
    }
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 1000000; ++i) {
#pragma omp task
        {
            volatile long work = 0;
            for (int k = 0; k < 100; ++k) {
                work = work + k;
            }
#pragma omp atomic
            sum += work;
        }
    }
    printf("%.6f %.6f %ld\n", omp_get_wtime() - begin, (double)(clock() - used) / CLOCKS_PER_SEC,
           sum);
    return 0;
}
