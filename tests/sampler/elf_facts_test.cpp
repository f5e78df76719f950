#include "sampler/collector/code/elf_facts.h"

#include "core/fd.h"
#include "sampler/collector/process/proc_files.h"
#include "tests/trace/recording_fixture.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gnu/lib-names.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

namespace sample::collector {
namespace {

std::string own_path() {
    return executable_of(::getpid());
}

/// By its name: the address of one of its functions may be a sanitizer's, or a stub's in the
/// program. Source: dlinfo(3).
const link_map& c_library() {
    static link_map* const library = [] {
        link_map* found = nullptr;
        void* const handle = ::dlopen(LIBC_SO, RTLD_LAZY | RTLD_NOLOAD);
        if (handle == nullptr || ::dlinfo(handle, RTLD_DI_LINKMAP, &found) != 0) {
            std::abort();
        }
        return found;
    }();
    return *library;
}

std::string libc_path() {
    std::array<char, PATH_MAX> path{};
    return ::realpath(c_library().l_name, path.data()) != nullptr ? path.data() : "";
}

/// A file of some bytes.
class Bytes {
public:
    explicit Bytes(const std::vector<std::byte>& bytes) {
        const Fd fd = file_.open();
        EXPECT_EQ(::write(fd.get(), bytes.data(), bytes.size()),
                  static_cast<ssize_t>(bytes.size()));
    }
    [[nodiscard]] const std::string& path() const { return file_.path(); }

private:
    trace::TemporaryFile file_;
};

/// An x86-64 ELF file by hand: headers, then whatever is appended.
class HandElf {
public:
    explicit HandElf(std::uint16_t program_headers) {
        std::memcpy(head_.e_ident, ELFMAG, SELFMAG);
        head_.e_ident[EI_CLASS] = ELFCLASS64;
        head_.e_machine = EM_X86_64;
        head_.e_phoff = sizeof head_;
        head_.e_phnum = program_headers;
    }
    Elf64_Ehdr& head() { return head_; }
    void add(const Elf64_Phdr& header) { append(&header, sizeof header); }
    void append(const void* bytes, std::size_t size) {
        const auto* begin = static_cast<const std::byte*>(bytes);
        rest_.insert(rest_.end(), begin, begin + size);
    }
    [[nodiscard]] std::vector<std::byte> bytes() const {
        std::vector<std::byte> all(sizeof head_);
        std::memcpy(all.data(), &head_, sizeof head_);
        all.insert(all.end(), rest_.begin(), rest_.end());
        return all;
    }

private:
    Elf64_Ehdr head_{};
    std::vector<std::byte> rest_;
};

TEST(ElfFacts, reads_this_program) {
    const ElfFacts facts = read_elf_facts(own_path());
    EXPECT_TRUE(facts.is_elf);
    EXPECT_TRUE(facts.is_x86_64);
    EXPECT_FALSE(facts.is_go);
    EXPECT_EQ(facts.interpreter, "/lib64/ld-linux-x86-64.so.2");
    EXPECT_EQ(facts.build_id.size(), 20U);
    EXPECT_GE(facts.segments.size(), 2U);
}

TEST(ElfFacts, reads_the_first_library_that_is_needed) {
    EXPECT_EQ(read_elf_facts(libc_path()).first_library, "ld-linux-x86-64.so.2");
}

TEST(ElfFacts, reads_the_c_library) {
    const ElfFacts facts = read_elf_facts(libc_path());
    EXPECT_TRUE(facts.is_x86_64);
    EXPECT_EQ(facts.build_id.size(), 20U);
    EXPECT_NE(facts.build_id, read_elf_facts(own_path()).build_id);
    EXPECT_GE(facts.segments.size(), 2U);
}

TEST(ElfFacts, finds_the_bias_of_own_mappings) {
    const ElfFacts facts = read_elf_facts(libc_path());
    int seen = 0;
    for (const Mapping& mapping : mappings_of(::getpid())) {
        if (mapping.executable && mapping.path == libc_path()) {
            EXPECT_EQ(facts.bias_of_mapping(mapping.start, mapping.offset), c_library().l_addr);
            ++seen;
        }
    }
    EXPECT_GE(seen, 1);
}

TEST(ElfFacts, tells_segments_apart_that_share_a_page_of_the_file) {
    // As lld lays them out: each at the next page in memory, right behind the last one in the file.
    ElfFacts facts;
    facts.segments = {{0, 0, 0x1234}, {0x1240, 0x2240, 0x800}};
    EXPECT_EQ(facts.bias_of_mapping(0x700000000000, 0), 0x700000000000U);
    EXPECT_EQ(facts.bias_of_mapping(0x700000002000, 0x1000), 0x700000000000U);
}

TEST(ElfFacts, knows_no_bias_outside_of_segments) {
    ElfFacts facts;
    facts.segments = {{0x1000, 0x1000, 0x1000}};
    EXPECT_EQ(facts.bias_of_mapping(0x5000, 0x2000), std::nullopt);
    EXPECT_EQ(facts.bias_of_mapping(0x5000, 0), std::nullopt);
    EXPECT_EQ(facts.bias_of_mapping(0x6000, 0x1000), 0x5000U);
}

TEST(ElfFacts, knows_go_by_its_section) {
    constexpr char kNames[] = "\0.text\0.go.buildinfo";
    HandElf elf{0};
    elf.head().e_shoff = sizeof(Elf64_Ehdr);
    elf.head().e_shnum = 2;
    elf.head().e_shstrndx = 1;
    Elf64_Shdr go{};
    go.sh_name = 7;
    Elf64_Shdr names{};
    names.sh_name = 1;
    names.sh_offset = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Shdr);
    names.sh_size = sizeof kNames;
    elf.append(&go, sizeof go);
    elf.append(&names, sizeof names);
    elf.append(kNames, sizeof kNames);
    EXPECT_TRUE(read_elf_facts(Bytes{elf.bytes()}.path()).is_go);
    elf.head().e_shnum = 0;
    EXPECT_FALSE(read_elf_facts(Bytes{elf.bytes()}.path()).is_go);
}

TEST(ElfFacts, finds_the_build_id_behind_other_notes) {
    struct Note {
        Elf64_Nhdr head;
        char name[4];
        std::uint8_t bytes[4];
    };
    const Note other{{4, 3, NT_GNU_PROPERTY_TYPE_0}, "GNU", {9, 9, 9, 0}};
    const Note id{{4, 4, NT_GNU_BUILD_ID}, "GNU", {1, 2, 3, 4}};
    HandElf elf{1};
    Elf64_Phdr header{};
    header.p_type = PT_NOTE;
    header.p_offset = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
    header.p_filesz = sizeof other + sizeof id;
    elf.add(header);
    elf.append(&other, sizeof other);
    elf.append(&id, sizeof id);
    EXPECT_EQ(read_elf_facts(Bytes{elf.bytes()}.path()).build_id,
              (std::vector<std::uint8_t>{1, 2, 3, 4}));
}

TEST(ElfFacts, survives_offsets_and_sizes_from_nowhere) {
    std::mt19937_64 random{7};
    for (int round = 0; round < 100; ++round) {
        HandElf elf{static_cast<std::uint16_t>(random() % 8)};
        elf.head().e_shoff = random() >> (random() % 64);
        elf.head().e_shnum = static_cast<std::uint16_t>(random());
        elf.head().e_shstrndx = static_cast<std::uint16_t>(random() % 4);
        for (int i = 0; i < 8; ++i) {
            Elf64_Phdr header{};
            header.p_type = std::array<Elf64_Word, 3>{PT_LOAD, PT_INTERP, PT_NOTE}[random() % 3];
            header.p_offset = random() >> (random() % 64);
            header.p_filesz = random() >> (random() % 64);
            header.p_vaddr = random();
            elf.add(header);
        }
        const ElfFacts facts = read_elf_facts(Bytes{elf.bytes()}.path());
        EXPECT_TRUE(facts.is_elf);
        (void)facts.bias_of_mapping(random(), random() >> (random() % 64));
    }
}

TEST(ElfFacts, survives_a_file_that_is_cut_off) {
    auto mapped = MappedFile::open(own_path());
    ASSERT_TRUE(mapped);
    std::vector<std::byte> bytes{
        mapped->bytes().begin(),
        mapped->bytes().begin() + std::min<std::ptrdiff_t>(4096, std::ssize(mapped->bytes()))};
    while (!bytes.empty()) {
        const ElfFacts facts = read_elf_facts(Bytes{bytes}.path());
        EXPECT_EQ(facts.is_elf, bytes.size() >= sizeof(Elf64_Ehdr)) << bytes.size();
        bytes.resize(bytes.size() > 1'500 ? bytes.size() - 97
                                          : bytes.size() - std::min(bytes.size(), std::size_t{7}));
    }
}

TEST(ElfFacts, survives_random_bytes) {
    std::mt19937_64 random{3};
    for (int round = 0; round < 100; ++round) {
        std::vector<std::byte> bytes(random() % 2'000);
        for (std::byte& byte : bytes) {
            byte = static_cast<std::byte>(random());
        }
        EXPECT_FALSE(read_elf_facts(Bytes{bytes}.path()).is_elf);
        // The same behind a header that looks right.
        if (bytes.size() > sizeof(Elf64_Ehdr)) {
            const std::vector<std::byte> head = HandElf{5}.bytes();
            std::copy_n(head.begin(), 20, bytes.begin());
            EXPECT_TRUE(read_elf_facts(Bytes{bytes}.path()).is_x86_64);
        }
    }
}

/// A file that speaks of far more than anybody could read.
class EndlessElf {
public:
    EndlessElf() : path_{::testing::TempDir() + "endless-elf-XXXXXX"} {
        file_ = Fd{::mkostemp(path_.data(), O_CLOEXEC)};
        head_.e_machine = EM_X86_64;
        head_.e_ident[EI_CLASS] = ELFCLASS64;
        std::memcpy(head_.e_ident, ELFMAG, SELFMAG);
    }
    ~EndlessElf() { ::unlink(path_.c_str()); }
    EndlessElf(const EndlessElf&) = delete;
    EndlessElf& operator=(const EndlessElf&) = delete;
    EndlessElf(EndlessElf&&) = delete;
    EndlessElf& operator=(EndlessElf&&) = delete;

    template <class T>
    void put(std::uint64_t at, const T& what) const {
        EXPECT_EQ(::pwrite(file_.get(), &what, sizeof what, static_cast<off_t>(at)),
                  static_cast<ssize_t>(sizeof what));
    }
    [[nodiscard]] ElfFacts read() const {
        put(0, head_);
        return read_elf_facts(path_);
    }

    Elf64_Ehdr head_{};

private:
    std::string path_;
    Fd file_;
};

TEST(ElfFacts, does_not_read_the_names_of_sections_to_an_end_that_never_comes) {
    EndlessElf file;
    constexpr std::uint64_t kLetters = std::uint64_t{64} << 20U;
    constexpr std::uint16_t kSections = 65'000;
    const auto letters = std::make_unique<std::array<char, std::size_t{1} << 20U>>();
    letters->fill('A');
    for (std::uint64_t at = 0; at < kLetters; at += letters->size()) {
        file.put(4096 + at, *letters);
    }
    file.head_.e_shoff = 4096 + kLetters;
    file.head_.e_shnum = kSections;
    Elf64_Shdr names{};
    names.sh_offset = 4096;
    names.sh_size = kLetters;
    file.put(file.head_.e_shoff, names);
    file.put(file.head_.e_shoff + kSections * sizeof names, names);
    EXPECT_FALSE(file.read().is_go);
}

TEST(ElfFacts, does_not_read_notes_to_an_end_that_never_comes) {
    EndlessElf file;
    constexpr std::uint64_t kHole = std::uint64_t{1} << 40U;
    file.head_.e_phoff = 64;
    file.head_.e_phnum = 65'000;
    Elf64_Phdr notes{};
    notes.p_type = PT_NOTE;
    notes.p_offset = std::uint64_t{4} << 20U;
    notes.p_filesz = kHole - notes.p_offset;
    for (std::uint64_t i = 0; i < file.head_.e_phnum; ++i) {
        file.put(64 + i * sizeof notes, notes);
    }
    file.put(kHole - 1, 'x');
    EXPECT_EQ(file.read().build_id, std::vector<std::uint8_t>{});
}

TEST(ElfFacts, is_no_elf_where_there_is_no_file) {
    EXPECT_FALSE(read_elf_facts("/nonexistent/file").is_elf);
    EXPECT_FALSE(read_elf_facts("/proc/self/status").is_elf);
}

}  // namespace
}  // namespace sample::collector
