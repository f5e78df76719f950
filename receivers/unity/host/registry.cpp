// IUnityInterfaces: interfaces by GUID, ours and those that plug-ins register.
#include "receivers/unity/host/interfaces.h"
#include "receivers/unity/host/registry_lock.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

namespace sample::unity {
namespace {

struct Guid {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    bool operator==(const Guid&) const noexcept = default;
};

template <class Interface>
Guid guid_of() noexcept {
    const UnityInterfaceGUID guid = GetUnityInterfaceGUID<Interface>();
    return {guid.m_GUIDHigh, guid.m_GUIDLow};
}

constexpr std::size_t kMostInterfaces = 256;

struct Registered {
    Guid guid;
    std::atomic<void*> interface { nullptr };
};

constinit std::array<Registered, kMostInterfaces> g_registered{};
constinit std::atomic<std::size_t> g_count{0};

Registered* look_up(const Guid& guid) noexcept {
    const std::size_t count = g_count.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) {
        if (g_registered[i].guid == guid) {
            return &g_registered[i];
        }
    }
    return nullptr;
}

void add(const Guid& guid, void* interface) noexcept {
    const RegistryLock lock;
    Registered* found = look_up(guid);
    const std::size_t count = g_count.load(std::memory_order_relaxed);
    if (found == nullptr && count < kMostInterfaces) {
        found = &g_registered[count];
        found->guid = guid;
        g_count.store(count + 1, std::memory_order_release);
    }
    if (found != nullptr) {
        found->interface.store(interface, std::memory_order_release);
    }
}

IUnityInterface* get(const Guid& guid) noexcept {
    const Registered* const found = look_up(guid);
    return found == nullptr
               ? nullptr
               : static_cast<IUnityInterface*>(found->interface.load(std::memory_order_acquire));
}

/// Addresses of a program lie in the lower half, and not in its first page. A GUID that begins so
/// and is not known is taken for one.
bool may_be_address(std::uint64_t word) noexcept {
    constexpr std::uint64_t kEnd = std::uint64_t{1} << 47U;
    return word >= 4096 && word < kEnd && word % alignof(std::uint64_t) == 0;
}

Guid guid_at(std::uint64_t address) noexcept {
    Guid guid;
    std::memcpy(&guid, reinterpret_cast<const void*>(address), sizeof guid);
    return guid;
}

IUnityInterface* get_split(unsigned long long high, unsigned long long low) noexcept {
    return get({high, low});
}

/// C++ passes the GUID's address in the first register, C the GUID in the first two.
IUnityInterface* get_either(std::uint64_t first, std::uint64_t second) noexcept {
    const Guid by_value{first, second};
    if (look_up(by_value) != nullptr || !may_be_address(first)) {
        return get(by_value);
    }
    return get(guid_at(first));
}

void register_split(unsigned long long high, unsigned long long low,
                    IUnityInterface* interface) noexcept {
    add({high, low}, interface);
}

/// C++: address, interface. C: high, low, interface.
void register_either(std::uint64_t first, std::uint64_t second, void* third) noexcept {
    if (may_be_address(first)) {
        add(guid_at(first), reinterpret_cast<void*>(second));
    } else {
        add({first, second}, third);
    }
}

template <class Interface>
void add_own(Interface& interface) noexcept {
    add(guid_of<Interface>(), &interface);
}

template <class As, class Function>
As disguised(Function function) noexcept {
    // By this type, compilers know that it is meant.
    return reinterpret_cast<As>(reinterpret_cast<void (*)()>(function));
}

IUnityInterfaces make_registry() noexcept {
    add_own(profiler());
    add_own(profiler_v2());
    add_own(profiler_callbacks());
    add_own(profiler_callbacks_v2());
    add_own(plugin_log());
    add_own(memory_manager());
    IUnityInterfaces made{};
    // Functions of both kinds of callers, by the registers that these use.
    made.GetInterface = disguised<decltype(made.GetInterface)>(get_either);
    made.RegisterInterface = disguised<decltype(made.RegisterInterface)>(register_either);
    made.GetInterfaceSplit = get_split;
    made.RegisterInterfaceSplit = register_split;
    return made;
}

}  // namespace

IUnityInterfaces& registry() noexcept {
    static IUnityInterfaces made = make_registry();
    return made;
}

}  // namespace sample::unity
