#include "library/event.h"

namespace sample::analysis {
namespace {

constexpr std::string_view kCycle = "Cycle";

Field public_field(const trace::DeclaredField& declared) {
    Field field;
    field.name = declared.name;
    field.element_bytes = static_cast<std::uint8_t>(declared.element_bytes());
    field.is_array = declared.is_array() && !declared.is_text();
    field.kind = declared.is_text()     ? FieldKind::text
                 : declared.is_float()  ? FieldKind::real
                 : declared.is_signed() ? FieldKind::signed_integer
                                        : FieldKind::unsigned_integer;
    return field;
}

Bytes public_bytes(std::span<const std::byte> bytes) {
    return {bytes.data(), bytes.size()};
}

}  // namespace

std::string_view Event::logger() const noexcept {
    const std::string_view whole = impl_->view.type().name;
    return whole.substr(0, impl_->view.type().logger_bytes);
}

std::string_view Event::name() const noexcept {
    const std::string_view whole = impl_->view.type().name;
    return whole.substr(impl_->view.type().logger_bytes + 1);
}

Thread Event::thread() const noexcept {
    Thread thread;
    thread.id = impl_->view.stream();
    if (const trace::StreamThread* known = impl_->reader.facts().thread(impl_->view.stream())) {
        thread.system_id = known->system_id;
        thread.name = known->name;
    }
    return thread;
}

bool Event::has_time() const noexcept {
    const Field cycle = field(kCycle);
    return impl_->view.occurrence().cycle.has_value() ||
           (impl_->view.style() != trace::EventStyle::leave && !cycle.is_array &&
            cycle.kind == FieldKind::unsigned_integer);
}

std::uint64_t Event::time_ns() const noexcept {
    if (!has_time()) {
        return 0;
    }
    const auto& cycle = impl_->view.occurrence().cycle;
    return impl_->reader.facts().clock().nanoseconds(
        cycle ? *cycle : impl_->view.number<std::uint64_t>(kCycle));
}

std::int32_t Event::serial() const noexcept {
    const auto& serial = impl_->view.occurrence().serial;
    return serial ? static_cast<std::int32_t>(*serial) : -1;
}

std::size_t Event::field_count() const noexcept {
    return impl_->view.type().fields.size();
}

Field Event::field(std::size_t index) const noexcept {
    return index < field_count() ? public_field(impl_->view.type().fields[index]) : Field{};
}

Field Event::field(std::string_view name) const noexcept {
    const auto index = impl_->view.type().field(name);
    return index ? field(*index) : Field{};
}

Event::Number Event::number_of(std::string_view name) const noexcept {
    const Field declared = field(name);
    Number number;
    if (declared.kind != FieldKind::text && !declared.is_array) {
        number.kind = declared.kind;
        number.integer = impl_->view.number<std::uint64_t>(name);
        number.fraction = impl_->view.real(name);
    }
    return number;
}

std::string Event::string(std::string_view name) const {
    return field(name).kind == FieldKind::text ? impl_->view.text(name) : std::string{};
}

Bytes Event::bytes(std::string_view name) const {
    return public_bytes(impl_->view.bytes(name));
}

Bytes Event::attachment() const {
    return public_bytes(impl_->view.attachment());
}

}  // namespace sample::analysis
