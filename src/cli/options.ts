import { parseArgs } from 'node:util'
import { nearestName } from '../plugin/config/nearest.ts'

export type Completions = 'files' | readonly string[]

/** An option of a command. The parser, `--help` and the shell completions use it. */
export interface CommandOption {
  readonly help: string
  readonly short?: string
  /** The placeholder in the help, for example `N`. Without it the option is a flag. */
  readonly value?: string
  readonly default?: string
  /** Repeatable; each value counts. */
  readonly many?: true
  readonly offers?: Completions
  /** Names in other tools. Not accepted, but suggested. */
  readonly aka?: readonly string[]
}

export type OptionTable = Readonly<Record<string, CommandOption>>

interface Operand {
  /** The form in the usage: `FILE…`, `[FILE]`, `HOST`. */
  readonly placeholder: string
  readonly offers: Completions
}

export interface CommandPage<Options extends OptionTable = OptionTable> {
  readonly name: string
  readonly operand?: Operand
  /** Paragraphs for `--help`, which wraps them. A paragraph that starts with a space is a list and is kept as it is. */
  readonly about: string
  readonly options: Options
  readonly closing?: string
}

type ValueOf<Row> = Row extends { readonly value: string }
  ? Row extends { readonly many: true }
    ? readonly string[]
    : Row extends { readonly default: string }
      ? string
      : string | undefined
  : boolean

export interface CommandArguments<Options extends OptionTable> {
  readonly values: { readonly [Name in keyof Options]: ValueOf<Options[Name]> }
  readonly operands: readonly string[]
}

export class WrongUse extends Error {
  override readonly name = 'WrongUse'
}

type Token = NonNullable<ReturnType<typeof parseArgs>['tokens']>[number]
type OptionToken = Extract<Token, { kind: 'option' }>

/**
 * Parses arguments by a table of options. Uses messages of our own: those of `parseArgs` differ between Node versions and
 * suggest nothing.
 *
 * @throws WrongUse for an unknown option, a missing or a superfluous value
 */
export function readOptions<Options extends OptionTable>(
  args: readonly string[],
  table: Options,
): CommandArguments<Options> {
  const values: Record<string, boolean | string | readonly string[] | undefined> = {}
  for (const [name, row] of Object.entries(table)) values[name] = unset(row)
  const operands: string[] = []
  for (const token of tokensOf(args, table)) {
    if (token.kind === 'positional') operands.push(token.value)
    if (token.kind !== 'option') continue
    const row = Object.hasOwn(table, token.name) ? table[token.name] : undefined
    if (row === undefined) throw new WrongUse(unknownOption(token, args, table))
    const value = valueIn(token, row)
    values[token.name] = row.many === true ? [...(values[token.name] as string[]), value as string] : value
  }
  return { values: values as CommandArguments<Options>['values'], operands }
}

function unset({ value, many, default: fallback }: CommandOption): boolean | string | readonly string[] | undefined {
  if (value === undefined) return false
  return many === true ? [] : fallback
}

function tokensOf(args: readonly string[], table: OptionTable): readonly Token[] {
  const options = Object.fromEntries(
    Object.entries(table).map(([name, { short, value }]) => [
      name,
      { type: value === undefined ? ('boolean' as const) : ('string' as const), ...(short !== undefined && { short }) },
    ]),
  )
  return parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true }).tokens
}

function valueIn({ rawName, value, inlineValue }: OptionToken, row: CommandOption): string | true {
  if (row.value === undefined) {
    if (value !== undefined) throw new WrongUse(`${rawName} takes no value`)
    return true
  }
  // An option in place of the value means that the value was forgotten. A single dash is standard input.
  const isMissing = value === undefined || (inlineValue !== true && /^-./.test(value))
  if (isMissing) throw new WrongUse(`${rawName} takes a value: ${rawName} ${row.value}`)
  return value
}

function unknownOption({ rawName, index }: OptionToken, args: readonly string[], table: OptionTable): string {
  const written = (args[index] ?? '').replace(/=.*$/s, '')
  const meant = meantBy(written, table)
  return meant === undefined
    ? `unknown option ${shellWord(rawName)}`
    : `unknown option ${shellWord(written)}. Did you mean ${meant}?`
}

function meantBy(written: string, table: OptionTable): string | undefined {
  if (/^-(v|V|-version)$/.test(written)) return 'hookspan --version'
  const count = /^-(\d+)$/.exec(written)?.[1]
  if (count !== undefined) return Object.values(table).some(({ short }) => short === 'n') ? `-n ${count}` : undefined
  return nearestOption(written, table)
}

function nearestOption(written: string, table: OptionTable): string | undefined {
  const name = written.replace(/^-+/, '')
  const alias = Object.entries(table).find(([, { aka }]) => aka?.includes(name))?.[0]
  const meant = alias ?? nearestName(name, [...Object.keys(table), 'help'])
  return meant && `--${meant}`
}

/** Escapes user input for a line on a terminal. */
export function shellWord(text: string): string {
  return /^[\w-]{1,60}$/.test(text) ? text : JSON.stringify(text.slice(0, 60))
}
