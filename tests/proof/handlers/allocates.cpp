// symbol: allocates.
#include <cstdlib>

void* handle(std::size_t size);
void* handle(std::size_t size) {
    return std::malloc(size);
}
