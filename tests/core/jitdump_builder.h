// Makes jitdumps, whole or not, as bytes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sample::jitdump {

class Builder {
public:
    explicit Builder(std::uint32_t owner = 7, std::uint64_t timestamp = 100,
                     std::uint64_t flags = 0, std::uint32_t magic = 0x4A695444,
                     std::uint32_t version = 1)
        : pid{owner} {
        put<std::uint32_t>(magic);
        put<std::uint32_t>(version);
        put<std::uint32_t>(40);
        put<std::uint32_t>(62);
        put<std::uint32_t>(0);
        put<std::uint32_t>(owner);
        put<std::uint64_t>(timestamp);
        put<std::uint64_t>(flags);
    }

    /// Where the code's first byte lies.
    std::uint64_t load(std::uint64_t time, const std::string& name, std::uint64_t address,
                       const std::string& code) {
        head(0, 56 + name.size() + 1 + code.size(), time);
        put<std::uint32_t>(pid);
        put<std::uint32_t>(pid);
        put<std::uint64_t>(address);
        put<std::uint64_t>(address);
        put<std::uint64_t>(code.size());
        put<std::uint64_t>(index_++);
        bytes.append(name.c_str(), name.size() + 1);
        bytes += code;
        return bytes.size() - code.size();
    }
    void move(std::uint64_t time, std::uint64_t from, std::uint64_t to, std::uint64_t size) {
        head(1, 64, time);
        put<std::uint32_t>(pid);
        put<std::uint32_t>(pid);
        put<std::uint64_t>(to);
        put<std::uint64_t>(from);
        put<std::uint64_t>(to);
        put<std::uint64_t>(size);
        put<std::uint64_t>(0);
    }
    struct Line {
        std::uint64_t address;
        std::uint32_t line;
        std::string file;
    };
    void debug_info(std::uint64_t time, std::uint64_t address, const std::vector<Line>& lines) {
        std::size_t size = 32;
        for (const Line& line : lines) {
            size += 16 + line.file.size() + 1;
        }
        head(2, size, time);
        put<std::uint64_t>(address);
        put<std::uint64_t>(lines.size());
        for (const Line& line : lines) {
            put<std::uint64_t>(line.address);
            put<std::uint32_t>(line.line);
            put<std::uint32_t>(0);
            bytes.append(line.file.c_str(), line.file.size() + 1);
        }
    }
    void close(std::uint64_t time) { head(3, 16, time); }
    void head(std::uint32_t id, std::size_t size, std::uint64_t time) {
        put<std::uint32_t>(id);
        put<std::uint32_t>(static_cast<std::uint32_t>(size));
        put<std::uint64_t>(time);
    }
    template <class Value>
    void put(Value value) {
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }

    std::string bytes;
    std::uint32_t pid;  ///< Of the records to come.

private:
    std::uint64_t index_ = 0;
};

}  // namespace sample::jitdump
