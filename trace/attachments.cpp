#include "trace/attachments.h"

#include "trace/event_encoder.h"
#include "trace/event_writer.h"
#include "trace/schema.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace sample::trace {
namespace {

constexpr std::array<EventSpec, kAttachmentKinds> kSpecs{schema::kSymbols, schema::kCode,
                                                         schema::kSourceText};

/// An event's bytes lie within one packet; its fixed part and framing take the difference.
constexpr std::size_t kChunkBytes = wire::kMaxPayloadBytes - 64;
constexpr std::size_t kMaxBytes = std::numeric_limits<std::uint32_t>::max();

void append_attachment(EventWriter& events, const Attachment& attachment, std::size_t left) {
    const EventSpec& spec = AttachmentJoiner::spec(attachment.kind);
    const std::span<const std::byte> bytes{attachment.packed};
    std::vector<std::byte> event;
    for (std::size_t offset = 0; offset < bytes.size(); offset += kChunkBytes) {
        event.clear();
        EventEncoder{spec, event}
            .number(attachment.module.value)
            .number(left)
            .number(bytes.size())
            .number(offset)
            .bytes(bytes.subspan(offset, std::min(kChunkBytes, bytes.size() - offset)))
            .finish();
        events.add(spec, event);
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

void AttachmentJoiner::add(AttachmentKind kind, const EventView& event) {
    const ModuleId module{event.number<std::uint32_t>("ModuleId")};
    const auto size = event.number<std::uint32_t>("Size");
    const auto offset = event.number<std::uint32_t>("Offset");
    const std::span<const std::byte> data = event.bytes("Data");
    if (offset == 0) {
        is_damaged_ = is_damaged_ || unfinished_.has_value();
        unfinished_ = Attachment{kind, module, {}};
    }
    if (!unfinished_ || unfinished_->kind != kind || unfinished_->module != module ||
        unfinished_->packed.size() != offset || data.empty() || data.size() > size - offset ||
        offset > size) {
        is_damaged_ = true;
        unfinished_.reset();
        return;
    }
    wire::append(unfinished_->packed, data);
    if (unfinished_->packed.size() == size) {
        left_ = event.number<std::uint32_t>("Left");
        receive_(std::move(*unfinished_));
        unfinished_.reset();
    }
}

}  // namespace sample::trace
