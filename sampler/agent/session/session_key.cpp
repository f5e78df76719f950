#include "sampler/agent/session/session_key.h"

#include <unistd.h>

#include <array>
#include <cstring>

namespace sample::agent {
namespace {

constexpr std::size_t kMaxName = 40;
constexpr std::size_t kSecretDigits = 2 * sizeof(control::Secret);

constinit std::array<char, 128> g_entry{};
constinit std::size_t g_mark_at = 0;  // in g_entry; 0: no session is known
constinit std::array<char, kMaxName + 1> g_name{};
constinit control::Secret g_secret{};

/// 0 to 15, or -1.
int digit(char text) noexcept {
    if (text >= '0' && text <= '9') {
        return text - '0';
    }
    return text >= 'a' && text <= 'f' ? text - 'a' + 10 : -1;
}

bool parse_secret(const char* text, control::Secret& secret) noexcept {
    for (std::size_t i = 0; i < secret.size(); ++i) {
        const int high = digit(text[2 * i]);
        const int low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        secret[i] = static_cast<std::uint8_t>(high * 16 + low);
    }
    return true;
}

}  // namespace

bool set_session(const char* text) noexcept {
    const std::size_t name = strcspn(text, ":");
    const std::size_t variable = strlen(control::kSessionVariable);
    const std::size_t size = name + 1 + kSecretDigits + 2;
    control::Secret secret{};
    if (name == 0 || name > kMaxName || strnlen(text, size + 1) != size || text[size - 2] != ':' ||
        variable + 1 + size >= g_entry.size() || !parse_secret(text + name + 1, secret)) {
        return false;
    }
    g_secret = secret;
    memcpy(g_name.data(), text, name);
    g_name[name] = '\0';
    memcpy(g_entry.data(), control::kSessionVariable, variable);
    g_entry[variable] = '=';
    memcpy(g_entry.data() + variable + 1, text, size + 1);
    g_mark_at = variable + size;
    return true;
}

const char* session_name() noexcept {
    return g_name.data();
}

const control::Secret& session_secret() noexcept {
    return g_secret;
}

bool session_may_be_waited_for() noexcept {
    return g_entry[g_mark_at] != control::kMustNotWait;
}

const char* session_entry() noexcept {
    return g_entry.data();
}

void mark_session(bool may_wait) noexcept {
    const char mark = may_wait ? control::kMayWait : control::kMustNotWait;
    if (g_mark_at == 0 || g_entry[g_mark_at] == mark) {
        return;
    }
    g_entry[g_mark_at] = mark;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        if (strncmp(*entry, g_entry.data(), g_mark_at) == 0 && (*entry)[g_mark_at] != '\0') {
            (*entry)[g_mark_at] = mark;
        }
    }
}

}  // namespace sample::agent
