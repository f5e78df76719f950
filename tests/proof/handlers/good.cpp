// What a handler may look like: arithmetic, its own thread-local word, libc's block copy.
#include <cstring>

struct Record {
    char bytes[64];
};

namespace {

thread_local unsigned depth = 0;

__attribute__((noinline)) unsigned checksum(const Record& record, std::size_t size) {
    Record copy;
    std::memcpy(copy.bytes, record.bytes, size);
    unsigned sum = 0;
    for (const char byte : copy.bytes) {
        sum = sum * 31U + static_cast<unsigned char>(byte);
    }
    return sum;
}

}  // namespace

unsigned handle(const Record& record, std::size_t size);
unsigned handle(const Record& record, std::size_t size) {
    depth += 1;
    return checksum(record, size) + depth;
}
