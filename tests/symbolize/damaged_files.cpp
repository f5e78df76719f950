#include "tests/symbolize/damaged_files.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

namespace sample::symbolize {

void expect_survived(const DamagedFiles& files) {
    constexpr unsigned kSeconds = 20;
    auto* const at = static_cast<std::atomic<unsigned>*>(
        ::mmap(nullptr, sizeof(std::atomic<unsigned>), PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(static_cast<void*>(at), MAP_FAILED);
    for (unsigned next = 0; next < files.count; next = at->load() + 1) {
        const pid_t child = ::fork();
        if (child == 0) {
            for (; next < files.count; ++next) {
                at->store(next);
                files.damage(next);
                ::alarm(kSeconds);
                if (!files.read()) {
                    ::_exit(1);
                }
            }
            ::_exit(0);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0) << "file " << at->load() << ": " << files.damage(at->load());
    }
    ::munmap(at, sizeof *at);
}

}  // namespace sample::symbolize
