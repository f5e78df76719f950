// The name and the secret of a session: who knows both belongs to it.
#pragma once

#include "sampler/control/protocol.h"

#include <string>

namespace sample::collector {

struct SessionKey {
    std::string name;  ///< Of the abstract socket.
    control::Secret secret{};

    /// False: the kernel has no random bytes for us.
    static bool make(SessionKey& key);

    /// What SAMPLE_SESSION must be.
    [[nodiscard]] std::string text() const;
    /// Takes the same time whatever `said` is.
    [[nodiscard]] bool opens_with(const control::Secret& said) const;
};

}  // namespace sample::collector
