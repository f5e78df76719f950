#include "sampler/collector/process/area_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <mutex>
#include <new>
#include <span>

namespace sample::collector {
namespace {

/// 32 MB.
constexpr std::uint32_t kMostWaitingChunks = 256;

std::mutex g_raising;

/// While it lives, no file is too large, as far as that is ours to say: without privilege up to the
/// hard limit.
class RaisedFileSize {
public:
    RaisedFileSize() : lock_{g_raising} {
        if (::getrlimit(RLIMIT_FSIZE, &before_) != 0 || before_.rlim_cur == RLIM_INFINITY) {
            return;
        }
        const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
        const rlimit hard{before_.rlim_max, before_.rlim_max};
        raised_ = ::setrlimit(RLIMIT_FSIZE, &none) == 0 || ::setrlimit(RLIMIT_FSIZE, &hard) == 0;
    }
    RaisedFileSize(const RaisedFileSize&) = delete;
    RaisedFileSize& operator=(const RaisedFileSize&) = delete;
    RaisedFileSize(RaisedFileSize&&) = delete;
    RaisedFileSize& operator=(RaisedFileSize&&) = delete;
    ~RaisedFileSize() {
        if (raised_) {
            const int saved = errno;
            ::setrlimit(RLIMIT_FSIZE, &before_);
            errno = saved;
        }
    }

private:
    std::lock_guard<std::mutex> lock_;
    rlimit before_{};
    bool raised_ = false;
};

void touch(const std::atomic<std::uint32_t>& word) {
    static_cast<void>(word.load(std::memory_order_relaxed));
}

}  // namespace

Fd make_shared_memory(const char* name, std::uint64_t bytes) {
    Fd fd{::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    const RaisedFileSize raised;
    if (fd.is_open() && ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
        return {};
    }
    return fd;
}

Result<std::shared_ptr<AreaMapping>> AreaMapping::create(std::uint64_t period_ns,
                                                         double ticks_per_ns, bool is_root,
                                                         std::uint32_t max_depth,
                                                         const std::string& channels) {
    std::size_t groups = capture::kMaxGroups;
    Fd fd;
    do {
        fd = make_shared_memory(kAreaName, capture::file_bytes(groups));
        groups /= fd.is_open() ? 1 : 2;
    } while (!fd.is_open() && errno == EFBIG && groups != 0);
    if (!fd.is_open()) {
        return unexpected(Error::from_errno(
            errno == EFBIG ? "cannot make the shared sample buffers, for which ulimit -f is "
                             "too low"
                           : "cannot make the shared sample buffers"));
    }
    // The target cannot shrink it under us (SIGBUS).
    ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    void* address = ::mmap(nullptr, capture::Area::kFirstBytes, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_NORESERVE, fd.get(), 0);
    if (address == MAP_FAILED) {
        return unexpected(Error::from_errno("cannot map the shared sample buffers"));
    }
    capture::DefinitionStore* definitions = nullptr;
    if (!channels.empty()) {
        void* const behind =
            ::mmap(nullptr, sizeof *definitions, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                   fd.get(), static_cast<off_t>(capture::area_bytes(groups)));
        if (behind == MAP_FAILED) {
            ::munmap(address, capture::Area::kFirstBytes);
            return unexpected(Error::from_errno("cannot map what programs say"));
        }
        definitions = static_cast<capture::DefinitionStore*>(behind);
        channels.copy(definitions->wanted.data(), definitions->wanted.size() - 1);
    }
    auto* start = static_cast<capture::AreaStart*>(address);
    capture::AreaHeader& header = *new (&start->header) capture::AreaHeader{};
    header.is_root = is_root ? 1 : 0;
    header.most_waiting_chunks = channels.empty() ? 0 : kMostWaitingChunks;
    header.max_depth = max_depth;
    header.gap_ticks = 1;  // by the thread's clock, unless the agent says otherwise
    set_period(header, period_ns, ticks_per_ns);
    for (std::size_t word = 0; word < header.free_slots.size(); ++word) {
        header.free_slots[word].store(~std::uint64_t{0}, std::memory_order_relaxed);
        header.free_chunks[word].store(~std::uint64_t{0}, std::memory_order_release);
    }
    return std::make_shared<AreaMapping>(std::move(fd), *start, groups, definitions);
}

void set_period(capture::AreaHeader& header, std::uint64_t period_ns, double ticks_per_ns) {
    const auto ticks = static_cast<double>(period_ns) * ticks_per_ns;
    header.period_ns = period_ns;
    header.period_ticks = static_cast<std::uint64_t>(std::llround(ticks));
    std::uint64_t gap = header.gap_ticks;
    // The agent may zero it at any moment, for good.
    while (gap != 0 && gap != capture::kCountsEvents &&
           !header.gap_ticks.compare_exchange_weak(
               gap, static_cast<std::uint64_t>(std::llround(1.5 * ticks)))) {
    }
}

AreaMapping::~AreaMapping() {
    if (definitions_ != nullptr) {
        ::munmap(definitions_, sizeof *definitions_);
    }
    area_.for_each_mapping(
        [](std::span<std::byte> memory) { ::munmap(memory.data(), memory.size()); });
}

std::uint64_t AreaMapping::resident_bytes() const {
    struct stat info = {};
    return ::fstat(fd_.get(), &info) == 0 ? static_cast<std::uint64_t>(info.st_blocks) * 512 : 0;
}

void SpareArea::prepare(double ticks_per_ns) {
    if (spare_ != nullptr) {
        return;
    }
    auto made = AreaMapping::create(period_ns_, ticks_per_ns, false, max_depth_, channels_);
    if (!made) {
        return;  // take() says why
    }
    // The first bits of the bitmaps are the first to be claimed. A read is enough to make a page of
    // a memory file.
    const capture::Area& area = (*made)->area();
    touch(area.slot(0)->tid);
    touch(area.chunk(0)->committed);
    spare_ = std::move(*made);
}

Result<std::shared_ptr<AreaMapping>> SpareArea::take(double ticks_per_ns, bool is_root) {
    if (spare_ == nullptr || is_root) {
        return AreaMapping::create(period_ns_, ticks_per_ns, is_root, max_depth_, channels_);
    }
    return std::exchange(spare_, nullptr);
}

}  // namespace sample::collector
