import type { Offers } from '../options.ts'
import { type CompletedPage, optionsOf, quoted, spellings } from './completion-page.ts'

/** For bash from 3.2 on, which macOS still has. */
export function bashScript(pages: readonly CompletedPage[]): string {
  const first = [...pages.map(({ name }) => name), '--help', '--version']
  return `# Completions of hookspan for bash, made by "hookspan completion bash".

_hookspan_words() {
  local IFS=$' \\t\\n'
  COMPREPLY=($(compgen -W "$1" -- "$2"))
}

_hookspan_files() {
  # With an empty reply readline completes paths itself, and knows how to quote them.
  compopt -o default 2>/dev/null && return
  local IFS=$'\\n'
  COMPREPLY=($(compgen -f -- "$1"))
}

_hookspan() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]}
  # bash takes "--option=value" for three words.
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    _hookspan_words ${quoted(first.join(' '))} "$cur"
    return
  fi
  case "\${COMP_WORDS[1]} $prev" in
${pages.flatMap(valueCases).join('\n')}
  esac
  case \${COMP_WORDS[1]} in
${pages.map(commandCase).join('\n')}
  esac
}

complete -F _hookspan hookspan
`
}

function valueCases(page: CompletedPage): string[] {
  return optionsOf(page).flatMap(option => {
    const [, { value, offers }] = option
    if (value === undefined) return []
    const patterns = spellings(option).map(spelling => quoted(`${page.name} ${spelling}`))
    return [`    ${patterns.join(' | ')}) ${offering(offers)}; return ;;`]
  })
}

function commandCase(page: CompletedPage): string {
  const options = optionsOf(page).map(([name]) => `--${name}`)
  return `    ${page.name})
      if [[ $cur == -* ]]; then _hookspan_words ${quoted(options.join(' '))} "$cur"; else ${offering(page.operand?.offers)}; fi ;;`
}

function offering(offers: Offers | undefined): string {
  if (offers === undefined) return ':'
  return offers === 'files' ? '_hookspan_files "$cur"' : `_hookspan_words ${quoted(offers.join(' '))} "$cur"`
}
