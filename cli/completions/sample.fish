# fish completion for sample(1).

set -l verbs record report annotate diff export import doctor help version

# Succeeds while the verb is the first argument, or record without being named.
function __sample_verb_is
    set -l words (commandline -opc)
    set -l verb record
    if set -q words[2]; and contains -- $words[2] record report annotate diff export import doctor help version
        set verb $words[2]
    end
    contains -- $verb $argv
end

complete -c sample -f
complete -c sample -n "not __fish_seen_subcommand_from $verbs" -a record -d "Run a command and sample it"
complete -c sample -n "not __fish_seen_subcommand_from $verbs" -a report -d "Show a recording"
complete -c sample -n "not __fish_seen_subcommand_from $verbs" -a annotate -d "Show the lines and instructions of a function"
complete -c sample -n "not __fish_seen_subcommand_from $verbs" -a diff -d "Compare two recordings"
complete -c sample -n "not __fish_seen_subcommand_from $verbs" -a export -d "Write a recording in another format"
complete -c sample -n "not __fish_seen_subcommand_from $verbs" -a import -d "Make a profile in JSON of another profiler's file"
complete -c sample -n "not __fish_seen_subcommand_from $verbs" -a doctor -d "Say what this machine allows"
complete -c sample -n "not __fish_seen_subcommand_from $verbs" -a "help version"
complete -c sample -s h -l help -d "Print help"

complete -c sample -n "__sample_verb_is record" -s f -l freq -x -a "1k 10k" -d "Samples a second"
complete -c sample -n "__sample_verb_is record" -s t -l time -x -a "10s 1m 5m 10m" -d "Stop sampling after"
complete -c sample -n "__sample_verb_is record export import" -s o -l output -r -F -d "File to write"
complete -c sample -n "__sample_verb_is record export import" -l force -d "Replace files that exist"
complete -c sample -n "__sample_verb_is record" -l export -x -a "json= folded= pprof= speedscope= firefox= chrome= callgrind= perf-script= html= csv=" -d "Also write at the end"
complete -c sample -n "__sample_verb_is record" -l source -x -a "auto sigtrap perf thread timer" -d "What triggers samples"
complete -c sample -n "__sample_verb_is record" -l event -x -a "cpu-clock task-clock page-faults minor-faults major-faults context-switches cpu-migrations cycles instructions cache-references cache-misses branches branch-misses help" -d "What is sampled"
complete -c sample -n "__sample_verb_is record" -l max-stack -x -a "64 256 1024 8192" -d "Frames kept of a stack"
complete -c sample -n "__sample_verb_is record" -l clock -x -a "cpu wall" -d "What time is measured"
complete -c sample -n "__sample_verb_is record" -l children -d "Record child processes, too"
complete -c sample -n "__sample_verb_is record" -l no-children -d "Record only the command itself"
complete -c sample -n "__sample_verb_is record" -l symbols -d "Names of functions go into the recording"
complete -c sample -n "__sample_verb_is record" -l no-symbols -d "Leave them out"
complete -c sample -n "__sample_verb_is record report annotate diff export" -l cache -d "Use and keep names that were found before"
complete -c sample -n "__sample_verb_is record report annotate diff export" -l no-cache -d "Neither use nor keep them"
complete -c sample -n "__sample_verb_is record" -l quiet -d "No countdown and no summary"
complete -c sample -n "__sample_verb_is record" -a "(__fish_complete_subcommand)"

complete -c sample -n "__sample_verb_is report" -l view -x -a "summary callgraph functions threads stats" -d "What to show"
complete -c sample -n "__sample_verb_is report" -l lines -d "A node for each line"
complete -c sample -n "__sample_verb_is report annotate" -l unit -x -a "auto ms %" -d "Of durations"
complete -c sample -n "__sample_verb_is report" -l min -x -d "Leave out what weighs less"
complete -c sample -n "__sample_verb_is report annotate diff doctor" -l json -d "JSON instead of text"
complete -c sample -n "__sample_verb_is record report annotate diff doctor" -l color -x -a "auto always never" -d "When to use colours"
complete -c sample -n "__sample_verb_is export" -l format -x -a "json folded pprof speedscope firefox chrome callgrind perf-script html csv" -d "Format"
complete -c sample -n "__sample_verb_is diff" -l view -x -a "functions paths" -d "What to compare"
complete -c sample -n "__sample_verb_is diff" -l normalize -d "Compare shares"
complete -c sample -n "__sample_verb_is diff" -l fail-above -x -a "5%" -d "Exit with 3 if worse by more"
complete -c sample -n "__sample_verb_is diff" -l confidence -x -a "95 99 99.9" -d "How sure to be"
complete -c sample -n "__sample_verb_is diff" -l limit -x -d "Lines of each list"
complete -c sample -n "__sample_verb_is report diff export import" -l from -x -a "json speedscope pprof perf-script folded folded-threads luau" -d "What a foreign file is"
complete -c sample -n "__sample_verb_is import" -F
complete -c sample -n "__sample_verb_is annotate" -l source -d "Only source lines"
complete -c sample -n "__sample_verb_is annotate" -l asm -d "Only instructions"
complete -c sample -n "__sample_verb_is annotate" -l intel -d "Intel's syntax"
complete -c sample -n "__sample_verb_is annotate" -l all -d "What was never sampled, too"
complete -c sample -n "__sample_verb_is annotate" -F
complete -c sample -n "__sample_verb_is record" -l no-code -d "Keep code and source lines out of the recording"
complete -c sample -n "__sample_verb_is report diff export" -l focus -x -d "Only this function and what it calls"
complete -c sample -n "__sample_verb_is report diff export" -l search -x -d "Only paths to and from names with this"
complete -c sample -n "__sample_verb_is report diff export" -l average -x -a "1s 1m 5m 10m" -d "Durations as in an average span"
complete -c sample -n "__sample_verb_is report diff export" -l hide -x -a "gc plugins gc,plugins" -d "Take out of all durations"
complete -c sample -n "__sample_verb_is report diff export" -l fold -x -a "inlined parts inlined,parts" -d "Make one with their functions"
complete -c sample -n "__sample_verb_is report annotate diff export" -l names -x -a "full noargs short" -d "How much of names to show"
complete -c sample -n "__sample_verb_is report diff export" -l metric -x -d "What the figures are of"
complete -c sample -n "__sample_verb_is report diff export" -l category -x -a "process thread module" -d "What the top level is"
complete -c sample -n "__sample_verb_is record report annotate diff export" -l debug-dir -x -a "(__fish_complete_directories)" -d "Look for debug files here, too"
complete -c sample -n "__sample_verb_is report annotate diff export" -l resymbolize -d "Names from this machine's files"
complete -c sample -n "__sample_verb_is report diff export" -F
