import { describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import type { Command, CommandRow } from '../../src/cli/command.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { dispatch } from '../../src/cli/dispatch.ts'
import { fakeIo } from './fake-io.ts'

const echo: Command = {
  name: 'echo',
  operand: { placeholder: 'WORD…', offers: [] },
  about: 'Says it.',
  options: {},
  async run(args, io) {
    if (args[0] === 'boom') throw new Error('it\nbroke')
    io.stdout.write(args.join(' '))
    return args.length === 0 ? 1 : 0
  },
}
const ROWS: readonly CommandRow[] = [
  { name: 'echo', summary: 'say it again', load: async () => echo },
  { name: 'replay', summary: 'play', load: () => Promise.reject(new Error('not loaded')) },
]

async function hookspan(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const io = fakeIo()
  return { code: await dispatch(args, io, ROWS), ...io.written }
}

describe('hookspan', () => {
  test('runs a command and passes its exit code on', async () => {
    expect(await hookspan('echo', 'a', '--version')).toEqual({ code: 0, stdout: 'a --version', stderr: '' })
    expect(await hookspan('echo')).toEqual({ code: 1, stdout: '', stderr: '' })
  })

  test('lists its commands', async () => {
    const { code, stdout } = await hookspan('--help')
    expect(code).toBe(0)
    expect(stdout).toContain('  echo           say it again\n  replay         play\n')
  })

  test('is wrong usage without a command', async () => {
    const { code, stdout, stderr } = await hookspan()
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('Usage: hookspan COMMAND')
  })

  test.each(['--version', '-v', '-V'])('prints its version for %s', async option => {
    expect(await hookspan(option)).toEqual({ code: 0, stdout: `${packageJson.version}\n`, stderr: '' })
  })

  test('asks a command for its help', async () => {
    for (const words of [
      ['help', 'echo'],
      ['--help', 'echo'],
      ['-h', 'echo', 'more'],
      ['help', '--help', 'echo'],
    ]) {
      expect(await hookspan(...words)).toEqual({ code: 0, stdout: '--help', stderr: '' })
    }
  })

  test.each([[['help']], [['-h']], [['help', 'help']], [['help', '--help']]])(
    'prints its own help for %j',
    async words => {
      const { code, stdout } = await hookspan(...words)
      expect(code).toBe(0)
      expect(stdout).toMatch(/^hookspan: OpenTelemetry traces/)
    },
  )

  test.each([
    [['ecko'], 'unknown command "ecko". Did you mean "hookspan echo"?'],
    [['replya'], 'unknown command "replya". Did you mean "hookspan replay"?'],
    [['zzzzzz'], 'unknown command "zzzzzz". Commands: echo, replay'],
    [['help', 'ecko'], 'unknown command "ecko". Did you mean "hookspan echo"?'],
    [['hepl'], 'unknown command "hepl". Did you mean "hookspan help"?'],
    [['version'], 'unknown command "version". Did you mean "hookspan --version"?'],
    [['--bogus'], 'unknown option "--bogus". Options come after a command: echo, replay'],
    [['--verison'], 'unknown option "--verison". Did you mean "hookspan --version"?'],
    [['--json', 'echo'], 'unknown option "--json". Options come after the command: hookspan echo --json'],
    [
      ['--session', '3', 'echo'],
      'unknown option "--session". Options come after the command: hookspan echo --session 3',
    ],
  ])('does not know %j', async (args, message) => {
    expect(await hookspan(...args)).toEqual({ code: 2, stdout: '', stderr: `hookspan: ${message}\n` })
  })

  test('reports an error in one line', async () => {
    expect(await hookspan('echo', 'boom')).toEqual({ code: 1, stdout: '', stderr: 'hookspan echo: it broke\n' })
    expect(await hookspan('replay')).toEqual({ code: 1, stdout: '', stderr: 'hookspan replay: not loaded\n' })
  })
})

describe('wrong usage', () => {
  const hint = 'Usage: hookspan demo [OPTIONS]; see --help\n'

  test.each([
    [['--zzzzz'], `hookspan demo: unknown option --zzzzz\n${hint}`],
    [['x'], `hookspan demo: expected no argument, got "x"\n${hint}`],
    [['--bakend', 'jaeger'], 'hookspan demo: unknown option --bakend. Did you mean --backend?\n'],
    [['backend'], 'hookspan demo: expected no argument, got "backend". Did you mean --backend?\n'],
    [['--backend', 'jeager'], 'hookspan demo: --backend does not know the type "jeager"; did you mean jaeger?\n'],
  ])('is reported in one line for %j if the intended word is clear, else in two', async (args, message) => {
    const io = fakeIo()
    expect(await dispatch(['demo', ...args], io)).toBe(2)
    expect(io.written).toEqual({ stdout: '', stderr: message })
  })
})

describe('the table of commands', () => {
  test.each(COMMANDS.map(row => [row.name, row] as const))('agrees with the command %s', async (name, row) => {
    expect((await row.load()).name).toBe(name)
  })
})
