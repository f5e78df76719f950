#include "core/mapped_reading.h"

#include "core/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <thread>

namespace sample {
namespace {

constexpr std::size_t kPages = 8;

std::size_t page_bytes() {
    return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// A file full of 'x', and a mapping of it.
class MappedLetters {
public:
    explicit MappedLetters(int flags = MAP_PRIVATE) {
        std::string path = ::testing::TempDir() + "mapped-reading-XXXXXX";
        file_ = Fd{::mkostemp(path.data(), O_CLOEXEC)};
        path_ = path;
        const std::string letters(kPages * page_bytes(), 'x');
        EXPECT_EQ(::write(file_.get(), letters.data(), letters.size()),
                  static_cast<ssize_t>(letters.size()));
        memory_ = ::mmap(nullptr, letters.size(), PROT_READ, flags, file_.get(), 0);
        EXPECT_NE(memory_, MAP_FAILED);
    }
    ~MappedLetters() {
        ::munmap(memory_, kPages * page_bytes());
        ::unlink(path_.c_str());
    }
    MappedLetters(const MappedLetters&) = delete;
    MappedLetters& operator=(const MappedLetters&) = delete;
    MappedLetters(MappedLetters&&) = delete;
    MappedLetters& operator=(MappedLetters&&) = delete;

    void cut_off_at(std::size_t page) const {
        EXPECT_EQ(::ftruncate(file_.get(), static_cast<off_t>(page * page_bytes())), 0);
    }
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::uintptr_t address(std::size_t page) const {
        return reinterpret_cast<std::uintptr_t>(memory_) + page * page_bytes();
    }
    /// The first byte of the page.
    [[nodiscard]] char read(std::size_t page) const {
        return *reinterpret_cast<const volatile char*>(address(page));
    }

private:
    Fd file_;
    std::string path_;
    void* memory_ = nullptr;
};

std::string name_of_mapping(std::uintptr_t address) {
    std::array<char, 256> name{};
    FoundMapping found;
    EXPECT_TRUE(find_mapping(address, found, name));
    EXPECT_TRUE(found.start <= address && address < found.end);
    return name.data();
}

struct sigaction disposition() {
    struct sigaction now = {};
    EXPECT_EQ(::sigaction(SIGBUS, nullptr, &now), 0);
    return now;
}

/// Sanitizers have a handler of their own.
void use_default() {
    ASSERT_NE(::signal(SIGBUS, SIG_DFL), SIG_ERR);
}

volatile std::sig_atomic_t g_handled = 0;

TEST(MappingLookup, tells_range_kind_and_name) {
    const MappedLetters letters;
    const MappedLetters shared{MAP_SHARED};
    EXPECT_EQ(name_of_mapping(letters.address(kPages - 1)), letters.path());
    FoundMapping found;
    std::array<char, 5> beginning{};
    ASSERT_TRUE(find_mapping(letters.address(1), found, beginning));
    EXPECT_EQ(beginning.data(), letters.path().substr(0, 4));
    EXPECT_EQ(found.start, letters.address(0));
    EXPECT_EQ(found.end, letters.address(kPages));
    EXPECT_TRUE(found.is_private);
    ASSERT_TRUE(find_mapping(shared.address(1), found, {}));
    EXPECT_FALSE(found.is_private);
    EXPECT_FALSE(find_mapping(0, found, {}));
}

TEST(MappedReading, reads_zeros_where_the_file_was_cut_off) {
    const MappedLetters letters;
    const MappedReading reading;
    EXPECT_EQ(letters.read(3), 'x');
    EXPECT_FALSE(reading.is_broken());
    EXPECT_EQ(reading.file(), "");
    letters.cut_off_at(2);
    EXPECT_EQ(letters.read(1), 'x');
    EXPECT_FALSE(reading.is_broken());
    EXPECT_EQ(letters.read(3), '\0');
    EXPECT_TRUE(reading.is_broken());
    EXPECT_EQ(reading.file(), letters.path());
    EXPECT_EQ(letters.read(2), '\0');
    EXPECT_EQ(letters.read(kPages - 1), '\0');
    EXPECT_EQ(letters.read(1), 'x');
}

// Else a large file would cost a fault a page, and more mappings than a process may have.
TEST(MappedReading, replaces_the_rest_of_the_mapping_at_once) {
    const MappedLetters letters;
    const MappedReading reading;
    letters.cut_off_at(0);
    EXPECT_EQ(letters.read(4), '\0');
    EXPECT_EQ(name_of_mapping(letters.address(3)), letters.path());
    EXPECT_EQ(name_of_mapping(letters.address(kPages - 1)), "");
}

TEST(MappedReading, of_two_the_innermost_is_told) {
    const MappedLetters first;
    const MappedLetters second;
    first.cut_off_at(0);
    second.cut_off_at(0);
    const MappedReading outer;
    {
        const MappedReading inner;
        EXPECT_EQ(first.read(0), '\0');
        EXPECT_EQ(inner.file(), first.path());
    }
    EXPECT_FALSE(outer.is_broken());
    EXPECT_EQ(second.read(0), '\0');
    EXPECT_EQ(outer.file(), second.path());
}

TEST(MappedReading, works_where_the_signal_is_blocked) {
    const MappedLetters letters;
    letters.cut_off_at(0);
    sigset_t only;
    sigset_t before;
    sigemptyset(&only);
    sigaddset(&only, SIGBUS);
    ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &only, &before), 0);
    {
        const MappedReading reading;
        EXPECT_EQ(letters.read(0), '\0');
    }
    sigset_t after;
    ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &before, &after), 0);
    EXPECT_EQ(sigismember(&after, SIGBUS), 1);
}

TEST(MappedReading, leaves_the_disposition_as_it_was) {
    const auto before = disposition();
    {
        const MappedReading outer;
        EXPECT_NE(disposition().sa_sigaction, before.sa_sigaction);
        { const MappedReading inner; }
        EXPECT_NE(disposition().sa_sigaction, before.sa_sigaction);
    }
    EXPECT_EQ(disposition().sa_sigaction, before.sa_sigaction);
    // The C library adds this whenever it sets a disposition (sigaction(2): SA_RESTORER).
    constexpr int kRestorer = 0x04000000;
    EXPECT_EQ(disposition().sa_flags | kRestorer, before.sa_flags | kRestorer);
}

TEST(MappedReading, is_each_threads_own) {
    const auto cut_and_read = [] {
        for (int i = 0; i < 200; ++i) {
            const MappedLetters letters;
            const MappedReading reading;
            EXPECT_EQ(letters.read(5), 'x');
            EXPECT_FALSE(reading.is_broken());
            letters.cut_off_at(2);
            EXPECT_EQ(letters.read(5), '\0');
            EXPECT_EQ(reading.file(), letters.path());
        }
    };
    std::thread other{cut_and_read};
    cut_and_read();
    other.join();
}

TEST(MappedReadingDeathTest, a_fault_without_one_kills) {
    const MappedLetters letters;
    letters.cut_off_at(0);
    const auto fault = [&] {
        use_default();
        { const MappedReading over; }
        static_cast<void>(letters.read(0));
    };
    EXPECT_EXIT(fault(), ::testing::KilledBySignal(SIGBUS), "");
}

TEST(MappedReadingDeathTest, a_fault_of_another_thread_kills) {
    const MappedLetters letters;
    letters.cut_off_at(0);
    const auto fault = [&] {
        use_default();
        const MappedReading reading;
        std::thread{[&] { static_cast<void>(letters.read(0)); }}.join();
    };
    EXPECT_EXIT(fault(), ::testing::KilledBySignal(SIGBUS), "");
}

// What is shared is no file that is only read: zeros there would be written over.
TEST(MappedReadingDeathTest, a_fault_in_shared_memory_kills) {
    const MappedLetters letters{MAP_SHARED};
    letters.cut_off_at(0);
    const auto fault = [&] {
        use_default();
        const MappedReading reading;
        static_cast<void>(letters.read(0));
    };
    EXPECT_EXIT(fault(), ::testing::KilledBySignal(SIGBUS), "");
}

TEST(MappedReadingDeathTest, a_signal_that_was_sent_does_what_it_did) {
    const auto send_by_default = [] {
        use_default();
        const MappedReading reading;
        ::raise(SIGBUS);
    };
    EXPECT_EXIT(send_by_default(), ::testing::KilledBySignal(SIGBUS), "");
    const auto send_ignored = [] {
        ::signal(SIGBUS, SIG_IGN);
        const MappedReading reading;
        ::raise(SIGBUS);
        ::_exit(3);
    };
    EXPECT_EXIT(send_ignored(), ::testing::ExitedWithCode(3), "");
    const auto send_handled = [] {
        ::signal(SIGBUS, [](int signal) { g_handled = signal; });
        const MappedReading reading;
        ::raise(SIGBUS);
        ::_exit(g_handled == SIGBUS ? 4 : 5);
    };
    EXPECT_EXIT(send_handled(), ::testing::ExitedWithCode(4), "");
}

}  // namespace
}  // namespace sample
