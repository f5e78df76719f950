// symbol: takes a lock.
#include <pthread.h>

void handle(pthread_mutex_t* mutex);
void handle(pthread_mutex_t* mutex) {
    pthread_mutex_lock(mutex);
}
