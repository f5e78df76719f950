// Loads a library that is written in Go, and calls it from two threads.
//
//     go_host LIBRARY
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

typedef unsigned long long Work(unsigned long long rounds);

static void* run(void* work) {
    ((Work*)work)(5000000);
    return NULL;
}

int main(int argc, char** argv) {
    void* library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void* work = library != NULL ? dlsym(library, "WorkInGo") : NULL;
    pthread_t thread;
    if (work == NULL || pthread_create(&thread, NULL, run, work) != 0) {
        fprintf(stderr, "go_host: %s\n", argc == 2 ? dlerror() : "LIBRARY");
        return 2;
    }
    run(work);
    pthread_join(thread, NULL);
    printf("sum=%llu\n", ((Work*)work)(1000000));
    return 0;
}
