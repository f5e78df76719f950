#include "trace/code_codec.h"

#include "trace/symbol_codec.h"
#include "trace/varint_bytes.h"
#include "trace/wire.h"

#include <limits>
#include <string>
#include <utility>

namespace sample::trace {
namespace {

constexpr std::uint64_t kCodeVersion = 1;
constexpr std::uint64_t kMostLines = 1'000'000;
constexpr std::uint64_t kLastLine = std::numeric_limits<std::uint32_t>::max();

/// Where the next piece of something begins: `distance` behind `end`; nullopt past `last`.
std::optional<std::uint64_t> start_behind(std::uint64_t end, std::uint64_t distance,
                                          std::uint64_t last) {
    return distance > last - end ? std::nullopt : std::optional{end + distance};
}

/// The blocks' addresses and, as zeros, their bytes. False if that cannot be.
bool read_blocks(PieceReader& in, std::vector<CodeBlock>& blocks) {
    std::uint64_t end = 0;
    std::uint64_t sizes = 0;
    for (std::uint64_t left = in.number(); left > 0; --left) {
        const auto address =
            start_behind(end, in.number(), std::numeric_limits<std::uint64_t>::max());
        const std::uint64_t size = in.number();
        if (!in.ok() || !address || size == 0 || size > in.rest().size() ||
            (sizes += size) > in.rest().size() ||
            size > std::numeric_limits<std::uint64_t>::max() - *address) {
            return false;
        }
        blocks.push_back({*address, std::vector<std::byte>(size)});
        end = *address + size;
    }
    return in.ok();
}

/// Whether every block begins with a place.
bool are_blocks_placed(const ModuleCode& code) {
    std::size_t place = 0;
    for (const CodeBlock& block : code.blocks) {
        while (place < code.places.size() && code.places[place] < block.address) {
            ++place;
        }
        if (place == code.places.size() || code.places[place] != block.address) {
            return false;
        }
    }
    return true;
}

bool read_pieces(PieceReader& in, SourceText& source, std::uint64_t& lines) {
    std::uint64_t end = 1;
    for (std::uint64_t left = in.number(); left > 0 && in.ok(); --left) {
        const auto first = start_behind(end, in.number(), kLastLine);
        const std::uint64_t count = in.number();
        if (!in.ok() || !first || count == 0 || count > kLastLine - *first ||
            (lines += count) > kMostLines) {
            return false;
        }
        SourcePiece& piece = source.pieces.emplace_back();
        piece.first_line = static_cast<std::uint32_t>(*first);
        for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
            piece.lines.push_back(in.text());
        }
        end = *first + count;
    }
    return in.ok();
}

}  // namespace

std::vector<std::byte> encode_code(const ModuleCode& code) {
    std::vector<std::byte> out;
    append_varint(out, kCodeVersion);
    append_varint(out, code.machine);
    append_varint(out, code.blocks.size());
    std::uint64_t end = 0;
    for (const CodeBlock& block : code.blocks) {
        append_varint(out, block.address - end);
        append_varint(out, block.bytes.size());
        end = block.address + block.bytes.size();
    }
    for (const CodeBlock& block : code.blocks) {
        wire::append(out, block.bytes);
    }
    wire::append(out, encode_symbols(code.places, code.symbols.runs, code.symbols));
    return out;
}

std::optional<ModuleCode> decode_code(std::span<const std::byte> bytes) {
    PieceReader in{bytes};
    ModuleCode code;
    const std::uint64_t version = in.number();
    const std::uint64_t machine = in.number();
    if (version != kCodeVersion || machine > std::numeric_limits<std::uint16_t>::max() ||
        !read_blocks(in, code.blocks)) {
        return std::nullopt;
    }
    code.machine = static_cast<std::uint16_t>(machine);
    for (CodeBlock& block : code.blocks) {
        const std::span<const std::byte> found = in.bytes(block.bytes.size());
        if (!in.ok()) {
            return std::nullopt;
        }
        block.bytes.assign(found.begin(), found.end());
    }
    auto named = decode_symbols(in.rest());
    if (!named) {
        return std::nullopt;
    }
    code.places = std::move(named->addresses);
    code.symbols = std::move(named->symbols);
    return are_blocks_placed(code) ? std::optional{std::move(code)} : std::nullopt;
}

std::vector<std::byte> encode_sources(std::span<const SourceText> sources) {
    std::vector<std::byte> out;
    append_varint(out, kCodeVersion);
    append_varint(out, sources.size());
    for (const SourceText& source : sources) {
        append_piece(out, source.file);
        append_varint(out, static_cast<std::uint64_t>(source.match));
        append_varint(out, source.pieces.size());
        std::uint64_t end = 1;
        for (const SourcePiece& piece : source.pieces) {
            append_varint(out, piece.first_line - end);
            append_varint(out, piece.lines.size());
            for (const std::string& line : piece.lines) {
                append_piece(out, line);
            }
            end = piece.first_line + piece.lines.size();
        }
    }
    return out;
}

std::optional<std::vector<SourceText>> decode_sources(std::span<const std::byte> bytes) {
    PieceReader in{bytes};
    if (in.number() != kCodeVersion) {
        return std::nullopt;
    }
    std::vector<SourceText> sources;
    std::uint64_t lines = 0;
    for (std::uint64_t left = in.number(); left > 0 && in.ok(); --left) {
        SourceText& source = sources.emplace_back();
        source.file = in.text();
        const std::uint64_t match = in.number();
        if (match > static_cast<std::uint64_t>(SourceMatch::differs) ||
            !read_pieces(in, source, lines)) {
            return std::nullopt;
        }
        source.match = static_cast<SourceMatch>(match);
    }
    return in.ok() && in.rest().empty() ? std::optional{std::move(sources)} : std::nullopt;
}

}  // namespace sample::trace
