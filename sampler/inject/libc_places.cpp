#include "sampler/inject/libc_places.h"

#include "sampler/collector/process/proc_files.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>

namespace sample::inject {

Result<LibcPlaces> LibcPlaces::of(pid_t pid) {
    void* const handle = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    link_map* own = nullptr;
    if (handle == nullptr || ::dlinfo(handle, RTLD_DI_LINKMAP, &own) != 0) {
        return unexpected(ErrorCode::unsupported, "this sample has no libc of its own");
    }
    const auto start_of_libc = [](pid_t of, std::uint64_t inside,
                                  const std::string& path) -> collector::Mapping {
        for (const collector::Mapping& each : collector::mappings_of(of)) {
            const bool is_it = path.empty() ? inside >= each.start && inside < each.end
                                            : each.path == path && each.offset == 0;
            if (is_it) {
                return each;
            }
        }
        return {};
    };
    const collector::Mapping ours = start_of_libc(::getpid(), own->l_addr, {});
    const collector::Mapping theirs = start_of_libc(pid, 0, ours.path);
    if (ours.path.empty() || theirs.path.empty()) {
        return unexpected(ErrorCode::unsupported,
                          "it has no libc, or another one than this sample (static, musl, a "
                          "container, a library that was replaced since it started)");
    }
    return LibcPlaces{handle, theirs.start - ours.start};
}

std::uint64_t LibcPlaces::function(const char* name) const {
    const auto ours = reinterpret_cast<std::uint64_t>(::dlsym(handle_, name));
    return ours == 0 ? 0 : ours + distance_;
}

std::uint64_t LibcPlaces::syscall_instruction() const {
    constexpr std::ptrdiff_t kMostBytes = 64;
    constexpr std::byte kCall[] = {std::byte{0x0f}, std::byte{0x05}};
    const auto* const code = static_cast<const std::byte*>(::dlsym(handle_, "syscall"));
    const auto* const found =
        code == nullptr ? nullptr
                        : std::search(code, code + kMostBytes, std::begin(kCall), std::end(kCall));
    return found == nullptr || found == code + kMostBytes
               ? 0
               : reinterpret_cast<std::uint64_t>(found) + distance_;
}

}  // namespace sample::inject
