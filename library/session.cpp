#include "core/fd.h"
#include "core/regular_file.h"
#include "core/result.h"
#include "library/event.h"
#include "trace/event_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace sample::analysis {
namespace {

constexpr std::size_t kReadBytes = std::size_t{64} << 10;
/// How long a pause of a growing file may be before events wait no longer for others.
constexpr std::chrono::milliseconds kSettleAfter{1000};
constexpr int kDescriptorPollMs = 100;

struct Registered {
    std::unique_ptr<Analyzer> analyzer;
    bool is_interested = false;
};

struct Route {
    Registered* to = nullptr;
    std::uint16_t route = 0;
};

Style public_style(trace::EventStyle style) {
    return style == trace::EventStyle::enter   ? Style::enter
           : style == trace::EventStyle::leave ? Style::leave
                                               : Style::plain;
}

}  // namespace

struct Outcome::Impl {
    trace::StreamOutcome stream;
    std::uint64_t bytes_read = 0;
};

Outcome::Outcome(std::shared_ptr<const Impl> impl) noexcept : impl_{std::move(impl)} {}
Outcome::~Outcome() = default;
Outcome::Outcome(const Outcome&) = default;
Outcome& Outcome::operator=(const Outcome&) = default;

std::string_view Outcome::problem() const noexcept {
    return impl_->stream.problem;
}
std::uint64_t Outcome::bytes_read() const noexcept {
    return impl_->bytes_read;
}
std::uint64_t Outcome::lost_events() const noexcept {
    return impl_->stream.lost_serials;
}
std::size_t Outcome::skipped_count() const noexcept {
    return impl_->stream.skipped.size();
}
Outcome::Skipped Outcome::skipped(std::size_t index) const noexcept {
    if (index >= skipped_count()) {
        return {};
    }
    return {impl_->stream.skipped[index].what, impl_->stream.skipped[index].count};
}

struct Subscriptions::Impl {
    std::map<std::string, std::vector<Route>>& routes;
    Registered& subscriber;
};

void Subscriptions::route_event(std::uint16_t route, std::string_view logger,
                                std::string_view event) {
    impl_->routes[std::string{logger}.append(".").append(event)].push_back(
        {&impl_->subscriber, route});
    impl_->subscriber.is_interested = true;
}

Analyzer::Analyzer() = default;
Analyzer::~Analyzer() = default;
void Analyzer::on_analysis_end() {}

struct Session::Impl {
    /// Calls on_analysis_begin(). False: an analysis was begun before.
    bool begin();
    void end_interest(Registered& registered);
    void hand_out(const std::vector<Route>& to, const trace::EventView& view);
    bool feed(std::span<const std::byte> bytes);
    /// The next bytes of `fd` into the buffer; 0 at its end. False: none now, or an error, which
    /// goes to `problem`.
    bool read_some(int fd, std::size_t& size);
    Fd open(const char* path);
    Outcome finish();
    [[nodiscard]] Outcome refuse_second() const;
    [[nodiscard]] Outcome outcome_of(trace::StreamOutcome stream) const;
    [[nodiscard]] bool wants_more() const { return interested != 0 && !is_stopped; }

    std::vector<std::unique_ptr<Registered>> analyzers;
    std::size_t interested = 0;
    std::map<std::string, std::vector<Route>> routes;
    trace::EventReader reader;
    bool has_begun = false;
    bool is_finished = false;
    std::string problem;  ///< Of the file, or of its header.
    std::uint64_t bytes_read = 0;
    std::atomic<bool> is_stopped{false};  ///< Nothing else is told by it.
    std::vector<std::byte> buffer = std::vector<std::byte>(kReadBytes);

    mutable std::mutex providers_lock;
    std::map<std::string, std::shared_ptr<Provider>, std::less<>> providers;
};

bool Session::Impl::begin() {
    if (std::exchange(has_begun, true)) {
        return false;
    }
    for (const auto& registered : analyzers) {
        Subscriptions::Impl subscriber{routes, *registered};
        Subscriptions subscriptions{subscriber};
        registered->analyzer->on_analysis_begin(subscriptions);
        if (registered->is_interested) {
            ++interested;
        } else {
            registered->analyzer->on_analysis_end();
        }
    }
    for (const auto& [name, to] : routes) {
        reader.subscribe(
            name, [this, &to = to](const trace::EventView& view) -> std::optional<std::string> {
                hand_out(to, view);
                return std::nullopt;
            });
    }
    return true;
}

void Session::Impl::hand_out(const std::vector<Route>& to, const trace::EventView& view) {
    const Event::Impl impl{view, reader};
    const Event event{impl};
    for (const Route& route : to) {
        if (route.to->is_interested &&
            !route.to->analyzer->on_event(route.route, public_style(view.style()), event)) {
            end_interest(*route.to);
        }
    }
    if (!wants_more()) {
        reader.stop();
    }
}

void Session::Impl::end_interest(Registered& registered) {
    registered.is_interested = false;
    --interested;
    registered.analyzer->on_analysis_end();
}

bool Session::Impl::feed(std::span<const std::byte> bytes) {
    if (!wants_more() || !problem.empty()) {
        return false;
    }
    bytes_read += bytes.size();
    const auto more = reader.feed(bytes);
    if (!more) {
        problem = more.error().message();
        return false;
    }
    return *more && wants_more();
}

bool Session::Impl::read_some(int fd, std::size_t& size) {
    ssize_t got = 0;
    do {
        got = ::read(fd, buffer.data(), buffer.size());
    } while (got < 0 && errno == EINTR && !is_stopped);
    size = got > 0 ? static_cast<std::size_t>(got) : 0;
    if (got < 0 && errno != EAGAIN && errno != EINTR) {
        problem = Error::from_errno("cannot read").message();
    }
    return got >= 0;
}

Session::Session() : impl_{std::make_unique<Impl>()} {}
Session::~Session() = default;

void Session::add_analyzer(std::unique_ptr<Analyzer> analyzer) {
    auto registered = std::make_unique<Registered>();
    registered->analyzer = std::move(analyzer);
    impl_->analyzers.push_back(std::move(registered));
}

void Session::add_provider(std::string_view name, std::shared_ptr<Provider> provider) {
    const std::lock_guard lock{impl_->providers_lock};
    impl_->providers.insert_or_assign(std::string{name}, std::move(provider));
}

std::shared_ptr<Provider> Session::provider(std::string_view name) const {
    const std::lock_guard lock{impl_->providers_lock};
    const auto found = impl_->providers.find(name);
    return found != impl_->providers.end() ? found->second : nullptr;
}

void Session::stop() noexcept {
    impl_->is_stopped = true;
}

Outcome Session::Impl::outcome_of(trace::StreamOutcome stream) const {
    auto result = std::make_shared<Outcome::Impl>();
    result->stream = std::move(stream);
    result->bytes_read = bytes_read;
    return Outcome{std::move(result)};
}

Outcome Session::Impl::finish() {
    if (!wants_more()) {
        reader.stop();
    } else if (problem.empty() && bytes_read == 0) {
        problem = "there is nothing in it: no stream of events was written";
    }
    trace::StreamOutcome stream = reader.finish();
    if (!problem.empty()) {
        stream.problem = problem;
    }
    for (const auto& registered : analyzers) {
        if (registered->is_interested) {
            end_interest(*registered);
        }
    }
    return outcome_of(std::move(stream));
}

Outcome Session::Impl::refuse_second() const {
    trace::StreamOutcome stream;
    stream.problem = "this session has read a stream already: make another one";
    return outcome_of(std::move(stream));
}

Fd Session::Impl::open(const char* path) {
    Fd file = open_regular(path);
    if (!file.is_open()) {
        problem = errno == 0 ? std::string{path} + ": no regular file; give its descriptor instead"
                             : Error::from_errno(path).message();
    }
    return file;
}

Outcome Session::analyze_file(const char* path) {
    if (!impl_->begin()) {
        return impl_->refuse_second();
    }
    const Fd file = impl_->open(path);
    std::size_t size = 1;
    while (file.is_open() && size != 0 && impl_->wants_more()) {
        if (!impl_->read_some(file.get(), size) || !impl_->feed({impl_->buffer.data(), size})) {
            break;
        }
    }
    return impl_->finish();
}

Outcome Session::follow_file(const char* path, std::uint32_t poll_ms, std::uint32_t quiet_ms) {
    using Clock = std::chrono::steady_clock;
    if (!impl_->begin()) {
        return impl_->refuse_second();
    }
    const Fd file = impl_->open(path);
    Clock::time_point last_growth = Clock::now();
    while (file.is_open() && impl_->wants_more()) {
        std::size_t size = 0;
        if (!impl_->read_some(file.get(), size)) {
            break;
        }
        if (size != 0) {
            last_growth = Clock::now();
            if (!impl_->feed({impl_->buffer.data(), size})) {
                break;
            }
            continue;
        }
        const auto quiet = Clock::now() - last_growth;
        if (quiet_ms != 0 && quiet >= std::chrono::milliseconds{quiet_ms}) {
            break;
        }
        if (quiet >= kSettleAfter) {
            impl_->reader.settle();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{poll_ms});
    }
    return impl_->finish();
}

Outcome Session::analyze_descriptor(int descriptor) {
    if (!impl_->begin()) {
        return impl_->refuse_second();
    }
    pollfd waiting{descriptor, POLLIN, 0};
    while (impl_->wants_more()) {
        std::size_t size = 0;
        const int ready = ::poll(&waiting, 1, kDescriptorPollMs);
        if (ready == 0 || (ready < 0 && errno == EINTR)) {
            continue;
        }
        const bool is_read = impl_->read_some(descriptor, size);
        if (is_read ? size == 0 || !impl_->feed({impl_->buffer.data(), size})
                    : !impl_->problem.empty()) {
            break;
        }
    }
    return impl_->finish();
}

bool Session::feed(const void* bytes, std::size_t size) {
    if (!impl_->has_begun) {
        impl_->begin();
    }
    return impl_->feed({static_cast<const std::byte*>(bytes), size});
}

Outcome Session::finish() {
    if (!impl_->has_begun) {
        impl_->begin();
    }
    return std::exchange(impl_->is_finished, true) ? impl_->refuse_second() : impl_->finish();
}

}  // namespace sample::analysis
