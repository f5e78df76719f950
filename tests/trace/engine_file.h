// A file of another program, made by hand, as the public facts describe an engine's.
#pragma once

#include "tests/trace/recording_fixture.h"
#include "trace/event_encoder.h"
#include "trace/event_spec.h"
#include "trace/varint_bytes.h"
#include "trace/wire.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

namespace sample::trace {

/// As an engine on Windows: ten million cycles a second, and a start that is not 0.
inline constexpr std::uint64_t kFrequency = 10'000'000;
inline constexpr std::uint64_t kStartCycle = 5'000'000'000;

inline std::vector<std::byte> wide_bytes(std::u16string_view text) {
    const auto bytes = std::as_bytes(std::span{text});
    return {bytes.begin(), bytes.end()};
}

inline std::vector<std::byte> varints(std::initializer_list<std::uint64_t> values) {
    std::vector<std::byte> out;
    for (const std::uint64_t value : values) {
        append_varint(out, value);
    }
    return out;
}

/// A file in the making. Each packet has one event.
class EngineFile {
public:
    explicit EngineFile(std::uint64_t frequency = kFrequency)
        : bytes_{bytes_of(std::string_view{"2CRT\0\0\x04\x07", 8})} {
        const auto& new_trace = type("$Trace", "NewTrace", true,
                                     {{"StartCycle", FieldType::u64},
                                      {"CycleFrequency", FieldType::u64},
                                      {"Endian", FieldType::u16},
                                      {"PointerSize", FieldType::u8}});
        event(1, new_trace, {kStartCycle, frequency, 0x524d, 8}, {});
    }

    struct Field {
        const char* name;
        FieldType type;
    };
    const EventSpec& type(const char* logger, const char* name, bool is_important,
                          std::initializer_list<Field> fields, bool has_serial = false) {
        Type& type = types_.emplace_back();
        bool has_aux = false;
        for (const Field& field : fields) {
            type.fields.push_back({field.name, field.type});
            has_aux = has_aux || is_variable(field.type);
        }
        const unsigned flags = (is_important ? wire::kImportant : 0U) |
                               (has_serial ? 0U : wire::kNoSync) |
                               (has_aux ? wire::kMaybeHasAux : 0U);
        type.spec = {static_cast<std::uint16_t>(40 + types_.size()),
                     static_cast<std::uint8_t>(flags), logger, name, type.fields};
        std::vector<std::byte> declaration;
        append_declaration(declaration, type.spec);
        packet(0, declaration);
        return type.spec;
    }
    void event(std::uint16_t tid, const EventSpec& spec, std::vector<std::uint64_t> numbers,
               std::vector<std::vector<std::byte>> arrays) {
        std::vector<std::byte> out;
        EventEncoder encoder{spec, out};
        auto number = numbers.begin();
        auto array = arrays.begin();
        for (const FieldSpec& field : spec.fields) {
            is_variable(field.type) ? encoder.bytes(*array++) : encoder.number(*number++);
        }
        encoder.finish();
        packet(tid, out);
    }
    void packet(std::uint16_t tid, std::span<const std::byte> payload) {
        wire::append(bytes_, 4 + payload.size(), 2);
        wire::append(bytes_, tid, 2);
        wire::append(bytes_, payload);
    }
    [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

    // What nearly every file has.
    const EventSpec& timer() {
        return type("CpuProfiler", "EventSpec", true,
                    {{"Id", FieldType::u32}, {"Name", FieldType::text}});
    }
    const EventSpec& batch(const char* name) {
        return type("CpuProfiler", name, false, {{"Data", FieldType::bytes}});
    }

private:
    struct Type {
        std::vector<FieldSpec> fields;
        EventSpec spec;
    };
    std::vector<std::byte> bytes_;
    std::deque<Type> types_;
};

}  // namespace sample::trace
