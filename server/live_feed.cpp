#include "server/live_feed.h"

#include <sys/eventfd.h>

#include <utility>

namespace sample::server {

Result<std::unique_ptr<LiveFeed>> LiveFeed::create() {
    Fd news{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (!news.is_open()) {
        return unexpected(Error::from_errno("cannot serve live data"));
    }
    return std::unique_ptr<LiveFeed>{new LiveFeed{std::move(news)}};
}

void LiveFeed::publish(const callgraph::Profile& profile, const LiveFigures& figures) {
    {
        const std::lock_guard lock{mutex_};
        auto text = std::make_shared<const std::string>(state_.update(profile, figures));
        deltas_.push_back({false, state_.sequence(), std::move(text)});
        if (deltas_.size() > kMostKept) {
            deltas_.pop_front();
        }
    }
    ::eventfd_write(news_.get(), 1);
}

void LiveFeed::end() {
    {
        const std::lock_guard lock{mutex_};
        has_ended_ = true;
    }
    ::eventfd_write(news_.get(), 1);
}

void LiveFeed::seen() const {
    eventfd_t count = 0;
    ::eventfd_read(news_.get(), &count);
}

bool LiveFeed::has_ended() const {
    const std::lock_guard lock{mutex_};
    return has_ended_;
}

std::uint64_t LiveFeed::sequence() const {
    const std::lock_guard lock{mutex_};
    return state_.sequence();
}

LiveMessage LiveFeed::after(std::uint64_t sequence) {
    const std::lock_guard lock{mutex_};
    if (sequence == state_.sequence()) {
        return {};
    }
    if (sequence == 0 || deltas_.front().sequence > sequence + 1) {
        return snapshot_now();
    }
    return deltas_[sequence + 1 - deltas_.front().sequence];
}

LiveMessage LiveFeed::snapshot() {
    const std::lock_guard lock{mutex_};
    return snapshot_now();
}

LiveMessage LiveFeed::snapshot_now() {
    if (snapshot_.text == nullptr || snapshot_.sequence != state_.sequence()) {
        snapshot_ = {true, state_.sequence(),
                     std::make_shared<const std::string>(state_.snapshot())};
    }
    return snapshot_;
}

}  // namespace sample::server
