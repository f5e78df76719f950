// Recordings made by hand: stacks are written as names, addresses and ids are made up on the way.
#pragma once

#include "callgraph/build_profile.h"
#include "callgraph/label.h"
#include "callgraph/profile.h"
#include "callgraph/recording.h"
#include "core/stack_break.h"
#include "trace/records.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sample::callgraph {

class RecordingMaker {
public:
    RecordingMaker() {
        trace::SessionStart start;
        start.start_ns = 1'000;
        start.start_unix_ns = 1'700'000'000'000'000'000;
        start.period = 100'000;
        start.requested_hz = 10'000;
        start.source = "sigtrap";
        start.command_line = "./app --fast";
        recording.record(start);
        app = module("/usr/bin/app");
    }

    ModuleId module(std::string path, trace::ModuleKind kind = trace::ModuleKind::elf,
                    bool plugin = false) {
        trace::Module record;
        record.id = ModuleId{++modules_};
        record.kind = kind;
        record.plugin = plugin;
        record.path = std::move(path);
        recording.record(record);
        return record.id;
    }
    ModuleId pseudo(const char* path) { return module(path, trace::ModuleKind::pseudo); }

    ProcessId process(std::string executable, std::uint32_t pid = 100,
                      std::string command_line = "", std::string source = "sigtrap") {
        trace::Process record;
        record.id = ProcessId{++processes_};
        record.pid = pid;
        record.executable = std::move(executable);
        record.command_line = std::move(command_line);
        record.source = std::move(source);
        recording.record(record);
        return record.id;
    }

    ThreadId thread(ProcessId process, std::string name, std::uint32_t tid) {
        trace::Thread record;
        record.id = ThreadId{++threads_};
        record.process = process;
        record.tid = tid;
        record.name = std::move(name);
        recording.record(record);
        return record.id;
    }
    /// The main thread of a process /usr/bin/app.
    ThreadId main_thread() { return thread(process("/usr/bin/app"), "app", 100); }

    /// A stack node for the function `name` at some address of its own below `parent`.
    NodeId frame(NodeId parent, const std::string& name, ModuleId in = {},
                 std::uint32_t offset = 0) {
        trace::StackNode record;
        record.id = NodeId{++nodes_};
        record.parent = parent;
        record.module = in.is_none() ? app : in;
        const auto [found, is_new] =
            start_of_.try_emplace({record.module.value, name}, 0x1000 + 0x100 * start_of_.size());
        record.address = (found->second + offset) | guess_;
        recording.node(record);
        const auto addresses = recording.addresses().size();
        if (addresses > symbols.runs.size()) {
            FunctionSymbol symbol;
            symbol.name = name;
            symbol.linkage_name = name;
            symbol.source = in.is_none() ? "app.cpp" : "";
            symbol.line = in.is_none() ? static_cast<std::uint32_t>(found->second) : 0;
            symbol.origin = NameOrigin::known;
            add_run({symbol});
        }
        return record.id;
    }
    /// The same, found without unwind tables.
    NodeId guessed_frame(NodeId parent, const std::string& name) {
        guess_ = trace::kGuessedFrame;
        const NodeId node = frame(parent, name);
        guess_ = 0;
        return node;
    }
    /// What stacks hang on that broke off.
    NodeId base(ModuleId incomplete, StackBreak reason) {
        const NodeId id{++nodes_};
        recording.node({id, NodeId{}, incomplete, static_cast<std::uint64_t>(reason)});
        symbols.runs.resize(recording.addresses().size());
        return id;
    }
    /// A node at an address of its own at which several functions are at work, innermost first;
    /// each at the line that it begins at, but for `lines`.
    NodeId inlined_frame(NodeId parent, const std::vector<std::string>& names,
                         const std::vector<std::uint32_t>& lines) {
        const NodeId id{++nodes_};
        recording.node({id, parent, app, 0x10000 + id.value});
        std::vector<FunctionSymbol> functions;
        for (const std::string& name : names) {
            FunctionSymbol& symbol = functions.emplace_back();
            symbol.name = symbol.linkage_name = name;
            symbol.source = "app.cpp";
            symbol.origin = NameOrigin::known;
        }
        add_run(functions, lines);
        return id;
    }
    NodeId stack(const std::vector<std::string>& names) {
        NodeId node;
        for (const std::string& name : names) {
            node = frame(node, name);
        }
        return node;
    }

    void sample(ThreadId thread, NodeId node, std::uint64_t weight) {
        recording.sample({thread, now_ns_ += weight, node, weight});
    }
    void book(ThreadId thread, NodeId node, std::uint64_t weight) {
        recording.sample({thread, now_ns_ += weight, node, weight, true});
    }
    void end_process(ProcessId id, trace::EndKind kind, std::int32_t code = 0,
                     std::uint64_t cpu_ns = 0) {
        trace::ProcessEnd record;
        record.id = id;
        record.kind = kind;
        record.code = code;
        record.cpu_ns = cpu_ns;
        recording.record(record);
    }
    void end(std::uint64_t end_ns = 2'000'001'000) {
        trace::SessionEnd record;
        record.end_ns = end_ns;
        recording.record(record);
    }

    [[nodiscard]] Profile profile(const BuildOptions& options = {}) const {
        return build_profile(recording, symbols, options);
    }
    [[nodiscard]] Profile profile_with_memory() const { return profile({.group_memory = true}); }

    Recording recording;
    Symbols symbols;
    ModuleId app;

private:
    void add_run(const std::vector<FunctionSymbol>& functions,
                 const std::vector<std::uint32_t>& lines = {}) {
        symbols.runs.push_back({static_cast<std::uint32_t>(symbols.frames.size()),
                                static_cast<std::uint32_t>(functions.size())});
        for (std::size_t i = 0; i < functions.size(); ++i) {
            symbols.frames.push_back({static_cast<std::uint32_t>(symbols.functions.size()), 0,
                                      i < lines.size() ? lines[i] : functions[i].line});
            symbols.functions.push_back(functions[i]);
        }
    }

    std::uint32_t modules_ = 0;
    std::uint32_t processes_ = 0;
    std::uint32_t threads_ = 0;
    std::uint32_t nodes_ = 0;
    std::uint64_t now_ns_ = 1'000;
    std::uint64_t guess_ = 0;
    std::map<std::pair<std::uint32_t, std::string>, std::uint64_t> start_of_;
};

/// One line a node, in preorder: two spaces a level, then "label total/self".
inline std::string drawing(const Profile& profile) {
    std::string text;
    std::map<std::uint32_t, std::string> names;
    for (const Category& category : profile.categories) {
        names[category.node.value] = category.name;
    }
    std::vector<std::pair<NodeId, int>> pending{{NodeId{}, 0}};
    while (!pending.empty()) {
        const auto [id, depth] = pending.back();
        pending.pop_back();
        const Node& node = profile.node(id);
        if (depth > 0) {
            text.append(static_cast<std::size_t>(depth - 1) * 2, ' ');
            text +=
                node.function.is_none() ? names[id.value] : label(profile.function(node.function));
            text += " " + std::to_string(node.total) + "/" + std::to_string(node.self) + "\n";
        }
        if (!node.next_sibling.is_none()) {
            pending.emplace_back(node.next_sibling, depth);
        }
        if (!node.first_child.is_none()) {
            pending.emplace_back(node.first_child, depth + 1);
        }
    }
    return text;
}

/// The function called `name`; a test failure shows as an empty function.
inline Function function_named(const Profile& profile, const std::string& name) {
    for (const Function& function : profile.functions) {
        if (function.name == name) {
            return function;
        }
    }
    return {};
}

}  // namespace sample::callgraph
