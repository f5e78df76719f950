// A folder of a test's own, in which clients of sessions look for them.
#pragma once

#include "fake_session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

namespace sample::api {

class SessionsFolder : public testing::Test {
protected:
    SessionsFolder() {
        std::string pattern = testing::TempDir() + "sample-api-XXXXXX";
        folder_ = ::mkdtemp(pattern.data());
        // NOLINTNEXTLINE(concurrency-mt-unsafe): there is no other thread yet
        ::setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
    }
    ~SessionsFolder() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::filesystem::path socket(const std::string& name) const {
        return folder_ / "sample" / (name + ".sock");
    }
    /// A session that says it has this process.
    [[nodiscard]] std::unique_ptr<FakeSession> session(const std::string& name,
                                                       pid_t pid = ::getpid()) const {
        auto made = std::make_unique<FakeSession>(socket(name));
        made->change([&](SessionState& state) { state.pid = std::to_string(pid); });
        return made;
    }

private:
    std::filesystem::path folder_;
};

}  // namespace sample::api
