// Where the stack of the calling thread lies.
#pragma once

#include "unwind/walk/walk.h"

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace sample::unwind::bench {

inline StackBounds stack_bounds() {
    pthread_attr_t attributes;
    void* low = nullptr;
    std::size_t size = 0;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    const auto begin = reinterpret_cast<std::uint64_t>(low);
    return StackBounds{begin, begin + size};
}

}  // namespace sample::unwind::bench
