// Fuzzes the reading of ELF files: a small file with all that is read of one, of which the input
// changes bytes. The first byte says how many; each change is three bytes: a place, a value. The
// rest of the input is the frame sections' content.
#include "unwind/cfi/row.h"
#include "unwind/host/elf_image.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace sample::unwind;  // NOLINT(google-build-using-namespace): a program of one file

constexpr std::size_t kChangeBytes = 3;
constexpr std::uint64_t kContent = 1024;
constexpr std::string_view kNames{"\0.eh_frame\0.debug_frame\0", 24};

struct File {
    Elf64_Ehdr elf{};
    Elf64_Phdr programs[3]{};
    Elf64_Shdr sections[4]{};
    char names[32]{};
};
static_assert(sizeof(File) <= kContent);

File sound_file(std::size_t content) {
    File file;
    std::memcpy(file.elf.e_ident, ELFMAG, SELFMAG);
    file.elf.e_ident[EI_CLASS] = ELFCLASS64;
    file.elf.e_machine = EM_X86_64;
    file.elf.e_phoff = offsetof(File, programs);
    file.elf.e_phentsize = sizeof(Elf64_Phdr);
    file.elf.e_phnum = 3;
    file.elf.e_shoff = offsetof(File, sections);
    file.elf.e_shentsize = sizeof(Elf64_Shdr);
    file.elf.e_shnum = 4;
    file.elf.e_shstrndx = 3;
    const std::uint64_t size = kContent + content;
    file.programs[0] = {PT_LOAD, PF_R | PF_X, 0, 0, 0, size, size, 4096};
    file.programs[1] = {PT_GNU_EH_FRAME, PF_R, kContent, kContent, 0, content, content, 4};
    file.programs[2] = {PT_LOAD, PF_R | PF_W, 0, 0x4000, 0, size, 0x8000, 4096};
    file.sections[1] = {1, SHT_PROGBITS, SHF_ALLOC, kContent, kContent, content, 0, 0, 8, 0};
    file.sections[2] = {11, SHT_PROGBITS, 0, 0, kContent, content, 0, 0, 8, 0};
    file.sections[3] = {0, SHT_STRTAB, 0, 0, offsetof(File, names), kNames.size(), 0, 0, 1, 0};
    std::memcpy(file.names, kNames.data(), kNames.size());
    return file;
}

void look_up_everything(const ElfImage& image) {
    const Module module = image.module_at(0x5550'0000'0000);
    const cfi::Tables tables = module.local_tables();
    for (std::uint64_t pc = module.span.begin; pc < module.span.begin + 0x2000; pc += 61) {
        cfi::FrameRules found;
        const std::uint64_t local = pc + module.image_delta;
        if (cfi::find_rules(tables, local, found) == cfi::Found::yes) {
            static_cast<void>(cfi::pack_rules(found, local));
        }
    }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const int fd = memfd_create("fuzzed", 0);
    if (size == 0 || size < 1 + data[0] * kChangeBytes) {
        return 0;
    }
    const std::size_t changes = data[0];
    const std::uint8_t* content = data + 1 + changes * kChangeBytes;
    const std::size_t content_size = size - 1 - changes * kChangeBytes;
    std::vector<std::uint8_t> bytes(kContent + content_size);
    const File file = sound_file(content_size);
    std::memcpy(bytes.data(), &file, sizeof(file));
    if (content_size != 0) {
        std::memcpy(bytes.data() + kContent, content, content_size);
    }
    for (std::size_t i = 0; i < changes; ++i) {
        const std::uint8_t* change = data + 1 + i * kChangeBytes;
        const std::size_t place = change[0] + std::size_t{256} * change[1];
        bytes[place % kContent] = change[2];
    }
    if (ftruncate(fd, 0) != 0 ||
        pwrite(fd, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
        return 0;
    }
    if (const auto image = ElfImage::map("/proc/self/fd/" + std::to_string(fd))) {
        look_up_everything(*image);
    }
    return 0;
}
