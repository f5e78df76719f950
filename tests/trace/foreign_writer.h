// Writes streams of the container as other programs do, for tests: made from the format's
// description alone, sharing nothing with trace/.
#pragma once

#include <lz4.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace sample::trace::foreign {

// Flags of a type.
inline constexpr unsigned kImportant = 1;
inline constexpr unsigned kHasAux = 2;
inline constexpr unsigned kNoSync = 4;

// Types of fields.
inline constexpr unsigned kU8 = 0x00;
inline constexpr unsigned kU16 = 0x01;
inline constexpr unsigned kU32 = 0x02;
inline constexpr unsigned kU64 = 0x03;
inline constexpr unsigned kI8 = 0x10;
inline constexpr unsigned kI16 = 0x11;
inline constexpr unsigned kI32 = 0x12;
inline constexpr unsigned kI64 = 0x13;
inline constexpr unsigned kF32 = 0x42;
inline constexpr unsigned kF64 = 0x43;
inline constexpr unsigned kAnsi = 0x88;
inline constexpr unsigned kWide = 0x89;
inline constexpr unsigned kArray = 0x80;  ///< Of the type that is added.

/// Bytes in the making.
class Out {
public:
    Out& number(std::uint64_t value, unsigned size) {
        for (unsigned i = 0; i < size; ++i) {
            bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
        }
        return *this;
    }
    template <class Real>
    Out& real(Real value) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof value);
        return number(bits, sizeof value);
    }
    Out& text(std::string_view text) {
        for (const char c : text) {
            bytes_.push_back(static_cast<std::byte>(c));
        }
        return *this;
    }
    Out& add(const Out& other) {
        bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
        return *this;
    }
    /// A field of variable size, of an event in a thread's stream or in that of important ones.
    Out& thread_aux(unsigned field, const Out& data) { return aux(2, field, data); }
    Out& important_aux(unsigned field, const Out& data) { return aux(1, field, data); }
    Out& thread_end() { return number(6, 1); }
    Out& important_end() { return number(3, 1); }

    /// The head of an event in a thread's stream.
    Out& event(unsigned uid) { return number(uid << 1 | 1, 2); }
    Out& event(unsigned uid, unsigned serial) { return event(uid).number(serial, 3); }
    Out& enter() { return number(4 << 1, 1); }
    Out& leave() { return number(5 << 1, 1); }
    /// `uid`: 6 and 7 absolute, 8 and 9 relative.
    Out& timed_scope(unsigned uid, std::uint64_t cycle) { return number(cycle << 8 | uid << 1, 8); }

    [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
    [[nodiscard]] std::size_t size() const { return bytes_.size(); }

private:
    Out& aux(unsigned uid, unsigned field, const Out& data) {
        return number(uid | field << 8 | data.size() << 13, 4).add(data);
    }

    std::vector<std::byte> bytes_;
};

inline Out wide(std::u16string_view text) {
    Out out;
    for (const char16_t c : text) {
        out.number(c, 2);
    }
    return out;
}
inline Out narrow(std::string_view text) {
    return Out{}.text(text);
}

struct Field {
    std::string name;
    unsigned type = 0;
};

class Stream {
public:
    explicit Stream(unsigned transport = 4, unsigned protocol = 7, bool has_metadata = true)
        : protocol_{protocol} {
        if (has_metadata) {
            file_.text("2CRT").number(4, 2).number(2, 1).number(0, 1).number(1985, 2);
        } else {
            file_.text("ECRT");
        }
        file_.number(transport, 1).number(protocol, 1);
    }

    void packet(unsigned tid, const Out& payload) {
        file_.number(payload.size() + 4, 2).number(tid, 2).add(payload);
    }
    void compressed_packet(unsigned tid, const Out& payload) {
        std::string block(static_cast<std::size_t>(LZ4_compressBound(65'535)), '\0');
        const int size = LZ4_compress_default(reinterpret_cast<const char*>(payload.bytes().data()),
                                              block.data(), static_cast<int>(payload.size()),
                                              static_cast<int>(block.size()));
        block.resize(static_cast<std::size_t>(size));
        file_.number(block.size() + 6, 2).number(tid | 0x8000, 2).number(payload.size(), 2);
        file_.text(block);
    }
    void sync() { file_.number(4, 2).number(0x3fff, 2); }
    void declare(unsigned uid, unsigned flags, std::string_view logger, std::string_view name,
                 const std::vector<Field>& fields) {
        Out body;
        body.number(uid, 2).number(fields.size(), 1).number(flags, 1);
        body.number(logger.size(), 1).number(name.size(), 1);
        unsigned offset = 0;
        std::string names{logger};
        names += name;
        for (const Field& field : fields) {
            const unsigned size = field.type >= kArray ? 0 : 1U << (field.type & 3U);
            if (protocol_ >= 6) {
                body.number(0, 1).number(0x70, 1);  // The second byte is whatever was in memory.
            }
            body.number(offset, 2).number(size, 2).number(field.type, 1);
            body.number(field.name.size(), 1);
            offset += size;
            names += field.name;
        }
        body.text(names);
        if (body.size() % 2 != 0) {
            body.number(0, 1);
        }
        packet(0, Out{}.number(0, 2).number(body.size(), 2).add(body));
    }
    void important(unsigned uid, const Out& body) {
        packet(1, Out{}.number(uid, 2).number(body.size(), 2).add(body));
    }
    /// $Trace.NewTrace and $Trace.ThreadInfo, of uids 16 and 17.
    void begin(std::uint64_t start_cycle, std::uint64_t frequency) {
        declare(16, kImportant | kNoSync, "$Trace", "NewTrace",
                {{"StartCycle", kU64}, {"CycleFrequency", kU64}, {"Endian", kU16}});
        declare(17, kImportant | kNoSync | kHasAux, "$Trace", "ThreadInfo",
                {{"ThreadId", kU32}, {"SystemId", kU32}, {"SortHint", kI32}, {"Name", kAnsi}});
        important(16, Out{}.number(start_cycle, 8).number(frequency, 8).number(0x524d, 2));
    }
    void thread(unsigned tid, unsigned system_id, std::string_view name) {
        important(17, Out{}
                          .number(tid, 4)
                          .number(system_id, 4)
                          .number(0, 4)
                          .important_aux(3, narrow(name))
                          .important_end());
    }

    [[nodiscard]] const std::vector<std::byte>& bytes() const { return file_.bytes(); }

private:
    unsigned protocol_;
    Out file_;
};

}  // namespace sample::trace::foreign
