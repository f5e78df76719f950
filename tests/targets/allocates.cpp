// A program whose memory is known: what it leaves behind, under which tags, on which heaps, and
// what it only used for a moment. docs/trace.md.
#include "sample/trace.hpp"

#include <array>
#include <cstdlib>
#include <thread>

// NOLINTBEGIN(cppcoreguidelines-owning-memory,cppcoreguidelines-no-malloc,hicpp-no-malloc)
namespace {

SAMPLE_TRACE_MEMORY_HEAP(arena, "arena", nullptr);
SAMPLE_TRACE_MEMORY_HEAP(cells, "cells", &arena);
SAMPLE_TRACE_MEMORY_TAG(level, "level", nullptr);
SAMPLE_TRACE_MEMORY_TAG(meshes, "meshes", &level);

void* volatile g_kept = nullptr;

[[gnu::noinline]] void keeps_blocks() {
    for (int i = 0; i < 100; ++i) {
        g_kept = std::malloc(1000);
    }
}

[[gnu::noinline]] void gives_back() {
    for (int i = 0; i < 20'000; ++i) {
        g_kept = std::malloc(64);
        std::free(g_kept);
    }
}

[[gnu::noinline]] void grows() {
    void* block = nullptr;
    for (std::size_t bytes = 4096; bytes <= 65536; bytes *= 2) {
        block = std::realloc(block, bytes);
        g_kept = block;
    }
}

[[gnu::noinline]] void makes_meshes() {
    for (int i = 0; i < 10; ++i) {
        g_kept = ::operator new(500);
    }
}

std::array<char, 4096> g_arena;

[[gnu::noinline]] void uses_heaps() {
    SAMPLE_TRACE_MEMORY_ALLOC_STACK(arena, g_arena.data(), 4096, 16);
    SAMPLE_TRACE_MEMORY_ALLOC(cells, g_arena.data(), 100, 4);
    SAMPLE_TRACE_MEMORY_ALLOC(cells, g_arena.data() + 100, 200, 4);
    SAMPLE_TRACE_MEMORY_FREE(cells, g_arena.data());
    SAMPLE_TRACE_MEMORY_REALLOC(cells, g_arena.data() + 100, g_arena.data() + 300, 300, 4);
}

}  // namespace

int main() {
    keeps_blocks();
    gives_back();
    grows();
    {
        SAMPLE_TRACE_MEMORY_SCOPE(level);
        {
            const sample::trace::MemoryScope scope{meshes};
            std::thread{makes_meshes}.join();
        }
        g_kept = std::malloc(77);
    }
    uses_heaps();
    return 0;
}
// NOLINTEND(cppcoreguidelines-owning-memory,cppcoreguidelines-no-malloc,hicpp-no-malloc)
