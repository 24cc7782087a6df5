import type { Offers, OptionRow } from '../options.ts'
import { type CompletedPage, optionsOf, quoted } from './completion-page.ts'

/** To be sourced after `compinit`, or as the file `_hookspan` in a folder of `fpath`. */
export function zshScript(pages: readonly CompletedPage[]): string {
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
    _arguments '(- *)'{-h,--help}'[list the commands]' '(- *)'{-v,--version}'[say which hookspan this is]'
    return
  fi
  shift words
  ((CURRENT -= 1))
  case $words[1] in
${pages.map(commandCase).join('\n')}
  esac
}

if [[ $funcstack[1] == _hookspan ]]; then _hookspan "$@"; else compdef _hookspan hookspan; fi
`
}

function commandCase(page: CompletedPage): string {
  const specs = optionsOf(page).flatMap(optionSpecs)
  const { operand } = page
  if (operand !== undefined)
    specs.push(
      quoted(
        `${operand.placeholder.includes('…') ? '*' : '1'}:${message(operand.placeholder)}:${action(operand.offers)}`,
      ),
    )
  return `    ${page.name})
      _arguments -s \\
        ${specs.join(' \\\n        ')} ;;`
}

/** One for each spelling; of two, the one excludes the other, unless it may be given again. */
function optionSpecs([name, { short, value, many, help, offers }]: readonly [string, OptionRow]): string[] {
  const said = `[${help.replace(/[[\]\\]/g, '\\$&')}]`
  const taken = value === undefined ? '' : `:${message(value)}:${action(offers)}`
  const both = short === undefined ? `--${name}` : `-${short} --${name}`
  const before = many === true ? '*' : `(${both})`
  const long = quoted(`${before}--${name}${value === undefined ? '' : '='}${said}${taken}`)
  if (short === undefined) return [long]
  return [quoted(`${before}-${short}${value === undefined ? '' : '+'}${said}${taken}`), long]
}

function message(placeholder: string): string {
  return placeholder.replaceAll(':', '\\:')
}

function action(offers: Offers | undefined): string {
  if (offers === undefined) return ' '
  return offers === 'files' ? '_files' : `(${offers.join(' ')})`
}
