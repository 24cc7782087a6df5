import type { CommandPage, CommandRow } from '../command.ts'
import type { Offers, OptionRow } from '../options.ts'

/** A command as the shells know it. */
export type CompletedPage = Pick<CommandPage, 'name' | 'operand' | 'options'> & Pick<CommandRow, 'summary'>

/** Options of a command, with the one that all have. */
export function optionsOf({ options }: CompletedPage): readonly (readonly [string, OptionRow])[] {
  return [...Object.entries<OptionRow>(options), ['help', { short: 'h', help: 'say how it is used' }]]
}

/** As it is typed: `--last`, and `-n` where it has a letter. */
export function spellings([name, { short }]: readonly [string, OptionRow]): string[] {
  return [`--${name}`, ...(short === undefined ? [] : [`-${short}`])]
}

/** The command that lists the others, as a page. */
export function helpPage(pages: readonly CompletedPage[]): CompletedPage {
  const offers: Offers = pages.map(({ name }) => name)
  return {
    name: 'help',
    summary: 'say how a command is used',
    operand: { placeholder: 'COMMAND', offers },
    options: {},
  }
}

/** For a shell: within single quotes nothing is special but the quote itself. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
