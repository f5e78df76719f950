# bash completion for sample(1): the program itself knows what may follow.

_sample() {
    local cur=${COMP_WORDS[COMP_CWORD]} words=() places=() lines i
    for ((i = 1; i <= COMP_CWORD; i++)); do
        # Readline takes --view=c apart, and replaces what is behind the sign.
        if ((${#words[@]})) && [[ ${COMP_WORDS[i]} == = || ${words[-1]} == *= ]]; then
            words[-1]+=${COMP_WORDS[i]}
        else
            words+=("${COMP_WORDS[i]}")
            places+=("$i")
        fi
    done
    local kept=${words[-1]%"${cur#=}"}
    mapfile -t lines < <("$1" complete -- "${words[@]}" 2>/dev/null)
    if [[ ${lines[0]-} == ":command "* ]]; then
        # From there on, the command completes itself.
        local command=${places[${lines[0]#:command }]}
        if ((command < COMP_CWORD)) && declare -F _command_offset >/dev/null; then
            _command_offset "$command"
            return
        fi
        lines=("${lines[@]:1}")
        # Verbs come before commands, of which there are too many while nothing is typed.
        if ((command == COMP_CWORD)) && [[ $cur || ${#lines[@]} == 0 ]]; then
            compopt -o nosort 2>/dev/null
            mapfile -t -O "${#lines[@]}" lines < <(compgen -c -- "$cur" | sort -u)
        fi
    fi
    lines=("${lines[@]%%$'\t'*}")
    COMPREPLY=("${lines[@]#"$kept"}")
    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
}

complete -o bashdefault -o default -F _sample sample
