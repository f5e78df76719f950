// A ring buffer that the kernel writes records of perf events into, and we read.
//
// Several events of one CPU may write into one ring (share()). A record that does not fit is
// dropped by the kernel, which says how many were (PERF_RECORD_LOST).
// Source: perf_event_open(2), "MMAP layout".
#pragma once

#include "core/fd.h"
#include "core/result.h"

#include <linux/perf_event.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace sample::attach {

/// Takes values off the front of a record's body. Behind its end there are zeros.
class Fields {
public:
    explicit Fields(std::span<const std::byte> bytes) noexcept : bytes_{bytes} {}

    template <class Value>
    Value take() noexcept {
        Value value{};
        if (bytes_.size() >= sizeof(Value)) {
            __builtin_memcpy(&value, bytes_.data(), sizeof(Value));
            bytes_ = bytes_.subspan(sizeof(Value));
        } else {
            bytes_ = {};
        }
        return value;
    }
    [[nodiscard]] std::span<const std::byte> rest() const noexcept { return bytes_; }

private:
    std::span<const std::byte> bytes_;
};

/// Not thread-safe.
class EventRing {
public:
    /// Maps a ring of `bytes`, a power of two of pages, for the event `fd`, which has to outlive
    /// it. Errors: system (EPERM: more than this user may lock).
    [[nodiscard]] static Result<std::unique_ptr<EventRing>> map(int fd, std::size_t bytes);
    ~EventRing();
    EventRing(const EventRing&) = delete;
    EventRing& operator=(const EventRing&) = delete;

    /// The event `fd`, of the same CPU, writes into this ring, too. Errors: system.
    [[nodiscard]] Result<void> share(int fd) const;

    /// Sees what was written until now.
    void refresh() noexcept;
    /// The next record, header included, or an empty span; valid until pop().
    [[nodiscard]] std::span<const std::byte> peek() noexcept;
    /// Gives the record's room back to the kernel, which may then overwrite it.
    void pop() noexcept;

private:
    EventRing(int fd, std::span<std::byte> mapping, std::size_t page_bytes)
        : fd_{fd}, mapping_{mapping}, data_{mapping.subspan(page_bytes)} {}
    [[nodiscard]] perf_event_mmap_page& page() const noexcept;
    std::span<const std::byte> bytes_at(std::uint64_t position, std::size_t size) noexcept;

    int fd_;
    std::span<std::byte> mapping_;
    std::span<std::byte> data_;
    /// A record that lies around the ring's end, put together.
    std::array<std::byte, std::size_t{1} << 16U> joined_{};
    std::span<const std::byte> current_;
    std::uint64_t head_ = 0;
    std::uint64_t tail_ = 0;
};

}  // namespace sample::attach
