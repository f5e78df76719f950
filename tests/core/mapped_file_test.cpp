#include "core/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>

namespace sample {
namespace {

/// Bytes of memory that [bytes] takes of this process. Source: proc_pid_smaps(5).
std::size_t resident(std::span<const std::byte> bytes) {
    std::ifstream maps{"/proc/self/smaps"};
    const auto wanted = reinterpret_cast<std::uintptr_t>(bytes.data());
    bool is_inside = false;
    for (std::string line; std::getline(maps, line);) {
        if (line.find(':') > line.find('-')) {
            is_inside = std::stoull(line, nullptr, 16) == wanted;
        } else if (is_inside && line.starts_with("Rss:")) {
            return std::stoull(line.substr(4)) * 1024;
        }
    }
    return 0;
}

TEST(MappedFile, gives_memory_back_and_reads_the_same_again) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::string path = ::testing::TempDir() + "mapped-file-" + std::to_string(::getpid());
    std::ofstream{path} << std::string(100 * page, 'x');
    const auto file = MappedFile::open(path);
    ::unlink(path.c_str());
    ASSERT_TRUE(file);
    const auto count = [&] {
        return std::count(file->bytes().begin(), file->bytes().end(), std::byte{'x'});
    };
    EXPECT_EQ(count(), static_cast<std::ptrdiff_t>(100 * page));
    EXPECT_EQ(resident(file->bytes()), 100 * page);
    // Parts as a reader meets them, whose ends are anywhere.
    for (std::size_t at = 0; at < 100 * page;) {
        const std::size_t size = std::min(7 * page + 123, 100 * page - at);
        file->give_back(file->bytes().subspan(at, size));
        at += size;
    }
    EXPECT_EQ(resident(file->bytes()), 0U);
    EXPECT_EQ(count(), static_cast<std::ptrdiff_t>(100 * page));
    file->give_back(file->bytes().subspan(5, 7));
    EXPECT_EQ(resident(file->bytes()), 100 * page);
}

}  // namespace
}  // namespace sample
