#include "sampler/attach/code_images.h"

#include "core/mapped_reading.h"
#include "core/regular_file.h"
#include "core/text.h"
#include "sampler/collector/code/perf_map_place.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace sample::attach {
namespace {

using collector::Mapping;

/// This kernel's, as a file.
Fd copy_of_vdso() {
    constexpr std::size_t kPage = 4096;
    const auto* base = reinterpret_cast<const std::byte*>(::getauxval(AT_SYSINFO_EHDR));
    if (base == nullptr) {
        return {};
    }
    Elf64_Ehdr header;
    std::memcpy(&header, base, sizeof header);
    const std::size_t used = header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize;
    const std::size_t size = (used + kPage - 1) / kPage * kPage;
    Fd file{::memfd_create("vdso", MFD_CLOEXEC)};
    if (!file.is_open() || ::write(file.get(), base, size) != static_cast<ssize_t>(size)) {
        return {};
    }
    return file;
}

/// The very file, or what its name leads to where the process is; not one that is gone, unless it
/// is the program itself.
Fd open_code(pid_t pid, const Mapping& mapping) {
    if (Fd mapped = collector::open_map_file(pid, mapping); mapped.is_open()) {
        return mapped;
    }
    if (collector::executable_of(pid) == mapping.path) {
        return open_regular(collector::living_path(pid, "exe"));
    }
    if (mapping.path.ends_with(kDeleted)) {
        return {};
    }
    const Fd root{
        ::open(collector::living_path(pid, "root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    return root.is_open() ? open_regular(collector::open_in(root, mapping.path.c_str(), O_PATH))
                          : open_regular(mapping.path);
}

std::shared_ptr<const CodeImage> load(const Fd& file, const std::string& name, bool is_vdso) {
    const std::string path = "/proc/self/fd/" + std::to_string(file.get());
    const MappedReading reading;
    auto elf = unwind::ElfImage::map(path);
    if (!elf || reading.is_broken()) {
        return nullptr;
    }
    return std::make_shared<CodeImage>(
        CodeImage{name, collector::read_elf_facts(path), std::move(*elf), is_vdso});
}

}  // namespace

std::shared_ptr<const CodeImage> CodeImages::find(pid_t pid, const Mapping& mapping) {
    if (mapping.path == "[vdso]") {
        if (vdso_ == nullptr) {
            vdso_ = load(copy_of_vdso(), mapping.path, true);
        }
        return vdso_;
    }
    if (mapping.path.empty() || mapping.path[0] != '/' || mapping.path.starts_with("//")) {
        return nullptr;
    }
    const Fd file = open_code(pid, mapping);
    struct stat info {};
    if (!file.is_open() || ::fstat(file.get(), &info) != 0) {
        return nullptr;
    }
    const FileKey key{static_cast<std::uint64_t>(info.st_dev),
                      static_cast<std::uint64_t>(info.st_ino),
                      static_cast<std::uint64_t>(info.st_mtim.tv_sec),
                      static_cast<std::uint64_t>(info.st_mtim.tv_nsec)};
    auto found = images_.find(key);
    if (found == images_.end()) {
        found = images_.emplace(key, load(file, mapping.path, false)).first;
    }
    return found->second;
}

void CodeImages::forget_unused() {
    if (images_.size() > kMostKept) {
        std::erase_if(images_, [](const auto& each) { return each.second.use_count() <= 1; });
    }
}

}  // namespace sample::attach
