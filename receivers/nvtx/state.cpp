#include "receivers/nvtx/state.h"

#include "receivers/shared/key_table.h"
#include "receivers/shared/text.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>

SAMPLE_TRACE_CHANNEL_DEFINE(nvtx);

namespace sample::nvtx {
namespace {

using receivers::mix;
using receivers::Text;

constinit receivers::FixedName g_without_domain{"NVTX"};
constinit receivers::FixedName g_unnamed{"unnamed"};
receivers::KeyTable<4096> g_categories;

/// By thread: the name that another thread has given it, and that it has not said yet.
receivers::KeyTable<1024> g_thread_names;
std::atomic<std::uint32_t> g_thread_names_given{0};

[[gnu::noinline, gnu::cold]] void say_own_name(receivers::ThreadState& thread,
                                               std::uint32_t given) noexcept {
    thread.names_seen = given;
    if (const std::uint64_t name =
            g_thread_names.take(mix(1, static_cast<std::uint64_t>(gettid())));
        name != 0) {
        agent().name_thread(reinterpret_cast<const Name*>(name)->text());
    }
}

std::uint64_t category_key(DomainHandle domain, std::uint32_t category) noexcept {
    return mix(mix(2, domain), category);
}

}  // namespace

constinit receivers::Unmatched g_unmatched{"NVTX"};

bool is_on() noexcept {
    receivers::ThreadState* const thread = receivers::thread_state();
    if (!SAMPLE_TRACE_IS_ON(::nvtx) || thread == nullptr) {
        return false;
    }
    const std::uint32_t given = g_thread_names_given.load(std::memory_order_relaxed);
    if (given != thread->names_seen) [[unlikely]] {
        say_own_name(*thread, given);
    }
    return true;
}

Name& name_of(MessageType type, const void* message) noexcept {
    if (type == MessageType::registered && message != nullptr) {
        return *static_cast<Name*>(const_cast<void*>(message));
    }
    if (type == MessageType::ascii && message != nullptr) {
        return *receivers::name_at(static_cast<const char*>(message));
    }
    if (type == MessageType::wide && message != nullptr) {
        return *receivers::name_of(Text{static_cast<const wchar_t*>(message)}.view());
    }
    return g_unnamed.get();
}

Name& category_of(DomainHandle domain, std::uint32_t category) noexcept {
    if (category == 0) {
        return domain == nullptr ? g_without_domain.get() : *domain;
    }
    if (const std::uint64_t known = g_categories.find(category_key(domain, category)); known != 0) {
        return *reinterpret_cast<Name*>(known);
    }
    std::array<char, 24> text;
    std::snprintf(text.data(), text.size(), "category %u", category);
    name_category(domain, category, *receivers::name_of(text.data()));
    const std::uint64_t named = g_categories.find(category_key(domain, category));
    return named != 0 ? *reinterpret_cast<Name*>(named) : category_of(domain, 0);
}

void name_category(DomainHandle domain, std::uint32_t category, const Name& name) noexcept {
    const Text text =
        domain == nullptr ? Text{name.text()} : Text::joined({domain->text(), ": ", name.text()});
    g_categories.put(category_key(domain, category),
                     reinterpret_cast<std::uintptr_t>(receivers::name_of(text.view())));
}

void name_thread(std::uint32_t tid, const Name& name) noexcept {
    if (tid == static_cast<std::uint32_t>(gettid())) {
        if (is_on()) {
            agent().name_thread(name.text());
        }
        return;
    }
    g_thread_names.put(mix(1, std::uint64_t{tid}), reinterpret_cast<std::uintptr_t>(&name));
    g_thread_names_given.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace sample::nvtx
