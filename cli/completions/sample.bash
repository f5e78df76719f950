# bash completion for sample(1).

_sample_options() {
    case $1 in
        record) echo "--freq --time --output --force --export --source --event --max-stack --clock
                      --children --no-children --debug-dir --symbols --no-symbols --code --no-code
                      --cache --no-cache --quiet --color --help" ;;
        report) echo "--view --focus --search --average --hide --fold --names --metric --category --lines
                      --resymbolize --debug-dir --cache --no-cache --from --unit
                      --min --json --color --help" ;;
        annotate) echo "--source --asm --intel --all --unit --names --resymbolize --debug-dir --cache --no-cache
                        --json --color --help" ;;
        diff) echo "--view --normalize --fail-above --confidence --limit --focus --search --average --hide
                    --fold --names --metric --category --resymbolize --debug-dir --cache --no-cache --from --json
                    --color --help" ;;
        export) echo "--format --output --force --focus --search --average --hide --fold --names --metric
                      --category --resymbolize --debug-dir --cache --no-cache --from --help" ;;
        import) echo "--from --output --force --help" ;;
        doctor) echo "--json --color --help" ;;
    esac
}

# The words that may follow an option; fails for options that take none or a file.
_sample_values() {
    # annotate's --source takes no value.
    [[ ${2-} == annotate && $1 == --source ]] && return 1
    case $1 in
        -f | --freq) echo "1k 10k" ;;
        -t | --time) echo "10s 1m 5m 10m" ;;
        --source) echo "auto sigtrap perf thread timer" ;;
        --event)
            echo "cpu-clock task-clock page-faults minor-faults major-faults context-switches
                cpu-migrations cycles instructions cache-references cache-misses branches
                branch-misses help"
            ;;
        --max-stack) echo "64 256 1024 8192" ;;
        --clock) echo "cpu wall" ;;
        --color) echo "auto always never" ;;
        --view)
            [[ ${2-} == diff ]] && echo "functions paths" && return
            echo "summary callgraph functions threads stats"
            ;;
        --average) echo "1s 1m 5m 10m" ;;
        --hide) echo "gc plugins gc,plugins" ;;
        --fold) echo "inlined parts inlined,parts" ;;
        --names) echo "full noargs short" ;;
        --category) echo "process thread module" ;;
        --unit) echo "auto ms %" ;;
        --format)
            echo "json folded pprof speedscope firefox chrome callgrind perf-script html csv" ;;
        --from) echo "json speedscope pprof perf-script folded folded-threads luau" ;;
        --export)
            echo "json= folded= pprof= speedscope= firefox= chrome= callgrind= perf-script= html= csv=" ;;
        --focus | --search | --min | --fail-above | --confidence | --limit) echo "" ;;
        *) return 1 ;;
    esac
}

_sample() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local verb=record first=1 i values
    COMPREPLY=()
    case ${COMP_WORDS[1]} in
        record | report | annotate | diff | export | import | doctor)
            ((COMP_CWORD > 1)) && verb=${COMP_WORDS[1]} first=2
            ;;
    esac
    if [[ $verb == record ]]; then
        # Behind the first word that is no option, the command completes itself.
        for ((i = first; i < COMP_CWORD; i++)); do
            case ${COMP_WORDS[i]} in
                --) ((i++)) ;;
                -f | -t | -o | --freq | --time | --output | --export | --source | --event | \
                    --max-stack | --clock | --color)
                    ((i++))
                    continue
                    ;;
                -*) continue ;;
            esac
            if ((i < COMP_CWORD)) && declare -F _command_offset >/dev/null; then
                _command_offset "$i"
                return
            fi
            break
        done
    fi
    if values=$(_sample_values "$prev" "$verb"); then
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$cur")
        [[ $prev == --export ]] && compopt -o nospace
    elif [[ $prev == -o || $prev == --output ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    elif [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_sample_options "$verb")" -- "$cur")
    elif [[ $verb == record ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
        ((COMP_CWORD == 1)) &&
            mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(
                compgen -W "record report diff export import doctor help version" -- "$cur"
            )
    elif [[ $verb == import ]]; then
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    elif [[ $verb != doctor ]]; then
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -X '!*.@(utrace|json)' -- "$cur")
        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$cur")
    fi
}

complete -F _sample sample
