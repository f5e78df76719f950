// Which functions are entries into memory management: the table behind Profile::memory.
//
// Where that is asked for, one node stands between a caller and the outermost of these functions
// below it, so that what a program spends on memory can be seen, and hidden, as one thing. Only
// entries are listed: what an allocator calls internally lies below its entry anyway. A function
// that merely wraps an allocator (strdup, std::string's constructor) is not listed; its allocation
// is.
#include "callgraph/function_table.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <unordered_set>

namespace sample::callgraph {

namespace {

/// The C library's entries. Each is also an entry with one of kFamilies before it.
constexpr std::array<std::string_view, 14> kCEntries{
    "malloc",        "calloc",   "realloc",        "free",         "cfree",
    "aligned_alloc", "memalign", "posix_memalign", "reallocarray", "reallocf",
    "valloc",        "pvalloc",  "malloc_trim",    "free_sized"};

/// jemalloc, tcmalloc, mimalloc, and the names that glibc gives the same functions internally.
constexpr std::array<std::string_view, 8> kFamilies{
    "je_", "tc_", "mi_", "__libc_", "__GI___libc_", "__GI_", "__", "__interceptor_"};

/// Source of each group: the allocator's or runtime's public headers, or, for collectors, the
/// function under which its releases of the last years do all collecting.
constexpr std::string_view kOtherEntries[] = {
    // jemalloc's own interface, and the prefixless one of FreeBSD's libc.
    "mallocx", "rallocx", "xallocx", "dallocx", "sdallocx", "je_mallocx", "je_rallocx",
    "je_xallocx", "je_dallocx", "je_sdallocx",
    // tcmalloc (gperftools).
    "tc_new", "tc_new_nothrow", "tc_newarray", "tc_newarray_nothrow", "tc_delete",
    "tc_delete_nothrow", "tc_delete_sized", "tc_deletearray", "tc_deletearray_nothrow",
    "tc_deletearray_sized", "tc_new_aligned", "tc_delete_aligned", "tc_newarray_aligned",
    "tc_deletearray_aligned",
    // mimalloc.
    "mi_zalloc", "mi_mallocn", "mi_malloc_small", "mi_zalloc_small", "mi_reallocn", "mi_rezalloc",
    "mi_recalloc", "mi_malloc_aligned", "mi_calloc_aligned", "mi_zalloc_aligned",
    "mi_realloc_aligned", "mi_free_size", "mi_free_size_aligned", "mi_free_aligned", "mi_new",
    "mi_new_nothrow", "mi_new_aligned", "mi_new_n", "mi_heap_malloc", "mi_heap_calloc",
    "mi_heap_zalloc", "mi_heap_realloc", "mi_collect",
    // Rust's global allocator.
    "__rust_alloc", "__rust_alloc_zeroed", "__rust_realloc", "__rust_dealloc", "__rdl_alloc",
    "__rdl_alloc_zeroed", "__rdl_realloc", "__rdl_dealloc", "__rg_alloc", "__rg_dealloc",
    "__rustc::__rust_alloc", "__rustc::__rust_alloc_zeroed", "__rustc::__rust_realloc",
    "__rustc::__rust_dealloc",
    // GLib.
    "g_malloc", "g_malloc0", "g_realloc", "g_free", "g_slice_alloc", "g_slice_alloc0",
    "g_slice_free1",
    // CPython: its allocators and its cycle collector.
    "PyMem_Malloc", "PyMem_Calloc", "PyMem_Realloc", "PyMem_Free", "PyMem_RawMalloc",
    "PyMem_RawCalloc", "PyMem_RawRealloc", "PyMem_RawFree", "PyObject_Malloc", "PyObject_Calloc",
    "PyObject_Realloc", "PyObject_Free", "_PyObject_Malloc", "_PyObject_Calloc",
    "_PyObject_Realloc", "_PyObject_Free", "PyObject_GC_Del", "PyGC_Collect", "_PyGC_Collect",
    "gc_collect_main", "gc_collect_generations", "gc_collect_with_callback",
    // Boehm-Demers-Weiser collector.
    "GC_malloc", "GC_malloc_atomic", "GC_malloc_uncollectable", "GC_malloc_ignore_off_page",
    "GC_malloc_atomic_ignore_off_page", "GC_malloc_kind", "GC_realloc", "GC_free", "GC_memalign",
    "GC_posix_memalign", "GC_generic_malloc", "GC_gcollect", "GC_collect_a_little",
    "GC_try_to_collect", "GC_help_marker",
    // OCaml 4 and 5.
    "caml_alloc", "caml_alloc_small", "caml_alloc_small_dispatch", "caml_alloc_shr",
    "caml_alloc_string", "caml_alloc_tuple", "caml_alloc_custom", "caml_alloc_custom_mem",
    "caml_alloc1", "caml_alloc2", "caml_alloc3", "caml_allocN", "caml_call_gc",
    "caml_garbage_collection", "caml_gc_dispatch", "caml_gc_minor", "caml_gc_major",
    "caml_gc_major_slice", "caml_gc_full_major", "caml_gc_compaction", "caml_minor_collection",
    "caml_empty_minor_heap", "caml_major_collection_slice", "caml_compact_heap",
    "caml_process_pending_actions", "caml_stat_alloc", "caml_stat_free",
    // Go.
    "runtime.mallocgc", "runtime.newobject", "runtime.gcStart", "runtime.GC",
    "runtime.gcBgMarkWorker", "runtime.gcAssistAlloc", "runtime.bgsweep", "runtime.bgscavenge",
    "runtime.gcMarkTermination", "runtime.gcMarkDone",
    // Ruby.
    "ruby_xmalloc", "ruby_xmalloc2", "ruby_xcalloc", "ruby_xrealloc", "ruby_xrealloc2",
    "ruby_xfree", "rb_gc", "rb_gc_start", "garbage_collect", "gc_start", "rb_newobj_of",
    "newobj_slowpath",
    // PHP.
    "_emalloc", "_ecalloc", "_erealloc", "_efree", "zend_gc_collect_cycles",
    "gc_possible_root_when_full",
    // Lua and LuaJIT.
    "luaC_step", "luaC_fullgc", "lj_gc_step", "lj_gc_fullgc", "lj_gc_step_jit",
    // Perl.
    "Perl_safesysmalloc", "Perl_safesyscalloc", "Perl_safesysrealloc", "Perl_safesysfree",
    // HotSpot: what its collectors' threads run.
    "GangWorker::run", "GangWorker::loop", "WorkerThread::run",
    "G1ConcurrentRefineThread::run_service", "G1ConcurrentMarkThread::run_service",
    "G1CollectedHeap::do_collection_pause_at_safepoint", "G1CollectedHeap::do_full_collection",
    "GenCollectedHeap::do_collection", "PSScavenge::invoke", "PSParallelCompact::invoke",
    "ConcurrentGCThread::run", "ZDriver::run_service", "ZWorkers::run",
    "ShenandoahControlThread::run_service",
    // V8.
    "v8::internal::Heap::CollectGarbage", "v8::internal::Heap::CollectAllGarbage",
    "v8::internal::ScavengerCollector::CollectGarbage", "v8::internal::ScavengingTask::Run",
    "v8::internal::MarkCompactCollector::CollectGarbage",
    "v8::internal::ConcurrentMarking::RunMajor", "v8::internal::ConcurrentMarking::Run",
    "v8::internal::Sweeper::SweeperJob::Run", "v8::internal::ScavengerCollector::JobTask::Run",
    // Mono and CoreCLR.
    "mono_gc_collect", "mono_gc_alloc_obj", "mono_gc_alloc_vector", "mono_gc_alloc_string",
    "sgen_perform_collection", "sgen_gc_collect", "WKS::gc_heap::garbage_collect",
    "SVR::gc_heap::garbage_collect", "WKS::gc_heap::gc1", "SVR::gc_heap::gc1",
    "SVR::gc_heap::gc_thread_function", "WKS::GCHeap::Alloc", "SVR::GCHeap::Alloc",
    // GHC and D.
    "GarbageCollect", "gcWorkerThread", "gc_malloc", "gc_free", "gc_collect", "gc_qalloc"};

/// operator new, new[], delete and delete[] of the global namespace, in every form: as mangled,
/// with the first parameter so that placement new, which allocates nothing, is told apart, and as
/// shown. Source: Itanium C++ ABI 5.1.3.
constexpr std::array<std::string_view, 4> kMangledOperators{"_Znwm", "_Znam", "_ZdlPv", "_ZdaPv"};
constexpr std::array<std::string_view, 4> kShownOperators{"operator new(", "operator new[](",
                                                          "operator delete(", "operator delete[]("};
constexpr std::array<std::string_view, 2> kPlacementNew{"_ZnwmPv", "_ZnamPv"};

std::unordered_set<std::string> make_entries() {
    std::unordered_set<std::string> entries;
    for (const std::string_view entry : kOtherEntries) {
        entries.emplace(entry);
    }
    for (const std::string_view entry : kCEntries) {
        entries.emplace(entry);
        for (const std::string_view family : kFamilies) {
            entries.insert(std::string{family}.append(entry));
        }
    }
    return entries;
}

/// Cut before the first of what a linker or compiler appends to a name.
std::string_view without_suffix(std::string_view name) {
    constexpr std::array<std::string_view, 7> kSuffixes{
        "@", " [clone", ".cold", ".part.", ".isra.", ".constprop.", ".lto_priv."};
    for (const std::string_view suffix : kSuffixes) {
        name = name.substr(0, name.find(suffix, 1));
    }
    return name;
}

template <std::size_t kCount>
bool starts_with_any(std::string_view name, const std::array<std::string_view, kCount>& starts) {
    return std::any_of(starts.begin(), starts.end(),
                       [name](std::string_view start) { return name.starts_with(start); });
}

}  // namespace

bool is_memory_management(std::string_view linkage_name, std::string_view name) {
    static const std::unordered_set<std::string> entries = make_entries();
    if (starts_with_any(linkage_name, kMangledOperators)) {
        return std::find(kPlacementNew.begin(), kPlacementNew.end(),
                         without_suffix(linkage_name)) == kPlacementNew.end();
    }
    if (linkage_name.empty() && starts_with_any(name, kShownOperators)) {
        return name.find(", void*)") == std::string_view::npos;
    }
    const std::string_view shown = without_suffix(name);
    return entries.contains(std::string{without_suffix(linkage_name)}) ||
           entries.contains(std::string{shown.substr(0, shown.find('('))});
}

}  // namespace sample::callgraph
