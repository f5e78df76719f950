#include "callgraph/load_recording.h"

#include "core/mapped_file.h"
#include "core/mapped_reading.h"
#include "trace/recording_reader.h"

#include <utility>

namespace sample::callgraph {

namespace {

class Loader final : public trace::RecordingVisitor {
public:
    explicit Loader(Recording& recording) : recording_{recording} {}

    void on_session_start(const trace::SessionStart& session) override { recording_.add(session); }
    void on_process(const trace::Process& process) override { recording_.add(process); }
    void on_process_end(const trace::ProcessEnd& end) override { recording_.add(end); }
    void on_unprofiled(const trace::UnprofiledProgram& program) override {
        recording_.add(program);
    }
    void on_thread(const trace::Thread& thread) override { recording_.add(thread); }
    void on_thread_name(const trace::ThreadName& name) override { recording_.add(name); }
    void on_module(const trace::Module& module) override { recording_.add(module); }
    void on_module_load(const trace::ModuleLoad& load) override { recording_.add(load); }
    void on_node(const trace::StackNode& node) override { recording_.add(node); }
    void on_sample(const trace::Sample& sample) override { recording_.add(sample); }
    void on_booking(const trace::Booking& booking) override { recording_.add(booking); }
    void on_session_end(const trace::SessionEnd& end) override { recording_.add(end); }
    void on_attachment(trace::Attachment&& attachment) override {
        recording_.add(std::move(attachment));
    }

private:
    Recording& recording_;
};

}  // namespace

Result<Recording> load_recording(const std::string& path, Times times) {
    const MappedReading reading;
    const Result<MappedFile> file = MappedFile::open(path);
    if (!file) {
        return unexpected(file.error());
    }
    Recording recording;
    if (times == Times::kept) {
        recording.keep_times();
    }
    Loader loader{recording};
    Result<trace::ReadOutcome> outcome = trace::read_recording(file->bytes(), loader);
    if (reading.is_broken()) {
        return unexpected(MappedReading::broken(path));
    }
    if (!outcome) {
        Error error = outcome.error();
        error.context = path + ": " + error.context;
        return unexpected(std::move(error));
    }
    recording.set_read_outcome(std::move(outcome->problem), outcome->unknown_events,
                               std::move(outcome->attachments_problem));
    return recording;
}

}  // namespace sample::callgraph
