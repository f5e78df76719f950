// Where the build put what tests start and read. These differ from clone to clone, so each test
// program has those that it uses from a source of its own (sample_built in tests/CMakeLists.txt):
// to a compiler's cache all other sources look alike in every clone.
//
// Paths, absolute; a program that uses one without asking for it does not link.
#pragma once

namespace sample::built {

// The product.
extern const char* const kSample;  ///< The command.
extern const char* const kAgent;
extern const char* const kReceivers;  ///< The folder of libsample-itt.so and its kin.
extern const char* const kUnityHost;
extern const char* const kPlayerPlugin;  ///< What Unity's player loads.
extern const char* const kCompletions;   ///< A folder.
extern const char* const kPythonPath;    ///< A folder.

// Programs that are recorded, and what they load: tests/targets.
extern const char* const kTargets;        ///< The folder of the built programs.
extern const char* const kTargetSources;  ///< The folder of their sources.
extern const char* const kTestModules;    ///< A folder.
extern const char* const kUnityPrograms;  ///< A folder.
extern const char* const kUnityPlugins;   ///< A folder.

// Programs and preloaded libraries that change what a program meets: tests/tools.
extern const char* const kAuditor;
extern const char* const kConfine;
extern const char* const kCutWhenMapped;
extern const char* const kFakeClock;
extern const char* const kFakeSockets;
extern const char* const kKilledAtRequest;

// Clients of other people's interfaces: tests/receivers.
extern const char* const kIttClient;
extern const char* const kIttPlugin;
extern const char* const kNvtxClient;
extern const char* const kNvtxClientPy;
extern const char* const kDnnlProgram;
extern const char* const kTbbProgram;
extern const char* const kOpenmpProgram;

// Examples.
extern const char* const kExampleModules;  ///< A folder.
extern const char* const kCustomEvent;
extern const char* const kRaisesEvents;
extern const char* const kSessionBrowser;
extern const char* const kTwoProcesses;
extern const char* const kTwoProcessesPy;  ///< A command of the shell.

// Files that are read.
extern const char* const kSourceFolder;    ///< The project's root.
extern const char* const kData;            ///< The folder data of the tests themselves.
extern const char* const kImportData;      ///< A folder.
extern const char* const kOldRecordings;   ///< A folder.
extern const char* const kRecordings;      ///< A folder: stacks of another processor.
extern const char* const kNameForms;       ///< A list of names.
extern const char* const kFixtures;        ///< The folder of compiled fixtures.
extern const char* const kFixtureSources;  ///< The folder of their sources.
extern const char* const kSplitBuilds;     ///< A folder: split debug information.
extern const char* const kSharedBuilds;    ///< A folder: what dwz makes of two programs.

// One library, with its frame descriptions in each place; and one that can be loaded and unloaded.
extern const char* const kUsualFrames;
extern const char* const kFramesWithoutHeader;
extern const char* const kDebugFrames;
extern const char* const kCompressedFrames;
extern const char* const kPlugin;

}  // namespace sample::built
