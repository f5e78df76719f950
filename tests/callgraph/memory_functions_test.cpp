#include "callgraph/function_table.h"

#include <gtest/gtest.h>

namespace sample::callgraph {
namespace {

TEST(MemoryManagement, knows_the_c_entries_and_their_families) {
    for (const char* name :
         {"malloc", "free", "cfree", "reallocarray", "posix_memalign", "je_malloc", "tc_free",
          "mi_calloc", "__libc_malloc", "__GI___libc_free", "__posix_memalign"}) {
        EXPECT_TRUE(is_memory_management(name, name)) << name;
    }
}

TEST(MemoryManagement, does_not_know_what_only_resembles_an_entry) {
    for (const char* name : {"malloc_usable_size", "my_malloc", "malloced", "freeze", "strdup",
                             "caml_main", "runtime.main", "mi_option_get", "GC_init", ""}) {
        EXPECT_FALSE(is_memory_management(name, name)) << name;
    }
}

TEST(MemoryManagement, knows_every_form_of_new_and_delete) {
    for (const char* name : {"_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnwmSt11align_val_t",
                             "_ZnamSt11align_val_tRKSt9nothrow_t", "_ZdlPv", "_ZdaPv", "_ZdlPvm",
                             "_ZdaPvmSt11align_val_t", "_ZdlPvRKSt9nothrow_t"}) {
        EXPECT_TRUE(is_memory_management(name, "operator")) << name;
    }
    EXPECT_TRUE(is_memory_management("", "operator new(unsigned long)"));
    EXPECT_TRUE(is_memory_management("", "operator delete[](void*, unsigned long)"));
}

TEST(MemoryManagement, leaves_placement_and_members_alone) {
    EXPECT_FALSE(is_memory_management("_ZnwmPv", "operator new(unsigned long, void*)"));
    EXPECT_FALSE(is_memory_management("", "operator new(unsigned long, void*)"));
    EXPECT_FALSE(is_memory_management("_ZN4PoolnwEm", "Pool::operator new(unsigned long)"));
}

TEST(MemoryManagement, ignores_what_linkers_and_compilers_append) {
    EXPECT_TRUE(is_memory_management("malloc@@GLIBC_2.2.5", "malloc@@GLIBC_2.2.5"));
    EXPECT_TRUE(is_memory_management("gc_collect_main.constprop.0", "gc_collect_main.constprop.0"));
    EXPECT_TRUE(is_memory_management("", "gc_collect_main [clone .constprop.0]"));
}

TEST(MemoryManagement, knows_collectors_by_shown_names) {
    EXPECT_TRUE(is_memory_management("runtime.gcBgMarkWorker", "runtime.gcBgMarkWorker"));
    EXPECT_TRUE(
        is_memory_management("_ZN2v88internal4Heap14CollectGarbageENS0_15AllocationSpaceE",
                             "v8::internal::Heap::CollectGarbage(v8::internal::AllocationSpace)"));
}

}  // namespace
}  // namespace sample::callgraph
