#include "symbolize/code/disassembler.h"

// bfd.h insists on a program's config.h, of which these two are all that it looks for.
#define PACKAGE "sample"
#define PACKAGE_VERSION "1"
#include <dis-asm.h>
#include <elf.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <utility>

#ifdef SAMPLE_OPCODES_WITHOUT_BFD
// The one function of libbfd that libopcodes calls, to complain of options that we don't set.
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
extern "C" void _bfd_error_handler(const char* /*format*/, ...) {}
#endif

namespace sample::symbolize {
namespace {

constexpr std::size_t kMaxTextBytes = 256;
constexpr const char* kBad = "(bad)";

/// What libopcodes prints into: the instruction in the making.
struct Output {
    std::string text;
    const AddressNamer* namer = nullptr;
    bool is_wanted = true;
};

int print(void* stream, const char* format, std::va_list arguments) {
    if (!static_cast<Output*>(stream)->is_wanted) {
        return 0;
    }
    std::array<char, kMaxTextBytes> buffer{};
    const int size = std::vsnprintf(buffer.data(), buffer.size(), format, arguments);
    std::string& text = static_cast<Output*>(stream)->text;
    if (text.size() < kMaxTextBytes) {
        text += buffer.data();
    }
    return size;
}

// NOLINTBEGIN(cert-dcl50-cpp,cppcoreguidelines-pro-type-vararg): libopcodes' interface
int print_plain(void* stream, const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    const int size = print(stream, format, arguments);
    va_end(arguments);
    return size;
}

#ifdef SAMPLE_OPCODES_STYLED
int print_styled(void* stream, disassembler_style /*style*/, const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    const int size = print(stream, format, arguments);
    va_end(arguments);
    return size;
}
#endif
// NOLINTEND(cert-dcl50-cpp,cppcoreguidelines-pro-type-vararg)

void print_address(bfd_vma address, disassemble_info* info) {
    auto* const output = static_cast<Output*>(info->stream);
    print_plain(output, "0x%llx", static_cast<unsigned long long>(address));
    const std::string name =
        output->is_wanted && *output->namer ? (*output->namer)(address) : std::string{};
    if (!name.empty()) {
        output->text += " " + name;
    }
}

/// The code ends in the middle of an instruction: whoever asked sees that by the result.
void ignore_memory_error(int /*status*/, bfd_vma /*address*/, disassemble_info* /*info*/) {}

/// Where an instruction jumps or calls.
std::uint64_t target_of(const disassemble_info& info) {
    const bool is_known = info.insn_info_valid != 0 &&
                          (info.insn_type == dis_branch || info.insn_type == dis_condbranch ||
                           info.insn_type == dis_jsr || info.insn_type == dis_condjsr);
    return is_known ? info.target : 0;
}

void trim(std::string& text) {
    const std::size_t last = text.find_last_not_of(" \t");
    text.resize(last == std::string::npos ? 0 : last + 1);
    std::replace(text.begin(), text.end(), '\t', ' ');
}

}  // namespace

struct Disassembler::Impl {
    disassemble_info info = {};
    disassembler_ftype decode = nullptr;
    Output output;

    Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    Impl(Impl&&) = delete;
    Impl& operator=(Impl&&) = delete;
    ~Impl() { disassemble_free_target(&info); }

    Instruction next(std::uint64_t address) {
        output.text.clear();
        info.insn_info_valid = 0;
        info.target = 0;
        const int size = decode(address, &info);
        Instruction result;
        result.address = address;
        const std::uint64_t left = info.buffer_vma + info.buffer_length - address;
        if (size <= 0 || static_cast<std::uint64_t>(size) > std::min<std::uint64_t>(left, 255)) {
            result.text = kBad;
            return result;
        }
        result.size = static_cast<std::uint8_t>(size);
        result.target = target_of(info);
        if (output.is_wanted) {
            trim(output.text);
            result.text = output.text.empty() ? kBad : output.text;
        }
        return result;
    }

    std::vector<Instruction> all(std::uint64_t address, std::span<const std::byte> code) {
        // libopcodes wants to be able to write; buffer_read_memory only reads.
        info.buffer = const_cast<bfd_byte*>(
            static_cast<const bfd_byte*>(static_cast<const void*>(code.data())));
        info.buffer_vma = address;
        info.buffer_length = code.size();
        std::vector<Instruction> instructions;
        for (std::size_t at = 0; at < code.size(); at += instructions.back().size) {
            instructions.push_back(next(address + at));
        }
        return instructions;
    }
};

Result<Disassembler> Disassembler::create(std::uint16_t machine, AssemblySyntax syntax) {
    if (machine != EM_X86_64) {
        return unexpected(ErrorCode::unsupported,
                          "the code is for a processor of another kind (ELF machine " +
                              std::to_string(machine) +
                              "): its instructions cannot be shown, use --source");
    }
    auto impl = std::make_unique<Impl>();
#ifdef SAMPLE_OPCODES_STYLED
    init_disassemble_info(&impl->info, &impl->output, print_plain, print_styled);
#else
    init_disassemble_info(&impl->info, &impl->output, print_plain);
#endif
    impl->info.arch = bfd_arch_i386;
    impl->info.mach = bfd_mach_x86_64;
    impl->info.endian = BFD_ENDIAN_LITTLE;
    impl->info.print_address_func = print_address;
    impl->info.memory_error_func = ignore_memory_error;
    impl->info.disassembler_options = syntax == AssemblySyntax::intel ? "intel" : "att";
    disassemble_init_for_target(&impl->info);
    impl->decode = disassembler(bfd_arch_i386, false, bfd_mach_x86_64, nullptr);
    if (impl->decode == nullptr) {
        return unexpected(ErrorCode::unsupported,
                          "this build's libopcodes does not know x86-64: use --source");
    }
    return Disassembler{std::move(impl)};
}

std::vector<Instruction> Disassembler::disassemble(std::uint64_t address,
                                                   std::span<const std::byte> code,
                                                   const AddressNamer& namer) {
    impl_->output.namer = &namer;
    impl_->output.is_wanted = true;
    return impl_->all(address, code);
}

std::vector<Instruction> Disassembler::outline(std::uint64_t address,
                                               std::span<const std::byte> code) {
    impl_->output.is_wanted = false;
    return impl_->all(address, code);
}

Disassembler::Disassembler(std::unique_ptr<Impl> impl) : impl_{std::move(impl)} {}
Disassembler::Disassembler(Disassembler&&) noexcept = default;
Disassembler& Disassembler::operator=(Disassembler&&) noexcept = default;
Disassembler::~Disassembler() = default;

}  // namespace sample::symbolize
