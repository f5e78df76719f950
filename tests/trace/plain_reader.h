// A second reader of the container, for tests: written from the format's description alone, sharing
// nothing with trace/. It stands for other people's readers, so it is simple and believes the file.
#pragma once

#include <lz4.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace sample::trace::plain {

using Bytes = std::vector<std::uint8_t>;

struct Field {
    std::string name;
    unsigned offset = 0;
    unsigned size = 0;
    unsigned type = 0;
};

struct Type {
    unsigned flags = 0;
    std::string logger;
    std::string name;
    std::vector<Field> fields;
    unsigned fixed = 0;
};

struct Event {
    std::string name;                              ///< "Logger.Event"
    unsigned tid = 0;                              ///< The stream.
    std::map<std::string, std::uint64_t> numbers;  ///< Fixed fields.
    std::map<std::string, Bytes> arrays;           ///< Fields of variable size that it has.

    [[nodiscard]] std::string text(const std::string& field) const {
        const Bytes& bytes = arrays.at(field);
        return {bytes.begin(), bytes.end()};
    }
};

struct Packet {
    unsigned tid = 0;
    bool compressed = false;
    unsigned wire_size = 0;
    Bytes payload;
};

struct File {
    std::size_t header_bytes = 0;
    std::vector<Packet> packets;
    std::map<unsigned, Type> types;
    std::vector<Event> events;  ///< Streams one after the other, by tid.
};

/// Little-endian cursor that throws at the end of its bytes.
class Cursor {
public:
    explicit Cursor(std::span<const std::uint8_t> bytes) : bytes_{bytes} {}
    [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
    [[nodiscard]] std::size_t position() const { return at_; }
    std::uint64_t number(unsigned size) {
        std::uint64_t value = 0;
        const Bytes raw = take(size);
        for (unsigned i = 0; i < size; ++i) {
            value |= std::uint64_t{raw[i]} << (8 * i);
        }
        return value;
    }
    Bytes take(std::size_t size) {
        if (size > bytes_.size() - at_) {
            throw std::runtime_error("beyond the end");
        }
        at_ += size;
        const auto end = bytes_.begin() + static_cast<std::ptrdiff_t>(at_);
        return {end - static_cast<std::ptrdiff_t>(size), end};
    }
    std::string text(std::size_t size) {
        const Bytes raw = take(size);
        return {raw.begin(), raw.end()};
    }

private:
    std::span<const std::uint8_t> bytes_;
    std::size_t at_ = 0;
};

inline void read_types(File& file, const Bytes& stream) {
    Cursor in{stream};
    while (!in.at_end()) {
        if (in.number(2) != 0) {
            throw std::runtime_error("not a NewEvent");
        }
        const Bytes payload = in.take(in.number(2));
        Cursor event{payload};
        const auto uid = static_cast<unsigned>(event.number(2));
        Type type;
        const std::uint64_t fields = event.number(1);
        type.flags = static_cast<unsigned>(event.number(1));
        const std::uint64_t logger_length = event.number(1);
        const std::uint64_t name_length = event.number(1);
        std::vector<std::uint64_t> lengths;
        for (std::uint64_t i = 0; i < fields; ++i) {
            if (event.number(1) != 0) {
                throw std::runtime_error("not a regular field");
            }
            event.number(1);
            Field field;
            field.offset = static_cast<unsigned>(event.number(2));
            field.size = static_cast<unsigned>(event.number(2));
            field.type = static_cast<unsigned>(event.number(1));
            lengths.push_back(event.number(1));
            type.fixed += field.size;
            type.fields.push_back(field);
        }
        type.logger = event.text(logger_length);
        type.name = event.text(name_length);
        for (std::uint64_t i = 0; i < fields; ++i) {
            type.fields[i].name = event.text(lengths[i]);
        }
        if (payload.size() % 2 != 0 || payload.size() - event.position() > 1) {
            throw std::runtime_error("a declaration of odd or wrong length");
        }
        if (uid < 16 || file.types.contains(uid)) {
            throw std::runtime_error("a uid that is reserved or taken");
        }
        file.types[uid] = type;
    }
}

inline Event fixed_part(const Type& type, unsigned tid, const Bytes& fixed) {
    Event event;
    event.name = type.logger + "." + type.name;
    event.tid = tid;
    for (const Field& field : type.fields) {
        if (field.size != 0) {
            Cursor value{std::span{fixed}.subspan(field.offset, field.size)};
            event.numbers[field.name] = value.number(field.size);
        }
    }
    return event;
}

/// Up to the first terminal. `shift`: how uids of one byte are written in this stream.
inline void read_all_aux(const Type& type, Event& event, Cursor& in, unsigned shift) {
    for (std::uint64_t uid = in.number(1); uid != 3U << shift; uid = in.number(1)) {
        if (uid != 1U << shift) {
            throw std::runtime_error("not an aux block");
        }
        const std::uint64_t pack = uid | in.number(3) << 8;
        Bytes& array = event.arrays[type.fields.at((pack >> 8) & 0x1f).name];
        const Bytes data = in.take(pack >> 13);
        array.insert(array.end(), data.begin(), data.end());
    }
}

inline void read_importants(File& file, const Bytes& stream) {
    Cursor in{stream};
    while (!in.at_end()) {
        const Type& type = file.types.at(static_cast<unsigned>(in.number(2)));
        const Bytes payload = in.take(in.number(2));
        if ((type.flags & 1) == 0 || (type.flags & 4) == 0) {
            throw std::runtime_error("an event in stream 1 that is not important and NoSync");
        }
        Cursor body{payload};
        Event event = fixed_part(type, 1, body.take(type.fixed));
        if ((type.flags & 2) != 0) {
            read_all_aux(type, event, body, 0);
        }
        if (!body.at_end()) {
            throw std::runtime_error("more behind the end of an event");
        }
        file.events.push_back(event);
    }
}

/// Entered (4, and with a time 8) or left (5, 9).
inline Event scope(unsigned uid, unsigned tid, Cursor& in) {
    if (uid != 4 && uid != 5 && uid != 8 && uid != 9) {
        throw std::runtime_error("a well-known event");
    }
    Event event;
    event.name = uid % 2 == 0 ? "(enter)" : "(leave)";
    event.tid = tid;
    if (uid >= 8) {
        event.numbers["Time"] = in.number(7);
    }
    return event;
}

inline void read_thread_stream(File& file, unsigned tid, const Bytes& stream) {
    Cursor in{stream};
    while (!in.at_end()) {
        const std::uint64_t first = in.number(1);
        if ((first & 1) == 0) {
            file.events.push_back(scope(static_cast<unsigned>(first >> 1), tid, in));
            continue;
        }
        const Type& type = file.types.at(static_cast<unsigned>(first | in.number(1) << 8) >> 1);
        const bool has_serial = (type.flags & 4) == 0;
        const std::uint64_t serial = has_serial ? in.number(3) : 0;
        Event event = fixed_part(type, tid, in.take(type.fixed));
        if (has_serial) {
            event.numbers["(serial)"] = serial;
        }
        if ((type.flags & 2) != 0) {
            read_all_aux(type, event, in, 1);
        }
        file.events.push_back(event);
    }
}

/// Reads a whole file; throws std::exception at anything unexpected.
inline File read(std::span<const std::byte> bytes) {
    File file;
    Cursor in{{reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}};
    if (in.text(4) != "2CRT") {
        throw std::runtime_error("no magic");
    }
    in.take(in.number(2));
    if (in.number(1) != 4 || in.number(1) != 7) {
        throw std::runtime_error("transport or protocol");
    }
    file.header_bytes = in.position();
    std::map<unsigned, Bytes> streams;
    while (!in.at_end()) {
        Packet packet;
        packet.wire_size = static_cast<unsigned>(in.number(2));
        const auto tid = static_cast<unsigned>(in.number(2));
        packet.tid = tid & 0x3fff;
        packet.compressed = (tid & 0x8000) != 0;
        if (packet.compressed) {
            packet.payload.resize(in.number(2));
            const Bytes block = in.take(packet.wire_size - 6);
            const int size = LZ4_decompress_safe(reinterpret_cast<const char*>(block.data()),
                                                 reinterpret_cast<char*>(packet.payload.data()),
                                                 static_cast<int>(block.size()),
                                                 static_cast<int>(packet.payload.size()));
            if (size != static_cast<int>(packet.payload.size())) {
                throw std::runtime_error("lz4");
            }
        } else {
            packet.payload = in.take(packet.wire_size - 4);
        }
        Bytes& stream = streams[packet.tid];
        stream.insert(stream.end(), packet.payload.begin(), packet.payload.end());
        file.packets.push_back(packet);
    }
    for (const auto& [tid, stream] : streams) {
        if (tid == 0) {
            read_types(file, stream);
        } else if (tid == 1) {
            read_importants(file, stream);
        } else {
            read_thread_stream(file, tid, stream);
        }
    }
    return file;
}

}  // namespace sample::trace::plain
