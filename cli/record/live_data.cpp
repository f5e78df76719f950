#include "cli/record/live_data.h"

#include "cli/output.h"
#include "cli/roomy_heap.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace sample::cli {
namespace {

constexpr std::chrono::seconds kBetween{1};
/// Times as long as a publication took, the next one waits at least: for huge callgraphs.
constexpr int kRestOfPublication = 20;
/// Names are asked for, and seconds closed, so often.
constexpr int kLiveTickMs = 200;

}  // namespace

LiveData::LiveData(const RecordOptions& options, std::unique_ptr<server::LiveServer> server,
                   std::unique_ptr<analysis::RecordQueue> queue, Fd over)
    : server_{std::move(server)},
      queue_{std::move(queue)},
      live_{{symbolize::NameForm::full, options.use_cache, options.debug_folders}},
      over_{std::move(over)} {}

Result<std::unique_ptr<LiveData>> LiveData::start(const RecordOptions& options) {
    if (!options.live_port) {
        return std::unique_ptr<LiveData>{};
    }
    SAMPLE_TRY(queue, analysis::RecordQueue::create());
    Fd over{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (!over.is_open()) {
        return unexpected(Error::from_errno("cannot serve live data"));
    }
    SAMPLE_TRY(server, server::LiveServer::start(*options.live_port));
    print_error("live at " + server->address());
    keep_freed_memory();
    std::unique_ptr<LiveData> data{
        new LiveData{options, std::move(server), std::move(queue), std::move(over)}};
    data->thread_ = std::thread{[self = data.get()] { self->run(); }};
    return data;
}

LiveData::~LiveData() {
    finish(this);
}

void LiveData::finish(LiveData* live) {
    if (live != nullptr && live->thread_.joinable()) {
        ::eventfd_write(live->over_.get(), 1);
        live->thread_.join();
    }
}

std::unique_ptr<trace::RecordSink> LiveData::beside(LiveData* live,
                                                    std::unique_ptr<trace::RecordSink> file) {
    if (live == nullptr) {
        return file;
    }
    live->file_ = std::move(file);
    return std::make_unique<trace::Tee>(
        std::vector<trace::RecordSink*>{live->file_.get(), live->queue_.get()});
}

void LiveData::run() {
    try {
        watch();
    } catch (const std::exception& error) {
        // Out of memory, or a library's fault: the recording goes on.
        print_error(std::string{"live data ends: "} + error.what());
    }
    server_->feed().end();
}

void LiveData::watch() {
    std::array<pollfd, 2> fds{{{over_.get(), POLLIN, 0}, {queue_->fd(), POLLIN, 0}}};
    while (fds[0].revents == 0) {
        ::poll(fds.data(), fds.size(), kLiveTickMs);
        take_batches();
        live_.advance(read_kernel_clock_ns(CLOCK_MONOTONIC));
        if (server_->feed().is_wanted() && (fds[0].revents != 0 || Clock::now() >= next_)) {
            publish();
        }
    }
}

void LiveData::take_batches() {
    while (const auto batch = queue_->take()) {
        live_.add(*batch);
    }
}

void LiveData::publish() {
    const std::uint64_t before = read_kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    const auto profile = live_.profile({});
    if (!profile) {
        return;
    }
    const analysis::LiveSecond second = live_.last_second();
    server_->feed().publish(*profile, {live_.elapsed_ns(), live_.lost(), second.samples,
                                       second.weight, live_.has_ended()});
    const std::chrono::nanoseconds took{read_kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID) - before};
    next_ = Clock::now() + std::max<Clock::duration>(kBetween, kRestOfPublication * took);
}

}  // namespace sample::cli
