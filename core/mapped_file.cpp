#include "core/mapped_file.h"

#include "core/regular_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace sample {

Result<MappedFile> MappedFile::open(const std::string& path) {
    const Fd fd = open_regular(path);
    if (!fd.is_open()) {
        return errno == 0 ? unexpected(ErrorCode::invalid_argument, path + " is not a regular file")
                          : unexpected(Error::from_errno("cannot open " + path));
    }
    return map(fd, path);
}

Result<MappedFile> MappedFile::read_to_end(int fd, const std::string& name) {
    constexpr std::size_t kStep = std::size_t{64} << 10U;
    const Fd copy{::memfd_create("input", MFD_CLOEXEC)};
    std::array<std::byte, kStep> bytes{};
    ssize_t got = copy.is_open() ? 1 : -1;
    while (got > 0 || (got < 0 && errno == EINTR)) {
        got = ::read(fd, bytes.data(), bytes.size());
        const std::size_t count = got > 0 ? static_cast<std::size_t>(got) : 0;
        if (write_all(copy.get(), std::span{bytes}.first(count)) != count) {
            got = -1;
            break;
        }
    }
    return got == 0 ? map(copy, name) : unexpected(Error::from_errno("cannot read " + name));
}

Result<MappedFile> MappedFile::map(const Fd& fd, const std::string& name) {
    struct stat info = {};
    if (::fstat(fd.get(), &info) != 0) {
        return unexpected(Error::from_errno("cannot stat " + name));
    }
    const auto size = static_cast<std::size_t>(info.st_size);
    MappedFile file;
    if (size != 0) {
        void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
        if (address == MAP_FAILED) {
            return unexpected(Error::from_errno("cannot map " + name));
        }
        file.bytes_ = {static_cast<const std::byte*>(address), Unmap{size}};
    }
    return file;
}

void MappedFile::give_back(std::span<const std::byte> part) const noexcept {
    // Whole pages, and with them what of the part before is on the first one.
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const auto offset = static_cast<std::size_t>(part.data() - bytes().data());
    const std::size_t first = offset / page * page;
    const std::size_t end = (offset + part.size()) / page * page;
    if (end > first) {
        ::madvise(const_cast<std::byte*>(bytes().data()) + first, end - first, MADV_DONTNEED);
    }
}

void MappedFile::Unmap::operator()(const std::byte* bytes) const noexcept {
    ::munmap(const_cast<std::byte*>(bytes), size);
}

}  // namespace sample
