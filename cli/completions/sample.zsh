#compdef sample
# zsh completion for sample(1): the program itself knows what may follow.

_sample() {
    local -a lines=("${(@f)$($words[1] complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    local -a suggested=("${(@)${(@M)lines:#*$'\t'*}/$'\t'/:}")
    if [[ $lines[1] == ':command '* ]]; then
        # From there on, the command completes itself.
        integer command=$((${lines[1]#:command } + 1))
        shift $command words
        ((CURRENT -= command))
        ((CURRENT == 1)) && _describe -t verbs verb suggested
        _normal
    elif (($#suggested)); then
        local -a suffix
        [[ $suggested[1] == *=: ]] && suffix=(-S '')
        _describe -t values value suggested "${suffix[@]}"
    else
        _files
    fi
}

_sample "$@"
