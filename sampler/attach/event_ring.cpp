#include "sampler/attach/event_ring.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace sample::attach {

Result<std::unique_ptr<EventRing>> EventRing::map(int fd, std::size_t bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* base = ::mmap(nullptr, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) {
        return unexpected(Error::from_errno("cannot map a buffer for samples"));
    }
    return std::unique_ptr<EventRing>{
        new EventRing{fd, {static_cast<std::byte*>(base), page + bytes}, page}};
}

EventRing::~EventRing() {
    ::munmap(mapping_.data(), mapping_.size());
}

Result<void> EventRing::share(int fd) const {
    if (::ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, fd_) != 0) {
        return unexpected(Error::from_errno("cannot share a buffer for samples"));
    }
    return {};
}

perf_event_mmap_page& EventRing::page() const noexcept {
    return *reinterpret_cast<perf_event_mmap_page*>(mapping_.data());
}

void EventRing::refresh() noexcept {
    // Pairs with the kernel's store of data_head behind the records.
    head_ = __atomic_load_n(&page().data_head, __ATOMIC_ACQUIRE);
}

std::span<const std::byte> EventRing::peek() noexcept {
    if (current_.empty() && tail_ != head_) {
        const auto header =
            Fields{bytes_at(tail_, sizeof(perf_event_header))}.take<perf_event_header>();
        current_ = bytes_at(tail_, header.size);
    }
    return current_;
}

void EventRing::pop() noexcept {
    tail_ += current_.size();
    current_ = {};
    // Pairs with the kernel's load of data_tail before it writes there.
    __atomic_store_n(&page().data_tail, tail_, __ATOMIC_RELEASE);
}

std::span<const std::byte> EventRing::bytes_at(std::uint64_t position, std::size_t size) noexcept {
    const std::size_t offset = position & (data_.size() - 1);
    if (offset + size <= data_.size()) {
        return data_.subspan(offset, size);
    }
    const std::size_t first = data_.size() - offset;
    std::memcpy(joined_.data(), &data_[offset], first);
    std::memcpy(&joined_[first], data_.data(), size - first);
    return std::span{joined_}.first(size);
}

}  // namespace sample::attach
