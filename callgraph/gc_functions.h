// Which functions are entries into memory management: the table behind the callgraph's GC nodes.
//
// A callgraph puts one node GC between a caller and the outermost of these functions below it, so
// that the time a program spends on memory can be seen, and hidden, as one thing. Only entries are
// listed: what an allocator calls internally lies below its entry anyway. A function that merely
// wraps an allocator (strdup, std::string's constructor) is not listed; its allocation is.
#pragma once

#include <string_view>

namespace sample::callgraph {

/// True if a function known to the linker as `linkage_name` (may be empty), or shown as `name`, is
/// an entry into memory management. Symbol versions ("@GLIBC_2.2.5"), the compiler's clone suffixes
/// (".cold", ".part.0", " [clone …]") and a demangled name's arguments make no difference.
/// Thread-safe.
[[nodiscard]] bool is_memory_management(std::string_view linkage_name, std::string_view name);

}  // namespace sample::callgraph
