import { nearestName } from '../../plugin/config/nearest.ts'
import type { Command, CommandOption, CommandPage, CommandRow, Completions } from '../command.ts'
import { command, EXIT, optionRows, WrongUse } from '../command.ts'

const SCRIPTS: ReadonlyMap<string, (pages: readonly CompletedPage[]) => string> = new Map([
  ['bash', bashScript],
  ['zsh', zshScript],
  ['fish', fishScript],
])
const SHELLS: readonly string[] = [...SCRIPTS.keys()]

export function completionOf(rows: readonly CommandRow[]): Command {
  return command({
    name: 'completion',
    operand: { placeholder: 'SHELL', offers: SHELLS },
    about: `Prints a completion script for your shell: commands, options, hosts, backend types and files. Add one of these lines to
the file beside it:

  ~/.bashrc                   source <(hookspan completion bash)
  ~/.zshrc, after compinit   source <(hookspan completion zsh)
  ~/.config/fish/config.fish  hookspan completion fish | source

It completes "hookspan", which must be on the PATH: npm install -g hookspan.`,
    options: {},
    async run({ operands: [shell, second] }, io) {
      if (shell === undefined) throw new WrongUse(`expected a shell: ${SHELLS.join(', ')}`)
      if (second !== undefined) throw new WrongUse(`expected one shell, got ${JSON.stringify(second)}, too`)
      const script = SCRIPTS.get(shell)
      if (script === undefined) {
        const meant = nearestName(shell, SHELLS)
        const advice = meant === undefined ? `; shells: ${SHELLS.join(', ')}` : `. Did you mean ${meant}?`
        throw new WrongUse(`unsupported shell ${JSON.stringify(shell.slice(0, 60))}${advice}`)
      }
      const pages = await Promise.all(rows.map(async ({ summary, load }) => ({ ...(await load()), summary })))
      const operand = { placeholder: 'COMMAND', offers: pages.map(({ name }) => name) }
      const help = { name: 'help', summary: 'print the help of a command', operand, options: {} }
      io.stdout.write(script([...pages, help]))
      return EXIT.ok
    },
  })
}

type CompletedPage = Pick<CommandPage, 'name' | 'operand' | 'options'> & Pick<CommandRow, 'summary'>

function spellings([name, { short }]: readonly [string, CommandOption]): string[] {
  return [`--${name}`, ...(short === undefined ? [] : [`-${short}`])]
}

/** Quotes for a shell: within single quotes only the quote itself is special. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** Supports bash 3.2, which macOS still has. */
function bashScript(pages: readonly CompletedPage[]): string {
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
${pages.map(bashCase).join('\n')}
  esac
}

complete -F _hookspan hookspan
`
}

function valueCases(page: CompletedPage): string[] {
  return optionRows(page).flatMap(option => {
    const [, { value, offers }] = option
    if (value === undefined) return []
    const patterns = spellings(option).map(spelling => quoted(`${page.name} ${spelling}`))
    return [`    ${patterns.join(' | ')}) ${offering(offers)}; return ;;`]
  })
}

function bashCase(page: CompletedPage): string {
  const options = optionRows(page).map(([name]) => `--${name}`)
  return `    ${page.name})
      if [[ $cur == -* ]]; then _hookspan_words ${quoted(options.join(' '))} "$cur"; else ${offering(page.operand?.offers)}; fi ;;`
}

function offering(offers: Completions | undefined): string {
  if (offers === undefined) return ':'
  return offers === 'files' ? '_hookspan_files "$cur"' : `_hookspan_words ${quoted(offers.join(' '))} "$cur"`
}

/** To be sourced after `compinit`, or installed as `_hookspan` in a folder of `fpath`. */
function zshScript(pages: readonly CompletedPage[]): string {
  const commands = pages.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`)
  return `#compdef hookspan
# Completions of hookspan for zsh, made by "hookspan completion zsh".

_hookspan() {
  local -a commands
  commands=(
${commands.join('\n')}
  )
  if ((CURRENT == 2)); then
    _describe -t commands command commands
    _arguments '(- *)'{-h,--help}'[list the commands]' '(- *)'{-v,--version}'[print the version]'
    return
  fi
  shift words
  ((CURRENT -= 1))
  case $words[1] in
${pages.map(zshCase).join('\n')}
  esac
}

if [[ $funcstack[1] == _hookspan ]]; then _hookspan "$@"; else compdef _hookspan hookspan; fi
`
}

function zshCase(page: CompletedPage): string {
  const specs = optionRows(page).flatMap(optionSpecs)
  if (page.operand !== undefined) {
    const { placeholder, offers } = page.operand
    specs.push(quoted(`${placeholder.includes('…') ? '*' : '1'}${valueSpec(placeholder, offers)}`))
  }
  return `    ${page.name})
      _arguments -s \\
        ${specs.join(' \\\n        ')} ;;`
}

/** One spec per spelling. The spellings exclude each other, unless the option is repeatable. */
function optionSpecs([name, { short, value, many, help, offers }]: readonly [string, CommandOption]): string[] {
  const said = `[${help.replace(/[[\]\\]/g, '\\$&')}]`
  const taken = value === undefined ? '' : valueSpec(value, offers)
  const both = short === undefined ? `--${name}` : `-${short} --${name}`
  const before = many === true ? '*' : `(${both})`
  const long = quoted(`${before}--${name}${value === undefined ? '' : '='}${said}${taken}`)
  if (short === undefined) return [long]
  return [quoted(`${before}-${short}${value === undefined ? '' : '+'}${said}${taken}`), long]
}

function valueSpec(placeholder: string, offers: Completions | undefined): string {
  const action = offers === 'files' ? '_files' : `(${offers?.join(' ')})`
  return `:${placeholder.replaceAll(':', '\\:')}:${offers === undefined ? ' ' : action}`
}

/** To be sourced, or installed as `hookspan.fish` in the `completions` folder of fish. */
function fishScript(pages: readonly CompletedPage[]): string {
  return `# Completions of hookspan for fish, made by "hookspan completion fish".

complete -c hookspan -f
complete -c hookspan -n __fish_use_subcommand -s h -l help -d 'list the commands'
complete -c hookspan -n __fish_use_subcommand -s v -l version -d 'print the version'
${pages.flatMap(commandLines).join('\n')}
`
}

function commandLines(page: CompletedPage): string[] {
  const { name, summary, operand } = page
  const after = `complete -c hookspan -n '__fish_seen_subcommand_from ${name}'`
  return [
    `complete -c hookspan -n __fish_use_subcommand -a ${name} -d ${fishQuoted(summary)}`,
    ...optionRows(page).map(option => `${after} ${optionWords(option)}`),
    ...(operand === undefined ? [] : [`${after} ${offeredWords(operand.offers)}`]),
  ]
}

function optionWords([name, { short, value, help, offers }]: readonly [string, CommandOption]): string {
  const spelled = `${short === undefined ? '' : `-s ${short} `}-l ${name}`
  const offered = offers === undefined ? '-x' : `${offers === 'files' ? '-r' : '-x'} ${offeredWords(offers)}`
  return `${spelled}${value === undefined ? '' : ` ${offered}`} -d ${fishQuoted(help)}`
}

function offeredWords(offers: Completions): string {
  return offers === 'files' ? '-F' : `-a ${fishQuoted(offers.join(' '))}`
}

/** Inside single quotes, fish supports a backslash before a quote and before another backslash. */
function fishQuoted(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`
}
