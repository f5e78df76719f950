#include "trace/symbol_codec.h"

#include "trace/varint_bytes.h"
#include "trace/wire.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace sample::trace {
namespace {

constexpr std::uint64_t kSymbolsVersion = 1;

// How a function's linkage name is told.
constexpr std::uint64_t kNoLink = 0;
constexpr std::uint64_t kLinkIsName = 1;
constexpr std::uint64_t kOwnLink = 2;

// The fewest bytes that one of each takes: what a claim of many is held against.
constexpr std::uint64_t kAddressBytes = 2;
constexpr std::uint64_t kRunBytes = 1;
constexpr std::uint64_t kFrameBytes = 3;
constexpr std::uint64_t kFunctionBytes = 5;
constexpr std::uint64_t kFileBytes = 2;

/// Functions copy the names of their sources, so that few bytes could stand for many.
constexpr std::uint64_t kMaxSourceBytes = std::uint64_t{256} << 20;

constexpr std::uint64_t difference(std::uint64_t value, std::uint64_t before) {
    return zigzag_encode(static_cast<std::int64_t>(value - before));
}

constexpr std::uint64_t sum(std::uint64_t before, std::uint64_t difference) {
    return before + static_cast<std::uint64_t>(zigzag_decode(difference));
}

/// The frame that lay as deep in the run before; both counted from the outermost one.
SymbolFrame reference(std::span<const SymbolFrame> before, std::size_t depth) {
    return depth < before.size() ? before[before.size() - 1 - depth] : SymbolFrame{};
}

/// Gathers what the runs refer to, numbered in the order of first use.
class Encoder {
public:
    explicit Encoder(const Symbols& symbols)
        : symbols_{symbols}, functions_(symbols.functions.size(), kUnused) {}

    void add(std::uint64_t address, const FrameRun& run);
    [[nodiscard]] std::vector<std::byte> finish();

private:
    static constexpr std::uint32_t kUnused = std::numeric_limits<std::uint32_t>::max();

    void add_run(std::span<const SymbolFrame> frames);
    std::uint64_t function(std::uint32_t index);
    std::uint64_t file(std::string_view name);

    const Symbols& symbols_;
    std::vector<std::uint32_t> functions_;  ///< By index in symbols_: the number here.
    std::unordered_map<std::string_view, std::uint32_t> files_;
    std::unordered_map<std::uint64_t, std::uint64_t> runs_;
    std::vector<SymbolFrame> last_coded_;
    std::uint64_t last_address_ = 0;
    std::uint64_t last_start_ = 0;
    std::uint64_t addresses_ = 0;
    std::uint64_t frames_ = 0;
    std::uint32_t function_count_ = 0;
    std::vector<std::byte> file_column_;
    std::vector<std::byte> function_column_;
    std::vector<std::byte> run_column_;
    std::vector<std::byte> frame_column_;
    std::vector<std::byte> address_column_;
    std::vector<std::byte> place_column_;
    std::vector<std::byte> file_text_;
    std::vector<std::byte> function_text_;
};

void append_text(std::vector<std::byte>& out, std::string_view text) {
    wire::append(out, std::as_bytes(std::span{text}));
}

void Encoder::add(std::uint64_t address, const FrameRun& run) {
    append_varint(address_column_,
                  addresses_ == 0 ? address : address - last_address_ - std::uint64_t{1});
    last_address_ = address;
    ++addresses_;
    const auto [known, is_new] =
        runs_.try_emplace((std::uint64_t{run.first} << 32) | run.count, runs_.size());
    append_varint(place_column_, is_new ? 0 : runs_.size() - known->second);
    if (is_new) {
        add_run(std::span{symbols_.frames}.subspan(run.first, run.count));
    }
}

void Encoder::add_run(std::span<const SymbolFrame> frames) {
    append_varint(run_column_, frames.size());
    frames_ += frames.size();
    std::vector<SymbolFrame> coded(frames.size());
    for (std::size_t depth = 0; depth < frames.size(); ++depth) {
        const std::size_t place = frames.size() - 1 - depth;
        const SymbolFrame& frame = frames[place];
        const SymbolFrame before = reference(last_coded_, depth);
        SymbolFrame& now = coded[place];
        now.function = static_cast<std::uint32_t>(function(frame.function));
        now.file = static_cast<std::uint32_t>(file(symbols_.files[frame.file]));
        now.line = frame.line;
        append_varint(frame_column_, difference(now.function, before.function));
        append_varint(frame_column_, difference(now.file, before.file));
        append_varint(frame_column_, difference(now.line, before.line));
    }
    last_coded_ = std::move(coded);
}

std::uint64_t Encoder::function(std::uint32_t index) {
    std::uint32_t& number = functions_[index];
    if (number != kUnused) {
        return number;
    }
    number = function_count_++;
    const FunctionSymbol& function = symbols_.functions[index];
    const std::string_view name = function.name;
    const std::string_view link = function.linkage_name;
    const std::uint64_t how = link.empty() ? kNoLink : link == name ? kLinkIsName : kOwnLink;
    append_varint(function_column_, static_cast<std::uint64_t>(function.origin) | (how << 2));
    append_varint(function_column_, name.size());
    append_text(function_text_, name);
    if (how == kOwnLink) {
        append_varint(function_column_, link.size());
        append_text(function_text_, link);
    }
    append_varint(function_column_, file(function.source));
    append_varint(function_column_, function.line);
    append_varint(function_column_, difference(function.start, last_start_));
    last_start_ = function.start;
    return number;
}

std::uint64_t Encoder::file(std::string_view name) {
    if (name.empty()) {
        return 0;
    }
    const auto [known, is_new] =
        files_.try_emplace(name, static_cast<std::uint32_t>(files_.size() + 1));
    if (is_new) {
        append_varint(file_column_, name.size());
        append_text(file_text_, name);
    }
    return known->second;
}

std::vector<std::byte> Encoder::finish() {
    std::vector<std::byte> out;
    for (const std::uint64_t number :
         {kSymbolsVersion, addresses_, std::uint64_t{runs_.size()}, frames_,
          std::uint64_t{function_count_}, std::uint64_t{files_.size()}}) {
        append_varint(out, number);
    }
    for (const auto* column : {&file_column_, &function_column_, &run_column_, &frame_column_,
                               &address_column_, &place_column_, &file_text_, &function_text_}) {
        wire::append(out, *column);
    }
    return out;
}

constexpr std::uint64_t kNumbers = std::uint64_t{1} << 32;

/// Reads column after column. Once is_good() is false, what was read is worth nothing.
class Decoder {
public:
    explicit Decoder(std::span<const std::byte> bytes) : in_{bytes} {}

    std::optional<SymbolBlock> decode();

private:
    /// What a function's texts are, until the text is reached.
    struct FunctionTexts {
        std::uint64_t name = 0;
        std::uint64_t link = 0;
        std::uint64_t how = kNoLink;
        std::uint32_t source = 0;
    };

    bool read_head();
    void read_files();
    void read_functions();
    void read_runs();
    void read_frames();
    void read_addresses();
    void read_places();
    void read_text();

    void require(bool condition) { good_ = good_ && condition; }
    [[nodiscard]] bool is_good() const { return good_ && in_.ok(); }
    /// The next number, which must be below `limit`.
    std::uint32_t number(std::uint64_t limit) { return below(in_.next(), limit); }
    std::uint32_t below(std::uint64_t value, std::uint64_t limit) {
        require(value < limit);
        return value < limit ? static_cast<std::uint32_t>(value) : 0;
    }

    VarintReader in_;
    bool good_ = true;
    SymbolBlock block_;
    std::size_t addresses_ = 0;
    std::size_t frames_ = 0;
    std::vector<std::uint64_t> file_lengths_;
    std::vector<FunctionTexts> texts_;
    std::vector<FrameRun> runs_;
};

/// False: there cannot be as many of them in so few bytes.
bool Decoder::read_head() {
    const bool is_ours = in_.next() == kSymbolsVersion;
    std::uint64_t needed = 0;
    const auto count = [&](std::uint64_t least_bytes) {
        const std::uint64_t claimed = std::min(in_.next(), kNumbers);
        needed += claimed * least_bytes;
        return static_cast<std::size_t>(claimed);
    };
    addresses_ = count(kAddressBytes);
    const std::size_t runs = count(kRunBytes);
    frames_ = count(kFrameBytes);
    const std::size_t functions = count(kFunctionBytes);
    const std::size_t files = count(kFileBytes);
    if (!is_ours || !in_.ok() || needed > in_.rest().size()) {
        return false;
    }
    runs_.resize(runs);
    texts_.resize(functions);
    block_.symbols.functions.resize(functions);
    file_lengths_.resize(files);
    return true;
}

void Decoder::read_files() {
    for (std::uint64_t& length : file_lengths_) {
        length = in_.next();
        require(length != 0);
    }
}

void Decoder::read_functions() {
    std::uint64_t start = 0;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
        FunctionSymbol& function = block_.symbols.functions[i];
        FunctionTexts& texts = texts_[i];
        const std::uint64_t kind = in_.next();
        function.origin = static_cast<NameOrigin>(kind & 3);
        texts.how = kind >> 2;
        require(function.origin <= NameOrigin::known && texts.how <= kOwnLink);
        texts.name = in_.next();
        texts.link = texts.how == kOwnLink ? in_.next() : 0;
        texts.source = number(file_lengths_.size() + 1);
        function.line = number(kNumbers);
        start = sum(start, in_.next());
        function.start = start;
    }
}

void Decoder::read_runs() {
    std::uint64_t first = 0;
    for (FrameRun& run : runs_) {
        run = {static_cast<std::uint32_t>(first), number(frames_ + 1)};
        require(run.count != 0);
        first += run.count;
    }
    require(first == frames_);
}

void Decoder::read_frames() {
    std::vector<SymbolFrame>& frames = block_.symbols.frames;
    frames.resize(frames_);
    std::span<const SymbolFrame> before;
    for (const FrameRun& run : runs_) {
        const std::span<SymbolFrame> now = std::span{frames}.subspan(run.first, run.count);
        for (std::size_t depth = 0; depth < now.size(); ++depth) {
            const SymbolFrame like = reference(before, depth);
            SymbolFrame& frame = now[now.size() - 1 - depth];
            frame.function = below(sum(like.function, in_.next()), texts_.size());
            frame.file = below(sum(like.file, in_.next()), file_lengths_.size() + 1);
            frame.line = below(sum(like.line, in_.next()), kNumbers);
        }
        before = now;
    }
}

void Decoder::read_addresses() {
    std::uint64_t address = 0;
    block_.addresses.resize(addresses_);
    for (std::size_t i = 0; i < addresses_; ++i) {
        const std::uint64_t distance = in_.next();
        const std::uint64_t next = i == 0 ? distance : address + distance + 1;
        require(i == 0 || next > address);
        address = next;
        block_.addresses[i] = address;
    }
}

void Decoder::read_places() {
    block_.symbols.runs.resize(addresses_);
    std::size_t used = 0;
    for (FrameRun& run : block_.symbols.runs) {
        const std::uint64_t back = in_.next();
        if (back == 0) {
            require(used < runs_.size());
            used = std::min(used + 1, runs_.size());
        }
        require(back <= used && used != 0);
        if (!is_good()) {
            return;
        }
        run = runs_[used - std::max<std::size_t>(back, 1)];
    }
    require(used == runs_.size());
}

void Decoder::read_text() {
    const std::span<const std::byte> bytes = in_.rest();
    std::string_view rest{static_cast<const char*>(static_cast<const void*>(bytes.data())),
                          bytes.size()};
    const auto take = [&](std::uint64_t length) {
        require(length <= rest.size());
        const std::string_view text = rest.substr(0, std::min<std::uint64_t>(length, rest.size()));
        rest.remove_prefix(text.size());
        return text;
    };
    Symbols& symbols = block_.symbols;
    symbols.files.reserve(file_lengths_.size() + 1);
    for (const std::uint64_t length : file_lengths_) {
        symbols.files.emplace_back(take(length));
    }
    std::uint64_t source_bytes = 0;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
        FunctionSymbol& function = symbols.functions[i];
        source_bytes += symbols.files[texts_[i].source].size();
        require(source_bytes <= kMaxSourceBytes);
        if (!is_good()) {
            return;
        }
        function.name = take(texts_[i].name);
        if (texts_[i].how != kNoLink) {
            function.linkage_name =
                texts_[i].how == kLinkIsName ? function.name : take(texts_[i].link);
        }
        function.source = symbols.files[texts_[i].source];
    }
    require(rest.empty());
}

std::optional<SymbolBlock> Decoder::decode() {
    if (!read_head()) {
        return std::nullopt;
    }
    read_files();
    read_functions();
    read_runs();
    if (!is_good()) {
        return std::nullopt;
    }
    read_frames();
    read_addresses();
    read_places();
    if (!is_good()) {
        return std::nullopt;
    }
    read_text();
    return is_good() ? std::optional{std::move(block_)} : std::nullopt;
}

}  // namespace

std::vector<std::byte> encode_symbols(std::span<const std::uint64_t> addresses,
                                      std::span<const FrameRun> runs, const Symbols& symbols) {
    Encoder encoder{symbols};
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        if (runs[i].count != 0) {
            encoder.add(addresses[i], runs[i]);
        }
    }
    return encoder.finish();
}

std::optional<SymbolBlock> decode_symbols(std::span<const std::byte> bytes) {
    return Decoder{bytes}.decode();
}

}  // namespace sample::trace
