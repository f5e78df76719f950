#include "sampler/collector/joining/session_key.h"

#include <sys/random.h>

#include <array>
#include <span>

namespace sample::collector {
namespace {

bool fill(std::span<std::uint8_t> bytes) {
    return ::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
}

std::string in_digits(std::span<const std::uint8_t> bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : bytes) {
        text += kDigits[byte >> 4U];
        text += kDigits[byte & 15U];
    }
    return text;
}

}  // namespace

bool SessionKey::make(SessionKey& key) {
    std::array<std::uint8_t, 8> name{};
    if (!fill(name) || !fill(key.secret)) {
        return false;
    }
    key.name = "sample-" + in_digits(name);
    return true;
}

std::string SessionKey::text() const {
    return name + ":" + in_digits(secret) + ":" + control::kMayWait;
}

bool SessionKey::opens_with(const control::Secret& said) const {
    unsigned differs = 0;
    for (std::size_t i = 0; i < secret.size(); ++i) {
        differs |= static_cast<unsigned>(secret[i] ^ said[i]);
    }
    return differs == 0;
}

}  // namespace sample::collector
