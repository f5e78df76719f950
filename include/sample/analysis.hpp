// Reads the events of a .utrace file, or of a stream of that container, by their own description:
// any event of any logger, whoever has written it. C++17; link libsample-analysis.so (CMake:
// sample::analysis, pkg-config: sample-analysis).
//
// An Analyzer says which events it wants, by logger and name, and gets them in their order across
// threads. What it makes of them it puts into a Provider, which other threads may read meanwhile. A
// Session brings them together with a file:
//
//     sample::analysis::Session session;
//     auto provider = std::make_shared<RainbowProvider>();
//     session.add_provider("RainbowProvider", provider);
//     session.add_analyzer(std::make_unique<RainbowAnalyzer>(*provider));
//     const sample::analysis::Outcome outcome = session.analyze_file("game.utrace");
//
// docs/analysis-library.md is the manual. Nothing here throws but std::bad_alloc; what analyzers
// throw passes through and leaves the session good for nothing but its destructor. Classes keep
// their layout, and virtual functions their places, through all versions of one soname.
#ifndef SAMPLE_ANALYSIS_HPP
#define SAMPLE_ANALYSIS_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#define SAMPLE_ANALYSIS_API __attribute__((visibility("default")))
#define SAMPLE_ANALYSIS_LOCAL __attribute__((visibility("hidden")))

namespace sample::analysis {

enum class Style : std::uint8_t {
    plain,
    enter,  ///< A scope begins with this event.
    leave,  ///< The scope that such an event began ends. It has no fields.
};

enum class FieldKind : std::uint8_t {
    none,  ///< The event's type has no such field.
    unsigned_integer,
    signed_integer,
    real,
    text,
};

/// A field as the stream declares it. The name is valid as long as the event.
struct Field {
    std::string_view name;
    FieldKind kind = FieldKind::none;
    std::uint8_t element_bytes = 0;  ///< 1, 2, 4 or 8. Text: 1 narrow, 2 wide.
    bool is_array = false;           ///< Of any number of elements; not set for text.
};

/// Who said an event. The name is valid as long as the event.
struct Thread {
    /// Unique in the stream, also where the system gave a thread's id to another one. 1: unknown,
    /// of events that are kept for the program's life (Important).
    std::uint32_t id = 0;
    std::uint32_t system_id = 0;  ///< The operating system's; 0: unknown.
    std::string_view name;        ///< UTF-8; empty: unknown.
};

/// Bytes in memory of the event's.
struct Bytes {
    const std::byte* data = nullptr;
    std::size_t size = 0;
};

/// One event, during on_event() only: neither it nor what it lends may be kept. All functions cost
/// O(fields of the type) and what they return; none throws. Not thread-safe.
class SAMPLE_ANALYSIS_API Event {
public:
    [[nodiscard]] std::string_view logger() const noexcept;
    [[nodiscard]] std::string_view name() const noexcept;
    [[nodiscard]] Thread thread() const noexcept;
    /// Of an event with a time of its own: a scope with times, or one with a field "Cycle".
    [[nodiscard]] bool has_time() const noexcept;
    /// Nanoseconds since the start of the stream; 0 if it has none.
    [[nodiscard]] std::uint64_t time_ns() const noexcept;
    /// The program's serial number, 24 bits, by which events of all threads are in order; -1 if it
    /// has none (NoSync, Important, the end of a scope).
    [[nodiscard]] std::int32_t serial() const noexcept;

    /// How many fields its type has.
    [[nodiscard]] std::size_t field_count() const noexcept;
    /// The field of that index, in the order of declaration; of no kind, beyond the last one.
    [[nodiscard]] Field field(std::size_t index) const noexcept;
    /// The field of that name; of no kind, if there is none.
    [[nodiscard]] Field field(std::string_view name) const noexcept;

    /// A number or a bool, converted to T; `missing`, if the type has no such field, or it is no
    /// number, or one with a fraction where T is an integer. A field that was not set is 0.
    template <class T>
    [[nodiscard]] T value(std::string_view name, T missing = T{}) const noexcept {
        static_assert(std::is_arithmetic_v<T>, "numbers and bool; text: string()");
        const Number number = number_of(name);
        if constexpr (!std::is_floating_point_v<T>) {
            if (number.kind == FieldKind::real) {
                return missing;
            }
        }
        return number.kind == FieldKind::none ? missing : number.template as<T>();
    }

    /// A text, narrow or wide, as UTF-8; what is not valid in wide text becomes U+FFFD. Empty, if
    /// there is no such text.
    [[nodiscard]] std::string string(std::string_view name) const;

    /// An array's elements, each converted to T. Empty, if there is no such array, or one of
    /// numbers with a fraction where T is an integer.
    template <class T>
    [[nodiscard]] std::vector<T> array(std::string_view name) const {
        static_assert(std::is_arithmetic_v<T>, "numbers and bool");
        const Field declared = field(name);
        std::vector<T> elements;
        if (!declared.is_array ||
            (declared.kind == FieldKind::real && !std::is_floating_point_v<T>)) {
            return elements;
        }
        const Bytes raw = bytes(name);
        elements.reserve(raw.size / declared.element_bytes);
        for (std::size_t at = 0; at + declared.element_bytes <= raw.size;
             at += declared.element_bytes) {
            elements.push_back(
                Number::load(raw.data + at, declared.kind, declared.element_bytes).as<T>());
        }
        return elements;
    }

    /// The bytes of an array or a text as they are in the stream, little-endian. Valid until the
    /// next call of bytes(), string(), array() or attachment().
    [[nodiscard]] Bytes bytes(std::string_view name) const;
    /// The opaque bytes that writers of old streams put behind the fields. Valid as bytes() is.
    [[nodiscard]] Bytes attachment() const;

    struct SAMPLE_ANALYSIS_LOCAL Impl;  ///< The library's own.
    explicit Event(const Impl& impl) noexcept : impl_{&impl} {}
    ~Event() = default;
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

private:
    /// A field's value, or an element's.
    struct Number {
        FieldKind kind = FieldKind::none;
        std::uint64_t integer = 0;  ///< Widened with its sign.
        double fraction = 0;

        template <class T>
        [[nodiscard]] T as() const noexcept {
            if constexpr (std::is_same_v<T, bool>) {
                return kind == FieldKind::real ? fraction < 0 || fraction > 0 : integer != 0;
            } else {
                return kind == FieldKind::real ? static_cast<T>(fraction)
                       : kind == FieldKind::signed_integer
                           ? static_cast<T>(static_cast<std::int64_t>(integer))
                           : static_cast<T>(integer);
            }
        }
        static Number load(const std::byte* at, FieldKind kind, std::size_t bytes) noexcept {
            Number number;
            number.kind = kind;
            if (kind == FieldKind::real) {
                float narrow = 0;
                if (bytes == sizeof narrow) {
                    std::memcpy(&narrow, at, sizeof narrow);
                    number.fraction = static_cast<double>(narrow);
                } else if (bytes == sizeof number.fraction) {
                    std::memcpy(&number.fraction, at, sizeof number.fraction);
                }
                return number;
            }
            std::memcpy(&number.integer, at, bytes);
            if (kind == FieldKind::signed_integer && bytes < sizeof number.integer) {
                const std::uint64_t sign = std::uint64_t{1} << (8 * bytes - 1);
                number.integer = (number.integer ^ sign) - sign;
            }
            return number;
        }
    };
    [[nodiscard]] Number number_of(std::string_view name) const noexcept;

    const Impl* impl_;
};

/// Where an analyzer says what it wants. During on_analysis_begin() only.
class SAMPLE_ANALYSIS_API Subscriptions {
public:
    /// on_event() is called with `route` for each event of that name. O(log of all subscriptions).
    void route_event(std::uint16_t route, std::string_view logger, std::string_view event);

    struct SAMPLE_ANALYSIS_LOCAL Impl;  ///< The library's own.
    explicit Subscriptions(Impl& impl) noexcept : impl_{&impl} {}
    ~Subscriptions() = default;
    Subscriptions(const Subscriptions&) = delete;
    Subscriptions& operator=(const Subscriptions&) = delete;

private:
    Impl* impl_;
};

/// Takes data out of events. Its functions are called one at a time, on the thread that analyzes.
class SAMPLE_ANALYSIS_API Analyzer {
public:
    Analyzer();
    virtual ~Analyzer();
    Analyzer(const Analyzer&) = delete;
    Analyzer& operator=(const Analyzer&) = delete;

    /// Before the first event, once.
    virtual void on_analysis_begin(Subscriptions& subscriptions) = 0;
    /// An event that was asked for. False: it needs no more events of any kind; where no analyzer
    /// does, the analysis stops.
    virtual bool on_event(std::uint16_t route, Style style, const Event& event) = 0;
    /// After the last event that it gets, once: at the end of the stream, or as soon as it has said
    /// that it needs no more.
    virtual void on_analysis_end();
};

/// Holds what an analyzer has found, for any number of threads that read while the analysis goes
/// on. Derive from it; let each function that reads begin with a ReadScope, and each that changes
/// something with an EditScope.
class SAMPLE_ANALYSIS_API Provider {
public:
    Provider();
    virtual ~Provider();
    Provider(const Provider&) = delete;
    Provider& operator=(const Provider&) = delete;

    /// While it lives, nothing is changed by others. Many may live at once, but a thread must not
    /// begin one inside of another of the same provider: an edit that waits would keep it out.
    /// Waits for the end of an edit. Thread-safe.
    class SAMPLE_ANALYSIS_API ReadScope {
    public:
        explicit ReadScope(const Provider& provider) noexcept;
        ~ReadScope();
        ReadScope(const ReadScope&) = delete;
        ReadScope& operator=(const ReadScope&) = delete;

    private:
        const Provider& provider_;
    };

    /// While it lives, nobody else reads or changes anything. It comes before readers that wait, so
    /// that these cannot hold up the analysis. Keep it short. Thread-safe.
    class SAMPLE_ANALYSIS_API EditScope {
    public:
        explicit EditScope(Provider& provider) noexcept;
        ~EditScope();
        EditScope(const EditScope&) = delete;
        EditScope& operator=(const EditScope&) = delete;

    private:
        Provider& provider_;
    };

private:
    struct SAMPLE_ANALYSIS_LOCAL Impl;
    std::unique_ptr<Impl> impl_;
};

/// How an analysis ended. A cheap copy; thread-safe.
class SAMPLE_ANALYSIS_API Outcome {
public:
    /// What was not handed to any analyzer.
    struct Skipped {
        std::string_view what;  ///< "Logger.Event", or words in parentheses. Valid as the outcome.
        std::uint64_t count = 0;
    };

    /// The stream was read to its end, or as far as the analyzers wanted.
    [[nodiscard]] bool is_whole() const noexcept { return problem().empty(); }
    /// For people: why it was not, and what to do; empty if it was. What was read before has been
    /// handed out. Valid as long as the outcome.
    [[nodiscard]] std::string_view problem() const noexcept;
    /// How much of the file was read: what an early stop has saved.
    [[nodiscard]] std::uint64_t bytes_read() const noexcept;
    /// Events in order that never came: lost, or cut off.
    [[nodiscard]] std::uint64_t lost_events() const noexcept;
    /// By name, what the analysis has passed over: types that nobody asked for, too.
    [[nodiscard]] std::size_t skipped_count() const noexcept;
    [[nodiscard]] Skipped skipped(std::size_t index) const noexcept;

    struct SAMPLE_ANALYSIS_LOCAL Impl;  ///< The library's own.
    explicit Outcome(std::shared_ptr<const Impl> impl) noexcept;
    ~Outcome();
    Outcome(const Outcome&);
    Outcome& operator=(const Outcome&);

private:
    std::shared_ptr<const Impl> impl_;
};

/// The analysis of one stream: add providers and analyzers, then call one of the functions that
/// read, once. A second one reads nothing and says so. Its memory has limits
/// (docs/analysis-library.md), whatever the stream's bytes are.
///
/// Not thread-safe, but for provider() and stop(), which any thread may call at any time.
class SAMPLE_ANALYSIS_API Session {
public:
    Session();
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// Lives until the session's end. Before anything is read.
    void add_analyzer(std::unique_ptr<Analyzer> analyzer);
    /// One of the same name is replaced.
    void add_provider(std::string_view name, std::shared_ptr<Provider> provider);
    /// nullptr, if there is none of that name.
    [[nodiscard]] std::shared_ptr<Provider> provider(std::string_view name) const;
    /// The same, as what it is: nullptr too, if it is no P.
    template <class P>
    [[nodiscard]] std::shared_ptr<P> provider(std::string_view name) const {
        return std::dynamic_pointer_cast<P>(provider(name));
    }

    /// Reads a file from its begin until its end, or until no analyzer wants more: then it stops
    /// reading within 64 KiB.
    Outcome analyze_file(const char* path);
    /// The same of a pipe or a socket; waits for what comes. The descriptor stays the caller's.
    Outcome analyze_descriptor(int descriptor);
    /// Reads a file that grows: what is there, and then what is added, looking each `poll_ms`
    /// milliseconds, until nothing was added for `quiet_ms` (0: for ever), until no analyzer wants
    /// more, or until stop().
    Outcome follow_file(const char* path, std::uint32_t poll_ms, std::uint32_t quiet_ms);

    /// For bytes that the caller has, in pieces of any size. False: no more are wanted. Then, and
    /// at the end of the stream, call finish().
    bool feed(const void* bytes, std::size_t size);
    /// Ends what feed() began, and calls on_analysis_end().
    Outcome finish();

    /// Ends the analysis soon: within one poll, or 64 KiB. It is whole, as far as it went.
    /// Async-signal-safe.
    void stop() noexcept;

private:
    struct SAMPLE_ANALYSIS_LOCAL Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace sample::analysis

#endif
