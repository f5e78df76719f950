#include "sampler/inject/libc_places.h"

#include "sampler/collector/process/proc_files.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>

namespace sample::inject {
namespace {

/// An empty one: there is none.
template <class Predicate>
collector::Mapping mapping_where(pid_t pid, Predicate is_it) {
    const auto mappings = collector::mappings_of(pid);
    const auto found = std::find_if(mappings.begin(), mappings.end(), is_it);
    return found == mappings.end() ? collector::Mapping{} : *found;
}

}  // namespace

Result<LibcPlaces> LibcPlaces::of(pid_t pid) {
    void* const handle = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    link_map* own = nullptr;
    if (handle == nullptr || ::dlinfo(handle, RTLD_DI_LINKMAP, &own) != 0) {
        return unexpected(ErrorCode::unsupported, "this sample has no libc of its own");
    }
    const collector::Mapping ours = mapping_where(::getpid(), [&](const auto& each) {
        return own->l_addr - each.start < each.end - each.start;
    });
    const collector::Mapping theirs = mapping_where(
        pid, [&](const auto& each) { return each.path == ours.path && each.offset == 0; });
    const collector::Mapping code = mapping_where(
        ::getpid(), [&](const auto& each) { return each.path == ours.path && each.executable; });
    if (ours.path.empty() || theirs.path.empty()) {
        return unexpected(ErrorCode::unsupported,
                          "it has no libc, or another one than this sample (static, musl, a "
                          "container, a library that was replaced since it started)");
    }
    return LibcPlaces{handle,
                      {reinterpret_cast<const std::byte*>(code.start), code.end - code.start},
                      theirs.start - ours.start};
}

std::uint64_t LibcPlaces::function(const char* name) const {
    const auto ours = reinterpret_cast<std::uint64_t>(::dlsym(handle_, name));
    return ours == 0 ? 0 : ours + distance_;
}

std::uint64_t LibcPlaces::code(std::initializer_list<unsigned char> bytes) const {
    const auto found = std::search(code_.begin(), code_.end(), bytes.begin(), bytes.end(),
                                   [](std::byte a, unsigned char b) { return a == std::byte{b}; });
    return found == code_.end() ? 0 : reinterpret_cast<std::uint64_t>(&*found) + distance_;
}

CallPlaces LibcPlaces::for_calls() const {
    return {.system_call =
                code({0x0f, 0x05, 0xc3}),  // syscall; ret
                                           // mov $15, %rax; syscall. Source: glibc
                                           // sysdeps/unix/sysv/linux/x86_64/libc_sigaction.c,
                                           // by which debuggers know it, too.
            .signal_return = code({0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05})};
}

}  // namespace sample::inject
