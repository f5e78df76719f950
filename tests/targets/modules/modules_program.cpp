// Does what profiler modules are told of, one thing after the other, so that the order is known.
// Where its argument is "exec" it ends by becoming /bin/true. Says "main" first.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <stdexcept>

namespace {

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t g_rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t g_condition = PTHREAD_COND_INITIALIZER;
std::atomic<pid_t> g_waiter{0};
bool g_is_true = false;

void say(const char* line) {
    static_cast<void>(!::write(STDOUT_FILENO, line, std::strlen(line)));
}

/// Until the thread sleeps, which is where it waits.
void await_sleep(pid_t tid) {
    for (;;) {
        char path[64];
        std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
        std::FILE* const file = std::fopen(path, "re");
        char text[256] = {};
        if (file == nullptr || std::fgets(text, sizeof text, file) == nullptr) {
            std::_Exit(8);
        }
        std::fclose(file);
        if (std::strstr(text, ") S ") != nullptr) {
            return;
        }
        ::usleep(1000);
    }
}

pid_t await_waiter() {
    while (g_waiter == 0) {
        ::usleep(1000);
    }
    return g_waiter.exchange(0);
}

void* wait_for_mutex(void* /*unused*/) {
    g_waiter = ::gettid();
    pthread_mutex_lock(&g_mutex);
    pthread_mutex_unlock(&g_mutex);
    return nullptr;
}

void* wait_to_read(void* /*unused*/) {
    g_waiter = ::gettid();
    pthread_rwlock_rdlock(&g_rwlock);
    pthread_rwlock_unlock(&g_rwlock);
    return nullptr;
}

void* wait_to_write(void* /*unused*/) {
    g_waiter = ::gettid();
    pthread_rwlock_wrlock(&g_rwlock);
    pthread_rwlock_unlock(&g_rwlock);
    return nullptr;
}

void* wait_for_condition(void* /*unused*/) {
    pthread_mutex_lock(&g_mutex);
    g_waiter = ::gettid();
    while (!g_is_true) {
        pthread_cond_wait(&g_condition, &g_mutex);
    }
    pthread_mutex_unlock(&g_mutex);
    return nullptr;
}

void join(pthread_t thread) {
    pthread_join(thread, nullptr);
}

void contend() {
    pthread_t thread{};
    say("a mutex that is free\n");
    pthread_mutex_lock(&g_mutex);
    say("a mutex\n");
    pthread_create(&thread, nullptr, wait_for_mutex, nullptr);
    await_sleep(await_waiter());
    pthread_mutex_unlock(&g_mutex);
    join(thread);
    say("a mutex in vain\n");
    pthread_mutex_lock(&g_mutex);
    const timespec past{1, 0};
    pthread_mutex_timedlock(&g_mutex, &past);
    pthread_mutex_unlock(&g_mutex);
    say("to read\n");
    pthread_rwlock_wrlock(&g_rwlock);
    pthread_create(&thread, nullptr, wait_to_read, nullptr);
    await_sleep(await_waiter());
    pthread_rwlock_unlock(&g_rwlock);
    join(thread);
    say("to write\n");
    pthread_rwlock_rdlock(&g_rwlock);
    pthread_create(&thread, nullptr, wait_to_write, nullptr);
    await_sleep(await_waiter());
    pthread_rwlock_unlock(&g_rwlock);
    join(thread);
    say("a condition\n");
    pthread_create(&thread, nullptr, wait_for_condition, nullptr);
    await_sleep(await_waiter());
    pthread_mutex_lock(&g_mutex);
    g_is_true = true;
    pthread_cond_signal(&g_condition);
    pthread_mutex_unlock(&g_mutex);
    join(thread);
    say("a condition in vain\n");
    pthread_mutex_lock(&g_mutex);
    pthread_cond_timedwait(&g_condition, &g_mutex, &past);
    pthread_mutex_unlock(&g_mutex);
}

void throw_and_catch() {
    say("exceptions\n");
    try {
        try {
            throw std::runtime_error{"once"};
        } catch (const std::exception&) {
            throw;
        }
    } catch (const std::exception&) {
    }
}

/// As compilers at run time do it: written first, or in place.
bool make_code() {
    say("code\n");
    constexpr std::size_t kBytes = 8192;
    void* const later =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (later == MAP_FAILED) {
        return false;
    }
    say("written\n");
    const bool is_made = ::mprotect(nullptr, kBytes, PROT_READ | PROT_EXEC) != 0 &&
                         ::mprotect(later, kBytes / 2, PROT_READ | PROT_EXEC) == 0;
    void* const once = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return is_made && once != MAP_FAILED && ::munmap(later, kBytes) == 0 &&
           ::munmap(once, kBytes) == 0;
}

}  // namespace

int main(int argc, char** argv) {
    say("main\n");
    pthread_setname_np(pthread_self(), "first");
    contend();
    throw_and_catch();
    say("a library\n");
    void* const library = ::dlopen(TESTS_LIBRARY, RTLD_NOW);
    if (library == nullptr || ::dlclose(library) != 0) {
        return 7;
    }
    if (!make_code()) {
        return 6;
    }
    say("a fork\n");
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (argc > 1 && std::strcmp(argv[1], "exec") == 0) {
        ::execl("/bin/true", "true", nullptr);
    }
    say("end\n");
    return 0;
}
