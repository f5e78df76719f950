// What a recording carries behind the end of its session, so that it can be read on another
// machine: names, code, sources. Each is a block of bytes of one kind and module, packed, and cut
// into events.
//
// It is added to a recording that is whole already: whoever fails at it, or is killed, costs the
// recording nothing. A new kind needs an enumerator and a name in attachments.cpp; the bytes are
// its own affair.
#pragma once

#include "core/fd.h"
#include "core/ids.h"
#include "core/result.h"
#include "trace/records.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sample::trace {

enum class AttachmentKind : std::uint8_t {
    symbols,      ///< Names of a module's addresses: trace/symbol_codec.h.
    code,         ///< Machine code of a module.
    source_text,  ///< Lines of source files.
};
inline constexpr std::size_t kAttachmentKinds = 3;

struct Attachment {
    AttachmentKind kind = AttachmentKind::symbols;
    ModuleId module;                ///< None where it belongs to no module.
    std::vector<std::byte> packed;  ///< By pack().
};

/// A part of one, as an event: the type of the first kind, and that of the others but for its name.
struct AttachmentPiece {
    ModuleId module;
    std::uint32_t left = 0;  ///< How many attachments follow this one.
    std::uint32_t size = 0;
    std::uint32_t offset = 0;
    std::span<const std::byte> data;
};
template <>
inline constexpr auto kType<AttachmentPiece> =
    stream_type(43, "Symbols", known("ModuleId", &AttachmentPiece::module),
                number("Left", &AttachmentPiece::left), number("Size", &AttachmentPiece::size),
                number("Offset", &AttachmentPiece::offset), bytes("Data", &AttachmentPiece::data));

/// Adds `attachments` to the recording `file`, open for writing: a regular file that holds a whole
/// recording. Any of 4 GiB or more are left out. Errors: not a regular file; what writing it meets
/// (ENOSPC, …): then the file is as it was.
Result<void> append_attachments(Fd file, std::span<const Attachment> attachments);

/// Puts the events of attachments together again. Their bytes are not looked into.
class AttachmentJoiner {
public:
    using Receiver = std::function<void(Attachment&&)>;

    /// `receive` gets each attachment once it is whole.
    explicit AttachmentJoiner(Receiver receive) : receive_{std::move(receive)} {}

    /// The event of `kind`.
    static const EventSpec& spec(AttachmentKind kind);
    void add(AttachmentKind kind, const AttachmentPiece& piece);
    /// Some are missing or damaged; asked at the end of the recording.
    [[nodiscard]] bool is_incomplete() const { return is_damaged_ || unfinished_ || left_ != 0; }

private:
    Receiver receive_;
    std::optional<Attachment> unfinished_;
    std::uint32_t left_ = 0;  ///< How many more the last whole one promised.
    bool is_damaged_ = false;
};

}  // namespace sample::trace
