# fish completion for sample(1): the program itself knows what may follow.

function __sample_complete
    set -l words (commandline -opc)
    $words[1] complete -- $words[2..] (commandline -ct) 2>/dev/null
end

# Behind what is our own, the command completes itself.
function __sample_command
    set -l words (commandline -opc) (commandline -ct)
    set -l command (__sample_complete | string match -rg '^:command (\d+)$')
    and complete -C "$words[$(math $command + 2)..]"
end

complete -c sample -f -a "(__sample_complete | string match -v ':command *')"
complete -c sample -a "(__sample_command)"
complete -c sample -n "not __sample_complete | string length -q" -F
