#include "trace/attachments.h"

#include "trace/event_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace sample::trace {
namespace {

constexpr EventSpec spec_named(std::uint16_t uid, std::string_view name) {
    EventSpec spec = kSpec<AttachmentPiece>;
    spec.uid = uid;
    spec.name = name;
    return spec;
}
constexpr std::array<EventSpec, kAttachmentKinds> kSpecs{
    kSpec<AttachmentPiece>, spec_named(44, "Code"), spec_named(45, "SourceText")};

/// An event's bytes lie within one packet; its fixed part and framing take the difference.
constexpr std::size_t kChunkBytes = wire::kMaxPayloadBytes - 64;
constexpr std::size_t kMaxBytes = std::numeric_limits<std::uint32_t>::max();

void append_attachment(EventWriter& events, const Attachment& attachment, std::size_t left) {
    const EventSpec& spec = AttachmentJoiner::spec(attachment.kind);
    const std::span<const std::byte> bytes{attachment.packed};
    for (std::size_t offset = 0; offset < bytes.size(); offset += kChunkBytes) {
        const auto data = bytes.subspan(offset, std::min(kChunkBytes, bytes.size() - offset));
        events.add(AttachmentPiece{attachment.module, static_cast<std::uint32_t>(left),
                                   static_cast<std::uint32_t>(bytes.size()),
                                   static_cast<std::uint32_t>(offset), data},
                   spec);
    }
}

}  // namespace

const EventSpec& AttachmentJoiner::spec(AttachmentKind kind) {
    return kSpecs[static_cast<std::size_t>(kind)];
}

Result<void> append_attachments(Fd file, std::span<const Attachment> attachments) {
    struct stat status {};
    if (fstat(file.get(), &status) != 0 || lseek(file.get(), 0, SEEK_END) != status.st_size) {
        return unexpected(Error::from_errno("cannot add to the recording"));
    }
    if (!S_ISREG(status.st_mode)) {
        return unexpected(ErrorCode::unsupported,
                          "the recording is not a regular file: nothing can be added to it");
    }
    const Fd same_file{fcntl(file.get(), F_DUPFD_CLOEXEC, 0)};
    auto packets = PacketWriter::append(std::move(file));
    if (!packets) {
        return unexpected(packets.error());
    }
    std::vector<const Attachment*> wanted;
    for (const Attachment& attachment : attachments) {
        if (!attachment.packed.empty() && attachment.packed.size() <= kMaxBytes) {
            wanted.push_back(&attachment);
        }
    }
    EventWriter events{std::move(*packets)};
    events.declare(kSpecs);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        append_attachment(events, *wanted[i], wanted.size() - 1 - i);
    }
    events.close_all();
    auto flushed = events.packets().flush();
    if (!flushed) {
        // Half of them would only be taken for a file that was cut off.
        [[maybe_unused]] const int ignored = ftruncate(same_file.get(), status.st_size);
    }
    return flushed;
}

void AttachmentJoiner::add(AttachmentKind kind, const AttachmentPiece& piece) {
    if (piece.offset == 0) {
        is_damaged_ = is_damaged_ || unfinished_.has_value();
        unfinished_ = Attachment{kind, piece.module, {}};
    }
    if (!unfinished_ || unfinished_->kind != kind || unfinished_->module != piece.module ||
        unfinished_->packed.size() != piece.offset || piece.data.empty() ||
        piece.offset > piece.size || piece.data.size() > piece.size - piece.offset) {
        is_damaged_ = true;
        unfinished_.reset();
        return;
    }
    wire::append(unfinished_->packed, piece.data);
    if (unfinished_->packed.size() == piece.size) {
        left_ = piece.left;
        receive_(std::move(*unfinished_));
        unfinished_.reset();
    }
}

}  // namespace sample::trace
