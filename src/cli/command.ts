import type { Readable } from 'node:stream'
import { parseArgs } from 'node:util'
import { fileErrorReason } from '../delivery/trace-log/private-file.ts'
import { nearestName } from '../plugin/config/nearest.ts'

export type Completions = 'files' | readonly string[]

export interface CommandOption {
  readonly help: string
  readonly short?: string
  /** The placeholder in the help, for example `N`. Without it the option is a flag. */
  readonly value?: string
  readonly default?: string
  readonly many?: true
  readonly offers?: Completions
  /** Names in other tools. Not accepted, but suggested. */
  readonly aka?: readonly string[]
}

export type OptionTable = Readonly<Record<string, CommandOption>>

export interface CommandPage<Options extends OptionTable = OptionTable> {
  readonly name: string
  /** `placeholder` is the form in the usage: `FILE…`, `[FILE]`, `HOST`. */
  readonly operand?: { readonly placeholder: string; readonly offers: Completions }
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

type OptionToken = Extract<NonNullable<ReturnType<typeof parseArgs>['tokens']>[number], { kind: 'option' }>

/**
 * Parses arguments by a table of options. Uses messages of our own: those of `parseArgs` differ between Node versions and
 * suggest nothing. @throws WrongUse for an unknown option, a missing or a superfluous value
 */
export function readOptions<Options extends OptionTable>(
  args: readonly string[],
  table: Options,
): CommandArguments<Options> {
  const values: Record<string, boolean | string | readonly string[] | undefined> = {}
  const options: Record<string, { type: 'boolean' | 'string'; short?: string }> = {}
  for (const [name, { short, value, many, default: fallback }] of Object.entries<CommandOption>(table)) {
    values[name] = value === undefined ? false : many === true ? [] : fallback
    options[name] = { type: value === undefined ? 'boolean' : 'string', ...(short !== undefined && { short }) }
  }
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true })
  const operands: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') operands.push(token.value)
    if (token.kind !== 'option') continue
    const row = Object.hasOwn(table, token.name) ? table[token.name] : undefined
    if (row === undefined) throw new WrongUse(unknownOption(token, args, table))
    const value = valueIn(token, row)
    values[token.name] = row.many === true ? [...(values[token.name] as string[]), value as string] : value
  }
  return { values: values as CommandArguments<Options>['values'], operands }
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
  if (meant === undefined) return `unknown option ${shellWord(rawName)}`
  return `unknown option ${shellWord(written)}. Did you mean ${meant}?`
}

function meantBy(written: string, table: OptionTable): string | undefined {
  if (/^-(v|V|-version)$/.test(written)) return 'hookspan --version'
  const count = /^-(\d+)$/.exec(written)?.[1]
  if (count !== undefined) return Object.values(table).some(({ short }) => short === 'n') ? `-n ${count}` : undefined
  const name = written.replace(/^-+/, '')
  const alias = Object.entries(table).find(([, { aka }]) => aka?.includes(name))?.[0]
  const meant = alias ?? nearestName(name, [...Object.keys(table), 'help'])
  return meant && `--${meant}`
}

export function shellWord(text: string): string {
  return /^[\w-]{1,60}$/.test(text) ? text : JSON.stringify(text.slice(0, 60))
}

/** Quotes a word for a POSIX shell, if it needs quotes. */
export function shellQuoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** The minimum width of terminals. */
const COLUMNS = 80

export function optionRows({ options }: Pick<CommandPage, 'options'>): readonly (readonly [string, CommandOption])[] {
  return [...Object.entries<CommandOption>(options), ['help', { short: 'h', help: 'print this help' }]]
}

export function helpText(command: CommandPage): string {
  const parts = [usageLine(command), paragraphs(command.about), optionList(command), paragraphs(command.closing ?? '')]
  return `${parts.filter(part => part !== '').join('\n\n')}\n`
}

function usageLine({ name, operand }: Pick<CommandPage, 'name' | 'operand'>): string {
  return `Usage: hookspan ${name} ${operand === undefined ? '' : `${operand.placeholder} `}[OPTIONS]`
}

function paragraphs(text: string): string {
  const parts = text.split(/\n{2,}/)
  return parts.map(part => (part.startsWith(' ') ? part : wrapped(part, COLUMNS).join('\n'))).join('\n\n')
}

function optionList(page: CommandPage): string {
  const rows = optionRows(page)
  const width = Math.max(...rows.map(row => spelling(row).length))
  const lines = rows.flatMap(row => {
    const { help, default: fallback, many } = row[1]
    const more = many === true ? '; may be given more than once' : ''
    const text = `${help}${fallback === undefined ? '' : ` (default ${fallback})`}${more}`
    const [first = '', ...rest] = wrapped(text, COLUMNS - width - 4)
    return [`  ${spelling(row).padEnd(width)}  ${first}`, ...rest.map(line => ' '.repeat(width + 4) + line)]
  })
  return lines.join('\n')
}

function spelling([name, { short, value }]: readonly [string, CommandOption]): string {
  const both = `${short === undefined ? '    ' : `-${short}, `}--${name}`
  return value === undefined ? both : `${both} ${value}`
}

export function wrapped(text: string, width: number): string[] {
  const lines = ['']
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1) ?? ''
    if (line === '') lines[lines.length - 1] = word
    else if (line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}

/** An output of a command. Writing to a closed pipe is ignored. */
export interface Output {
  write(text: string): void
  readonly isTTY: boolean
  /** Width of the terminal in cells; undefined without a terminal. */
  readonly columns: number | undefined
  readonly rows?: number | undefined
}

export interface CommandIo {
  readonly stdout: Output
  readonly stderr: Output
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?(isRaw: boolean): unknown }
  readonly env: Readonly<Record<string, string | undefined>>
  /** The user's home directory, absolute. Empty if there is none. */
  readonly home: string
  now(): number
  /** Resolves at the first SIGINT or SIGTERM, which after the first call does not end the process. A second one does. */
  interrupted(): Promise<StopSignal>
  hungUp(): Promise<void>
}

export type StopSignal = 'SIGINT' | 'SIGTERM'

export interface Command extends CommandPage {
  /** Resolves to the exit code: 0 ok, 1 failed, 2 wrong use. Writes its own messages. */
  run(args: string[], io: CommandIo): Promise<number>
}

export interface CommandRow {
  readonly name: string
  readonly summary: string
  load(): Promise<Command>
}

/** Ends a command that the user has interrupted. It has already reported that. */
export class Interrupted extends Error {
  readonly exitCode: number

  constructor(exitCode: number) {
    super('interrupted')
    this.exitCode = exitCode
  }
}

export const EXIT = { ok: 0, failed: 1, wrongUse: 2 } as const

/** Shared by all commands: options by table, `--help`, one line and a hint for wrong use, and one line for other errors. */
export function command<const Options extends OptionTable>({
  run: body,
  ...page
}: CommandPage<Options> & {
  run(given: CommandArguments<Options>, io: CommandIo): Promise<number> | number
}): Command {
  const run: Command['run'] = async (args, io) => {
    const end = args.indexOf('--')
    if ((end === -1 ? args : args.slice(0, end)).some(arg => arg === '--help' || arg === '-h')) {
      io.stdout.write(helpText(page))
      return EXIT.ok
    }
    try {
      const given = readOptions(args, page.options)
      const [first] = given.operands
      if (page.operand === undefined && first !== undefined) {
        const meant = Object.hasOwn(page.options, first) ? `. Did you mean --${first}?` : ''
        throw new WrongUse(`expected no argument, got ${JSON.stringify(first.slice(0, 60))}${meant}`)
      }
      return await body(given, io)
    } catch (error) {
      if (error instanceof Interrupted) return error.exitCode
      if (!(error instanceof WrongUse)) return reportFailure(page, error, io)
      io.stderr.write(`hookspan ${page.name}: ${error.message}\n`)
      // A suggestion makes the usage hint unnecessary.
      if (!/did you mean/i.test(error.message)) io.stderr.write(`${usageLine(page)}; see --help\n`)
      return EXIT.wrongUse
    }
  }
  return { ...page, run }
}

export function inOneLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\s+/g, ' ')
}

export function reportFailure(command: { readonly name: string }, error: unknown, io: CommandIo): number {
  io.stderr.write(`hookspan ${command.name}: ${inOneLine(error)}\n`)
  if (io.env['HOOKSPAN_DEBUG'] === '1' && error instanceof Error) io.stderr.write(`${error.stack}\n`)
  return EXIT.failed
}

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or directory',
  EDQUOT: 'the quota is used up',
}

export function whyNot(error: unknown): string {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  const name = typeof code === 'string' ? code : String(message ?? error)
  return WORDS[name] ?? fileErrorReason({ code: name, message: name })
}
