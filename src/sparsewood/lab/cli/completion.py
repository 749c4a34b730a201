"""`sparsewood completion`: scripts for completion in a shell.

The script holds the commands. It reads the sources from `--help` and the options from `--help-all`
the first time one is completed, and keeps them for the life of the shell: it is never out of date.
"""

from sparsewood.lab.cli import COMMANDS, unknown

_WITH_SOURCE = ("train", "table", "compare", "sweep")

_BASH = r"""# Completion of sparsewood in bash. In ~/.bashrc: eval "$(sparsewood completion bash)"
declare -gA _sparsewood_options _sparsewood_sources
_sparsewood() {
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} place=$COMP_CWORD
    COMPREPLY=()
    if [[ $command == help ]]; then
        command=${COMP_WORDS[2]} place=$((place - 1))
    fi
    local -a asked=("$command")
    local lists= key=
    if ((place == 1)); then
        COMPREPLY=($(compgen -W "%(commands)s" -- "$word"))
        return
    fi
    case $command in
    %(with_source)s)
        ((place == 2)) && lists=$command
        asked+=("${COMP_WORDS[2]}")
        ;;
    evaluate) ((place == 3)) && lists=train ;;
    data) ((place == 2)) && COMPREPLY=($(compgen -W "listops" -- "$word")) ;;
    completion) ((place == 2)) && COMPREPLY=($(compgen -W "%(shells)s" -- "$word")) ;;
    esac
    if [[ $word == -* ]]; then
        key="${asked[*]}"
        if [[ -z ${_sparsewood_options[$key]} ]]; then
            _sparsewood_options[$key]=$("${COMP_WORDS[0]}" "${asked[@]}" --help-all 2>/dev/null \
                | grep -oE -- '--[a-z][a-z0-9-]*' | sort -u | tr '\n' ' ')
        fi
        COMPREPLY=($(compgen -W "${_sparsewood_options[$key]}" -- "$word"))
    elif [[ -n $lists ]]; then
        if [[ -z ${_sparsewood_sources[$lists]} ]]; then
            _sparsewood_sources[$lists]=$("${COMP_WORDS[0]}" "$lists" --help 2>/dev/null \
                | sed -n 's/^  \([a-z]*\) .*/\1/p' | tr '\n' ' ')
        fi
        COMPREPLY=($(compgen -W "${_sparsewood_sources[$lists]}" -- "$word"))
    fi
}
complete -o default -F _sparsewood sparsewood
"""

_ZSH = """\
# Completion of sparsewood in zsh. In ~/.zshrc: eval "$(sparsewood completion zsh)"
autoload -U +X compinit && compinit
autoload -U +X bashcompinit && bashcompinit
""" + _BASH.partition("\n")[2]

_FISH = r"""# Completion of sparsewood in fish. In config.fish: sparsewood completion fish | source
function __sparsewood_options
    set -l words (commandline -opc)
    set -l asked $words[2]
    contains -- "$asked" %(with_source_words)s; and set -a asked $words[3]
    set -l key __sparsewood_options_(string join _ $asked)
    if not set -q $key
        set -g $key (sparsewood $asked --help-all 2>/dev/null \
            | string match -rag -- '(--[a-z][a-z0-9-]*)' | sort -u)
    end
    printf '%%s\n' $$key
end
function __sparsewood_sources
    set -l key __sparsewood_sources_$argv[1]
    if not set -q $key
        set -g $key (sparsewood $argv[1] --help 2>/dev/null | string match -rg '^  ([a-z]+) ')
    end
    printf '%%s\n' $$key
end
function __sparsewood_place
    set -l words (commandline -opc)
    test (count $words) -eq $argv[1]; and contains -- "$words[2]" $argv[2..]
end
%(fish_commands)s
complete -c sparsewood -n '__sparsewood_place 2 help' -fa '%(commands)s'
complete -c sparsewood -n '__sparsewood_place 2 train sweep' -fa '(__sparsewood_sources train)'
complete -c sparsewood -n '__sparsewood_place 2 table compare' -fa '(__sparsewood_sources table)'
complete -c sparsewood -n '__sparsewood_place 3 evaluate' -fa '(__sparsewood_sources train)'
complete -c sparsewood -n '__sparsewood_place 2 data' -fa listops
complete -c sparsewood -n '__sparsewood_place 2 completion' -fa '%(shells)s'
complete -c sparsewood -n 'string match -q -- "-*" (commandline -ct)' -fa '(__sparsewood_options)'
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def main(args: list[str]) -> None:
    """Print the completion script of a shell."""
    if not args or args[0] in ("-h", "--help", "--help-all"):
        print(
            f"usage: sparsewood completion {'|'.join(SCRIPTS)}\n\n"
            "Print a script that completes commands, sources and options in a shell.\n\n"
            "Example: sparsewood completion bash > ~/.sparsewood.bash; source ~/.sparsewood.bash"
        )
        return
    if args[0] not in SCRIPTS:
        raise ValueError(unknown("shell", args[0], SCRIPTS))
    if len(args) > 1:
        raise ValueError(f"completion: expected one shell, got {' '.join(args)!r}")
    print(script(args[0]), end="")


def script(shell: str) -> str:
    """The completion script of a shell."""
    by_fish = [
        f"complete -c sparsewood -n __fish_use_subcommand -fa {name} -d '{_plain(text)}'"
        for name, text in (*COMMANDS.items(), ("help", "describe a command"))
    ]
    return SCRIPTS[shell] % {
        "commands": " ".join([*COMMANDS, "help"]),
        "shells": " ".join(SCRIPTS),
        "with_source": " | ".join(_WITH_SOURCE),
        "with_source_words": " ".join(_WITH_SOURCE),
        "fish_commands": "\n".join(by_fish),
    }


def _plain(text: str) -> str:
    return text.replace("'", "\\'")
