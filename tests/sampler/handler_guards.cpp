#include "tests/sampler/handler_guards.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constinit thread_local volatile bool t_inside_handler = false;

void refuse_inside_handler(const char* name) noexcept {
    if (t_inside_handler) {
        t_inside_handler = false;
        (void)!::write(2, name, std::strlen(name));
        (void)!::write(2, " inside the handler\n", 20);
        std::abort();
    }
}

template <class Function>
Function* next_definition(const char* name) noexcept {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// glibc's own names for what it has under malloc's.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void __libc_free(void*);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's are reserved words
void* malloc(std::size_t size) noexcept {
    refuse_inside_handler("malloc");
    return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
    refuse_inside_handler("calloc");
    return __libc_calloc(count, size);
}
void* realloc(void* pointer, std::size_t size) noexcept {
    refuse_inside_handler("realloc");
    return __libc_realloc(pointer, size);
}
void free(void* pointer) noexcept {
    refuse_inside_handler("free");
    __libc_free(pointer);
}
int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
    refuse_inside_handler("pthread_mutex_lock");
    static auto* const next = next_definition<int(pthread_mutex_t*)>("pthread_mutex_lock");
    return next(mutex);
}
std::size_t fwrite(const void* bytes, std::size_t size, std::size_t count, std::FILE* file) {
    refuse_inside_handler("fwrite");
    static auto* const next =
        next_definition<std::size_t(const void*, std::size_t, std::size_t, std::FILE*)>("fwrite");
    return next(bytes, size, count, file);
}
int vfprintf(std::FILE* file, const char* format, std::va_list arguments) {
    refuse_inside_handler("vfprintf");
    static auto* const next =
        next_definition<int(std::FILE*, const char*, std::va_list)>("vfprintf");
    return next(file, format, arguments);
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
}

namespace sample::capture {

InsideHandler::InsideHandler() noexcept {
    t_inside_handler = true;
}
InsideHandler::~InsideHandler() {
    t_inside_handler = false;
}

}  // namespace sample::capture
