#include "receivers/modules/agent.h"

#include "sample/agent_note.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

namespace sample::modules {
namespace {

constinit const sample_module_agent* g_agent = nullptr;

}  // namespace

void find_agent() noexcept {
    const auto* const found =
        static_cast<const sample_module_agent*>(sample_agent_find_table_(SAMPLE_MODULE_AGENT_NOTE));
    if (found != nullptr && found->version == SAMPLE_MODULE_AGENT_VERSION &&
        found->bytes >= sizeof *found) {
        g_agent = found;
    }
}

const sample_module_agent* agent() noexcept {
    return g_agent;
}

void complain(const char* module, const char* text, const char* reason) noexcept {
    std::array<char, 1024> line{};
    std::size_t size = 0;
    const auto add = [&](const char* part) {
        for (; part != nullptr && *part != '\0' && size < line.size() - 1; ++part) {
            line[size++] = *part;
        }
    };
    add("sample: ");
    if (module != nullptr) {
        add("module ");
        add(module);
        add(": ");
    }
    add(text);
    add(reason);
    line[size++] = '\n';
    const KeptErrno kept;
    static_cast<void>(!::write(STDERR_FILENO, line.data(), size));
}

KeptErrno::KeptErrno() noexcept : value_{errno} {}

KeptErrno::~KeptErrno() {
    errno = value_;
}

}  // namespace sample::modules
