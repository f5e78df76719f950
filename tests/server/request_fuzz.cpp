// Whatever is sent: it is refused, or what is understood is what was said.
#include "server/access.h"
#include "server/request.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace sample::server;
    const std::string_view bytes{reinterpret_cast<const char*>(data), size};
    const auto request = parse_request(bytes);
    if (!request) {
        return 0;
    }
    const Access access{"0123456789abcdef0123456789abcdef", 1};
    const bool is_served = access.judge(*request).status == kOk;
    if (bytes.find(request->target) == std::string_view::npos ||
        (is_served && bytes.find("0123456789abcdef0123456789abcdef") == std::string_view::npos)) {
        std::abort();
    }
    return 0;
}
