#include "core/mapped_file.h"

#include "core/regular_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

namespace sample {

Result<MappedFile> MappedFile::open(const std::string& path) {
    const Fd fd = open_regular(path);
    if (!fd.is_open()) {
        return errno == 0 ? unexpected(ErrorCode::invalid_argument, path + " is not a regular file")
                          : unexpected(Error::from_errno("cannot open " + path));
    }
    struct stat info = {};
    if (::fstat(fd.get(), &info) != 0) {
        return unexpected(Error::from_errno("cannot stat " + path));
    }
    const auto size = static_cast<std::size_t>(info.st_size);
    MappedFile file;
    if (size != 0) {
        void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
        if (address == MAP_FAILED) {
            return unexpected(Error::from_errno("cannot map " + path));
        }
        file.bytes_ = {static_cast<const std::byte*>(address), Unmap{size}};
    }
    return file;
}

void MappedFile::Unmap::operator()(const std::byte* bytes) const noexcept {
    ::munmap(const_cast<std::byte*>(bytes), size);
}

}  // namespace sample
