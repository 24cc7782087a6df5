import { nearestName } from '../plugin/config/nearest.ts'
import { PACKAGE_VERSION } from '../plugin/package-facts.ts'
import { type CommandIo, type CommandRow, EXIT, type Output, reportFailure, shellWord } from './command.ts'
import { COMMANDS } from './commands.ts'

/** Runs the command named by the arguments. Resolves to the exit code, never rejects. */
export async function dispatch(
  args: readonly string[],
  io: CommandIo,
  rows: readonly CommandRow[] = COMMANDS,
): Promise<number> {
  const [name, ...rest] = args
  if (name === '--version' || name === '-v' || name === '-V') {
    io.stdout.write(`${PACKAGE_VERSION}\n`)
    return EXIT.ok
  }
  if (name === undefined) return printHelp(io.stderr, rows, EXIT.wrongUse)
  if (isHelp(name)) return help(rest, io, rows)
  const row = rows.find(each => each.name === name)
  if (row === undefined) {
    const what = name.startsWith('-') ? 'option' : 'command'
    io.stderr.write(`hookspan: unknown ${what} ${JSON.stringify(name.slice(0, 60))}. ${adviceFor(name, rest, rows)}\n`)
    return EXIT.wrongUse
  }
  try {
    return await (await row.load()).run(rest, io)
  } catch (error) {
    return reportFailure(row, error, io)
  }
}

function isHelp(word: string): boolean {
  return word === 'help' || word === '--help' || word === '-h'
}

function help(rest: readonly string[], io: CommandIo, rows: readonly CommandRow[]): Promise<number> | number {
  const [name] = rest.filter(word => !isHelp(word))
  return name === undefined ? printHelp(io.stdout, rows, EXIT.ok) : dispatch([name, '--help'], io, rows)
}

function printHelp(output: Output, rows: readonly CommandRow[], code: number): number {
  const width = Math.max(...rows.map(row => row.name.length), '-v, --version'.length)
  const line = (name: string, what: string): string => `  ${name.padEnd(width)}  ${what}`
  const lines = [
    'hookspan: OpenTelemetry traces from the hooks of AI agents',
    '',
    'Usage: hookspan COMMAND [OPTIONS]',
    '',
    ...rows.map(row => line(row.name, row.summary)),
    '',
    line('-h, --help', 'this help; hookspan COMMAND --help describes one command'),
    line('-v, --version', 'print the version'),
    '',
    'Exit codes: 0 success, 1 failure, 2 wrong use, 130 interrupted by Ctrl-C before',
    'the work was done.',
  ]
  output.write(`${lines.join('\n')}\n`)
  return code
}

const OWN_OPTIONS = ['--help', '--version']

function adviceFor(name: string, rest: readonly string[], rows: readonly CommandRow[]): string {
  const isOption = name.startsWith('-')
  const names = rows.map(row => row.name)
  // First: `--session` before a command resembles `--version`.
  const command = isOption ? rest.find(word => names.includes(word)) : undefined
  if (command !== undefined) {
    const words = [command, name, ...rest.filter(word => word !== command)]
    return `Options come after the command: hookspan ${words.map(shellWord).join(' ')}`
  }
  const meant = nearestName(name, isOption ? OWN_OPTIONS : [...names, 'help', ...OWN_OPTIONS])
  if (meant !== undefined) return `Did you mean "hookspan ${meant}"?`
  return `${isOption ? 'Options come after a command' : 'Commands'}: ${names.join(', ')}`
}
