#include "receivers/unity/host/categories.h"

#include "receivers/unity/host/permanent.h"
#include "sample/trace_abi.h"

#include <array>
#include <cstring>
#include <iterator>

namespace sample::unity {
namespace {

struct Builtin {
    const char* name;
    std::uint32_t colour;  ///< 0xRRGGBB; ours.
};

/// By number.
constexpr Builtin kBuiltins[] = {{"Render", 0x3f8f4f},
                                 {"Scripts", 0x2f7fbf},
                                 {"Managed Jobs", 0x3fafaf},
                                 {"Burst Jobs", 0x3fafaf},
                                 {"GUI", 0xbf9f3f},
                                 {"Physics", 0xdf7f1f},
                                 {"Animation", 0x2fafcf},
                                 {"AI", 0x9f5fbf},
                                 {"Audio", 0x8f5f3f},
                                 {"Audio Job", 0x9f6f4f},
                                 {"Audio Update Job", 0xaf7f5f},
                                 {"Video", 0x7f8f3f},
                                 {"Particles", 0xcf5f5f},
                                 {"Gi", 0xbf8f1f},
                                 {"Network", 0x5f5fdf},
                                 {"Loading", 0xafaf4f},
                                 {"Other", 0x7f7f7f},
                                 {"GC", 0xdf3f3f},
                                 {"VSync", 0x5faf1f},
                                 {"Overhead", 0x4f4f4f},
                                 {"PlayerLoop", 0x5f9f8f},
                                 {"Director", 0xaf5f8f},
                                 {"VR", 0xcf3f8f},
                                 {"Memory", 0xbf4f4f},
                                 {"Internal", 0x6f6f8f},
                                 {"File IO", 0x8fafcf},
                                 {"UI Layout", 0xaf8fdf},
                                 {"UI Render", 0x8f6fcf},
                                 {"VFX", 0xdf6f9f},
                                 {"Build Interface", 0x9f9f9f},
                                 {"Input", 0x4fbf7f},
                                 {"Virtual Texturing", 0x6faf6f},
                                 {"GPU", 0x1f9f3f},
                                 {"Physics2D", 0xdf9f4f},
                                 {"Network Operations", 0x7f7fdf},
                                 {"UI Details", 0xbfafdf},
                                 {"Debug", 0x8f3f3f},
                                 {"Jobs", 0x3f9fbf},
                                 {"Text", 0x9f8f6f}};
static_assert(std::size(kBuiltins) == kUnityProfilerCategoryText + 1);

constexpr std::array<std::uint32_t, 8> kOwn{0x4f8fdf, 0xdf8f4f, 0x4fbf6f, 0xbf4f8f,
                                            0x8f6fdf, 0xafaf3f, 0x3fafbf, 0xaf6f5f};

constinit Categories g_categories;

/// Under the lock. The next number, or none.
bool append(const char* name, std::uint32_t colour) noexcept {
    auto* const made = keep<UnityProfilerCategoryDesc>();
    if (made == nullptr || name == nullptr) {
        return false;
    }
    made->id = static_cast<UnityProfilerCategoryId>(g_categories.count());
    made->rgbaColor = colour << 8U | 0xffU;
    made->name = name;
    return g_categories.append(made);
}

}  // namespace

Categories& categories() noexcept {
    return g_categories;
}

void make_builtin_categories() noexcept {
    const RegistryLock lock;
    for (const Builtin& each : kBuiltins) {
        append(each.name, each.colour);
    }
}

UnityProfilerCategoryId find_category(const char* name, std::uint32_t colour) noexcept {
    std::uint32_t found = 0;
    {
        const RegistryLock lock;
        const std::uint32_t count = g_categories.count();
        while (found < count && std::strcmp(g_categories.at(found)->name, name) != 0) {
            ++found;
        }
        if (found < count) {
            return static_cast<UnityProfilerCategoryId>(found);
        }
        if (!append(keep_text(name),
                    colour == SAMPLE_TRACE_NO_COLOUR ? kOwn[found % kOwn.size()] : colour)) {
            return kUnityProfilerCategoryOther;
        }
    }
    if (ThreadRecord* const thread = ThreadRecord::current(); thread != nullptr) {
        g_categories.announce(*thread);
    }
    return static_cast<UnityProfilerCategoryId>(found);
}

const UnityProfilerCategoryDesc& category_of(UnityProfilerCategoryId id) noexcept {
    return *g_categories.at(
        id < g_categories.count() ? id : UnityProfilerCategoryId{kUnityProfilerCategoryOther});
}

}  // namespace sample::unity
