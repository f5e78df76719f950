// Memory that becomes executable: code that is made at run time.
#pragma once

namespace sample::modules {

/// Programs may call mmap() and mprotect() in signal handlers, where nothing can be looked up.
void find_code_functions() noexcept;

}  // namespace sample::modules
