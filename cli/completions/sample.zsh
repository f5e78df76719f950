#compdef sample
# zsh completion for sample(1).

_sample_choice=(
    '--focus=[only this function and what it calls]:function:'
    '--search=[only paths to and from names with this text]:text:'
    '--average=[durations as in an average span of the session]:span:(1s 1m 5m 10m)'
    '*--hide=[take out of all durations]:what:(gc plugins gc,plugins)'
    '*--fold=[make one with their functions]:what:(inlined parts inlined,parts)'
    '--names=[how much of names to show]:form:(full noargs short)'
    '--metric=[what the figures are of]:metric:'
    '--category=[what the top level is]:kind:(process thread module)'
    '*--debug-dir=[look for debug files here, too]:folder:_files -/'
    "--resymbolize[names from this machine's files, not from the recording]"
    '(--no-cache)--cache[use and keep names that were found before]'
    '(--cache)--no-cache[neither use nor keep them]'
    '--from=[what a foreign file is]:format:(json speedscope pprof perf-script folded folded-threads luau)'
)

_sample_record() {
    _arguments -S \
        '(-h --help)'{-h,--help}'[print help]' \
        '(-f --freq)'{-f,--freq=}'[samples a second]:frequency:(1k 10k)' \
        '(-t --time)'{-t,--time=}'[stop sampling after]:duration:(10s 1m 5m 10m)' \
        '(-o --output)'{-o,--output=}'[the recording]:file:_files' \
        '--force[replace files that exist]' \
        '*--export=[also write at the end]:format=file:(json= folded= pprof= speedscope= firefox= chrome= callgrind= perf-script= html= csv=)' \
        '--source=[what triggers samples]:source:(auto sigtrap perf thread timer)' \
        '--event=[what is sampled]:event:(cpu-clock task-clock page-faults minor-faults major-faults context-switches cpu-migrations cycles instructions cache-references cache-misses branches branch-misses help)' \
        '--max-stack=[frames kept of a stack]:frames:(64 256 1024 8192)' \
        '--clock=[what time is measured]:clock:(cpu wall)' \
        '(--no-children)--children[record child processes, too]' \
        '(--children)--no-children[record only the command itself]' \
        '*--debug-dir=[look for debug files here, too]:folder:_files -/' \
        '(--no-symbols)--symbols[names of functions go into the recording]' \
        '(--symbols)--no-symbols[leave them out]' \
        '(--no-cache)--cache[use and keep names that were found before]' \
        '(--cache)--no-cache[neither use nor keep them]' \
        '--no-code[keep machine code and source lines out of the recording]' \
        '--quiet[no countdown and no summary]' \
        '--color=[when to use colours]:when:(auto always never)' \
        '(-):command: _command_names -e' \
        '*::arguments: _normal'
}

_sample_report() {
    _arguments \
        '(-h --help)'{-h,--help}'[print help]' \
        '--view=[what to show]:view:(summary callgraph functions threads stats)' \
        $_sample_choice \
        '--lines[a node of the callgraph for each line]' \
        '--unit=[of durations]:unit:(auto ms %)' \
        '--min=[leave out what weighs less]:per cent:' \
        '--json[JSON instead of text]' \
        '--color=[when to use colours]:when:(auto always never)' \
        ':file:_files -g "*.(utrace|json)"'
}

_sample_diff() {
    _arguments \
        '(-h --help)'{-h,--help}'[print help]' \
        '--view=[what to compare]:view:(functions paths)' \
        '--normalize[compare shares]' \
        '--fail-above=[exit with 3 if worse by more]:per cent:(5%)' \
        '--confidence=[how sure to be]:per cent:(95 99 99.9)' \
        '--limit=[lines of each list]:lines:' \
        $_sample_choice \
        '--json[JSON instead of text]' \
        '--color=[when to use colours]:when:(auto always never)' \
        '1:before:_files -g "*.(utrace|json)"' \
        '2:after:_files -g "*.(utrace|json)"'
}

_sample_annotate() {
    _arguments \
        '(-h --help)'{-h,--help}'[print help]' \
        '(--asm)--source[only source lines]' \
        '(--source)--asm[only instructions]' \
        "--intel[Intel's syntax]" \
        '--all[what was never sampled, too]' \
        '--unit=[of durations]:unit:(auto ms %)' \
        '--names=[of functions]:form:(full noargs short)' \
        "--resymbolize[names from this machine's files]" \
        '*--debug-dir=[look for debug files here, too]:folder:_files -/' \
        '(--no-cache)--cache[use and keep names that were found before]' \
        '(--cache)--no-cache[neither use nor keep them]' \
        '--json[JSON instead of text]' \
        '--color=[when to use colours]:when:(auto always never)' \
        ':function:' \
        ':file:_files -g "*.utrace"'
}

_sample_export() {
    _arguments \
        '(-h --help)'{-h,--help}'[print help]' \
        '--format=[format]:format:(json folded pprof speedscope firefox chrome callgrind perf-script html csv)' \
        '(-o --output)'{-o,--output=}'[where to]:file:_files' \
        '--force[replace a file that exists]' \
        $_sample_choice \
        ':file:_files -g "*.(utrace|json)"'
}

_sample_import() {
    _arguments \
        '(-h --help)'{-h,--help}'[print help]' \
        '--from=[what the file is]:format:(json speedscope pprof perf-script folded folded-threads luau)' \
        '(-o --output)'{-o,--output=}'[where to]:file:_files' \
        '--force[replace a file that exists]' \
        ':file:_files'
}

_sample_doctor() {
    _arguments \
        '(-h --help)'{-h,--help}'[print help]' \
        '--json[JSON instead of text]' \
        '--color=[when to use colours]:when:(auto always never)'
}

_sample() {
    local -a verbs=(
        'record:run a command and sample it (default)'
        'report:show a recording'
        'annotate:show the lines and instructions of a function'
        'diff:compare two recordings'
        'export:write a recording in another format'
        "import:make a profile in JSON of another profiler's file"
        'doctor:say what this machine allows'
        'help:print help'
        'version:print the version'
    )
    if ((CURRENT > 2)) && (($+functions[_sample_$words[2]])); then
        local verb=$words[2]
        shift words
        ((CURRENT--))
        _sample_$verb
        return
    fi
    if ((CURRENT == 2)); then
        _describe -t verbs verb verbs
    fi
    _sample_record
}

_sample "$@"
