// What a jitdump says of addresses: names, and source lines from its debug information.
//
// Read record by record, twice, from a descriptor (core/jitdump.h): a dump holds all the code that
// was ever made, and may be large.
#include "symbolize/runtime/latest_code.h"
#include "symbolize/runtime/runtime_code.h"
#include "symbolize/runtime/runtime_names.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string_view>
#include <unordered_map>

namespace sample::symbolize {
namespace {

constexpr std::size_t kMaxDebugBytes = std::size_t{16} << 20U;
constexpr std::size_t kMaxPendingDebug = 4096;

struct LineEntry {
    std::uint64_t address = 0;
    std::uint32_t file = 0;
    std::uint32_t line = 0;
};

/// V8 counts lines from behind the header of an ELF file that `perf inject` would make.
std::uint64_t first_line_offset(std::string_view name) {
    constexpr std::uint64_t kElfHeaderBytes = 0x40;
    return is_v8_javascript(name) ? kElfHeaderBytes : 0;
}

/// Each lead byte has its number of continuation bytes.
bool is_utf8(std::string_view text) {
    int missing = 0;
    for (const char letter : text) {
        const auto byte = static_cast<unsigned char>(letter);
        const bool continues = (byte & 0xC0U) == 0x80;
        if (continues != (missing > 0)) {
            return false;
        }
        if (continues) {
            --missing;
        } else if (byte >= 0x80) {
            missing = byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : 1;
        }
    }
    return missing == 0;
}

class DumpNames {
public:
    DumpNames(const jitdump::Reader& reader, std::span<const std::uint64_t> addresses,
              DumpAddresses are)
        : reader_{reader}, addresses_{addresses}, are_{are} {
        code_.locations.resize(addresses.size());
    }

    RuntimeCode read() && {
        choose();
        jitdump::Reader records = reader_;
        // What comes before a load is about it; compilers on several threads may mix theirs.
        std::unordered_map<std::uint64_t, jitdump::Record> debug;
        while (const auto record = records.next()) {
            if (record->kind == jitdump::Kind::debug_info) {
                if (debug.size() >= kMaxPendingDebug) {
                    debug.clear();
                }
                debug[record->address] = *record;
            } else if (record->kind == jitdump::Kind::load) {
                const auto about = debug.extract(record->address);
                if (const auto at = chosen_.find(record->offset); at != chosen_.end()) {
                    describe(*record, about ? &about.mapped() : nullptr, at->second);
                }
            }
        }
        return std::move(code_);
    }

private:
    [[nodiscard]] std::uint64_t start_of(const jitdump::Record& load) const {
        return are_ == DumpAddresses::offsets ? load.code_offset : load.address;
    }

    void choose() {
        LatestCode latest{addresses_};
        jitdump::Reader records = reader_;
        while (const auto record = records.next()) {
            if (record->kind == jitdump::Kind::load) {
                latest.add(start_of(*record), start_of(*record) + record->code_size,
                           record->offset);
            }
        }
        for (std::size_t i = 0; i < addresses_.size(); ++i) {
            if (const auto load = latest.find(addresses_[i])) {
                chosen_[*load].push_back(i);
            }
        }
    }

    void describe(const jitdump::Record& load, const jitdump::Record* debug,
                  const std::vector<std::size_t>& indices) {
        const auto function = static_cast<std::uint32_t>(code_.functions.size());
        RuntimeCode::Function& named = code_.functions.emplace_back();
        named.name = name_of(load);
        named.start = start_of(load);
        std::vector<LineEntry> lines;
        if (debug != nullptr) {
            lines = lines_of(*debug, load.address + first_line_offset(named.name));
        }
        if (!lines.empty()) {
            named.file = lines.front().file;
            named.line = lines.front().line;
        }
        for (const std::size_t index : indices) {
            const std::uint64_t address = addresses_[index] - start_of(load);
            const auto after = std::upper_bound(
                lines.begin(), lines.end(), address,
                [](std::uint64_t value, const LineEntry& entry) { return value < entry.address; });
            const LineEntry line = after == lines.begin() ? LineEntry{} : *std::prev(after);
            code_.locations[index] = RuntimeCode::Location{function, line.file, line.line};
        }
    }

    std::string name_of(const jitdump::Record& load) const {
        const std::uint64_t start = load.offset + jitdump::kNameOffset;
        std::string name(std::min<std::uint64_t>(load.code_offset - start, kMaxNameBytes), '\0');
        name.resize(reader_.read(start, std::as_writable_bytes(std::span{name})));
        name.resize(std::min(name.find('\0'), name.size()));
        return name;
    }

    /// Ascending by address, which is counted from where the code starts.
    std::vector<LineEntry> lines_of(const jitdump::Record& debug, std::uint64_t code_start) {
        std::string bytes(
            std::min<std::size_t>(debug.size - jitdump::kEntriesOffset, kMaxDebugBytes), '\0');
        bytes.resize(reader_.read(debug.offset + jitdump::kEntriesOffset,
                                  std::as_writable_bytes(std::span{bytes})));
        std::string_view rest{bytes};
        constexpr std::size_t kFixedBytes = 16;  // address, line, discriminator
        constexpr std::string_view kSameFile = "\xff";
        std::vector<LineEntry> lines;
        std::uint32_t file = 0;
        for (std::uint64_t i = 0; i < debug.entries && rest.size() > kFixedBytes; ++i) {
            LineEntry entry;
            std::memcpy(&entry.address, rest.data(), sizeof entry.address);
            std::memcpy(&entry.line, rest.data() + sizeof entry.address, sizeof entry.line);
            rest.remove_prefix(kFixedBytes);
            const std::size_t end = rest.find('\0');
            if (end == std::string_view::npos) {
                break;
            }
            if (rest.substr(0, end) != kSameFile) {
                file = file_index(rest.substr(0, end));
            }
            rest.remove_prefix(end + 1);
            entry.file = file;
            if (entry.address >= code_start) {
                entry.address -= code_start;
                lines.push_back(entry);
            }
        }
        std::stable_sort(lines.begin(), lines.end(), [](const LineEntry& a, const LineEntry& b) {
            return a.address < b.address;
        });
        return lines;
    }

    /// 0 for what is no name: V8 writes names that it has freed (seen in node 20).
    std::uint32_t file_index(std::string_view file) {
        if (std::any_of(file.begin(), file.end(),
                        [](unsigned char letter) { return std::iscntrl(letter) != 0; }) ||
            !is_utf8(file)) {
            return 0;
        }
        const std::string name{file.substr(0, kMaxNameBytes)};
        const auto [at, is_new] =
            files_.try_emplace(name, static_cast<std::uint32_t>(code_.files.size()));
        if (is_new) {
            code_.files.push_back(name);
        }
        return at->second;
    }

    const jitdump::Reader& reader_;
    std::span<const std::uint64_t> addresses_;
    DumpAddresses are_;
    /// By offset of the load that names them: addresses, by index.
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> chosen_;
    std::unordered_map<std::string, std::uint32_t> files_{{std::string{}, 0}};
    RuntimeCode code_;
};

}  // namespace

RuntimeCode read_jitdump(const jitdump::Reader& reader, std::span<const std::uint64_t> addresses,
                         DumpAddresses are) {
    return DumpNames{reader, addresses, are}.read();
}

}  // namespace sample::symbolize
