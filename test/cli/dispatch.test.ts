import { describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import type { Command } from '../../src/cli/command.ts'
import { COMMANDS, type CommandRow } from '../../src/cli/commands.ts'
import { dispatch } from '../../src/cli/dispatch.ts'
import { fakeIo } from './fake-io.ts'

const echo: Command = {
  name: 'echo',
  summary: 'say it again',
  usage: 'Usage: hookspan echo WORD…',
  async run(args, io) {
    if (args[0] === 'boom') throw new Error('it\nbroke')
    io.stdout.write(args.join(' '))
    return args.length === 0 ? 1 : 0
  },
}
const ROWS: readonly CommandRow[] = [
  { name: 'echo', summary: echo.summary, load: async () => echo },
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

  test('tells its commands', async () => {
    const { code, stdout } = await hookspan('--help')
    expect(code).toBe(0)
    expect(stdout).toContain('  echo    say it again\n  replay  play\n')
  })

  test('without a command is wrong use', async () => {
    const { code, stdout, stderr } = await hookspan()
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('Usage: hookspan COMMAND')
  })

  test('tells its version', async () => {
    expect(await hookspan('--version')).toEqual({ code: 0, stdout: `${packageJson.version}\n`, stderr: '' })
  })

  test('asks a command for its help', async () => {
    expect((await hookspan('help', 'echo')).stdout).toBe('--help')
  })

  test.each([
    [['ecko'], 'unknown command "ecko". Did you mean "hookspan echo"?'],
    [['replya'], 'unknown command "replya". Did you mean "hookspan replay"?'],
    [['zzzzzz'], 'unknown command "zzzzzz". Commands: echo, replay'],
    [['--bogus'], 'unknown option "--bogus". Commands: echo, replay'],
  ])('does not know %j', async (args, message) => {
    expect(await hookspan(...args)).toEqual({ code: 2, stdout: '', stderr: `hookspan: ${message}\n` })
  })

  test('tells an error in one line', async () => {
    expect(await hookspan('echo', 'boom')).toEqual({ code: 1, stdout: '', stderr: 'hookspan echo: it broke\n' })
    expect(await hookspan('replay')).toEqual({ code: 1, stdout: '', stderr: 'hookspan replay: not loaded\n' })
  })
})

describe('the table of commands', () => {
  test.each(COMMANDS.map(row => [row.name, row] as const))('%s agrees with the command', async (name, row) => {
    const command = await row.load()
    expect(command).toMatchObject({ name, summary: row.summary })
    expect(command.usage).toMatch(new RegExp(`^Usage: hookspan ${name}`))
  })
})
