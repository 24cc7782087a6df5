import type { Offers, OptionRow } from '../options.ts'
import { type CompletedPage, optionsOf } from './completion-page.ts'

/** To be sourced, or as `hookspan.fish` in the folder `completions` of fish. */
export function fishScript(pages: readonly CompletedPage[]): string {
  return `# Completions of hookspan for fish, made by "hookspan completion fish".

complete -c hookspan -f
complete -c hookspan -n __fish_use_subcommand -s h -l help -d 'list the commands'
complete -c hookspan -n __fish_use_subcommand -s v -l version -d 'say which hookspan this is'
${pages.flatMap(commandLines).join('\n')}
`
}

function commandLines(page: CompletedPage): string[] {
  const { name, summary, operand } = page
  const after = `complete -c hookspan -n '__fish_seen_subcommand_from ${name}'`
  return [
    `complete -c hookspan -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
    ...optionsOf(page).map(option => `${after} ${optionWords(option)}`),
    ...(operand === undefined ? [] : [`${after} ${operandWords(operand.offers)}`]),
  ]
}

function optionWords([name, { short, value, help, offers }]: readonly [string, OptionRow]): string {
  const spelled = `${short === undefined ? '' : `-s ${short} `}-l ${name}`
  return `${spelled}${value === undefined ? '' : ` ${valueWords(offers)}`} -d ${quoted(help)}`
}

function valueWords(offers: Offers | undefined): string {
  if (offers === undefined) return '-x'
  return offers === 'files' ? '-r -F' : `-x -a ${quoted(offers.join(' '))}`
}

function operandWords(offers: Offers): string {
  return offers === 'files' ? '-F' : `-a ${quoted(offers.join(' '))}`
}

/** In its single quotes, fish knows a backslash before a quote and before another one. */
function quoted(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`
}
