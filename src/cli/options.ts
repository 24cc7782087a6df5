import { parseArgs } from 'node:util'
import { nearestName } from '../config/nearest.ts'

/** What a shell offers for a value or an argument: paths, or one of these words. */
export type Offers = 'files' | readonly string[]

/** An option of a command. Parsing, `--help` and the completions of the shells all read it here. */
export interface OptionRow {
  /** What `--help` says, in a few words; what it defaults to and that it may be repeated are said without it. */
  readonly help: string
  /** One letter. */
  readonly short?: string
  /** What stands for the value in the help, for example `N`. Without it the option is a flag. */
  readonly value?: string
  readonly default?: string
  /** May be given more than once; each value counts. */
  readonly many?: true
  readonly offers?: Offers
  /** What other tools call it: not taken, but known to be meant. */
  readonly aka?: readonly string[]
}

/** The options of a command by their long names, in the order of its help. */
export type OptionTable = Readonly<Record<string, OptionRow>>

/** What a command takes besides its options. */
export interface Operand {
  /** As in the usage: `FILE…`, `[FILE]`, `HOST`. */
  readonly placeholder: string
  readonly offers: Offers
}

/** All that there is to say of a command: its help, its options, and what a shell completes. */
export interface CommandPage<Options extends OptionTable = OptionTable> {
  readonly name: string
  /** Without it the command takes options only. */
  readonly operand?: Operand
  /** What it does, as paragraphs for `--help`, which wraps them; one that begins with a space is a list, and stays as it is. */
  readonly about: string
  readonly options: Options
  /** What `--help` says last, as `about`. */
  readonly closing?: string
}

type ValueOf<Row> = Row extends { readonly value: string }
  ? Row extends { readonly many: true }
    ? readonly string[]
    : Row extends { readonly default: string }
      ? string
      : string | undefined
  : boolean

/** What was given on the command line: flags as booleans, values as text, repeated ones as lists. */
export interface Given<Options extends OptionTable> {
  readonly values: { readonly [Name in keyof Options]: ValueOf<Options[Name]> }
  /** What is no option; all that stands behind `--` is none. */
  readonly operands: readonly string[]
}

/** The command was called in a way that it does not know; the message says what was wrong. */
export class WrongUse extends Error {
  override readonly name = 'WrongUse'
}

type Token = NonNullable<ReturnType<typeof parseArgs>['tokens']>[number]
type OptionToken = Extract<Token, { kind: 'option' }>

/**
 * Reads arguments by a table of options. The messages are ours: those of `parseArgs` differ between versions of Node, and
 * none knows what was meant.
 *
 * @throws WrongUse for an unknown option, a value that is missing, or one too many
 */
export function readOptions<Options extends OptionTable>(args: readonly string[], table: Options): Given<Options> {
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
  return { values: values as Given<Options>['values'], operands }
}

function unset({ value, many, default: fallback }: OptionRow): boolean | string | readonly string[] | undefined {
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

function valueIn({ rawName, value, inlineValue }: OptionToken, row: OptionRow): string | true {
  if (row.value === undefined) {
    if (value !== undefined) throw new WrongUse(`${rawName} takes no value`)
    return true
  }
  // An option in its place: the value was forgotten. A dash alone is standard input.
  const isMissing = value === undefined || (inlineValue !== true && /^-./.test(value))
  if (isMissing) throw new WrongUse(`${rawName} takes a value: ${rawName} ${row.value}`)
  return value
}

function unknownOption({ rawName, index }: OptionToken, args: readonly string[], table: OptionTable): string {
  const written = (args[index] ?? '').replace(/=.*$/s, '')
  const meant = meantBy(written, table)
  return meant === undefined
    ? `unknown option ${shown(rawName)}`
    : `unknown option ${shown(written)}. Did you mean ${meant}?`
}

function meantBy(written: string, table: OptionTable): string | undefined {
  if (/^-(v|V|-version)$/.test(written)) return 'hookspan --version'
  const count = /^-(\d+)$/.exec(written)?.[1]
  if (count !== undefined) return Object.values(table).some(({ short }) => short === 'n') ? `-n ${count}` : undefined
  return nearestOption(written, table)
}

/** The long option that was probably meant, with its dashes. */
function nearestOption(written: string, table: OptionTable): string | undefined {
  const name = written.replace(/^-+/, '')
  const alias = Object.entries(table).find(([, { aka }]) => aka?.includes(name))?.[0]
  const meant = alias ?? nearestName(name, [...Object.keys(table), 'help'])
  return meant && `--${meant}`
}

/** What somebody typed, fit for a line on a terminal. */
export function shown(text: string): string {
  return /^[\w-]{1,60}$/.test(text) ? text : JSON.stringify(text.slice(0, 60))
}
