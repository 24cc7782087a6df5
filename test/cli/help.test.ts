import { describe, expect, test } from 'vitest'
import { type Command, helpText, readOptions } from '../../src/cli/command.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { dispatch } from '../../src/cli/dispatch.ts'
import { displayWidth } from '../../src/reading/display-width.ts'
import { read } from '../support/pages.ts'
import { fakeIo } from './fake-io.ts'

async function printed(...args: readonly string[]): Promise<string> {
  const io = fakeIo()
  expect(await dispatch(args, io)).toBe(0)
  expect(io.written.stderr).toBe('')
  return io.written.stdout
}

const NAMES = COMMANDS.map(({ name }) => name)

function loaded(name: string): Promise<Command> {
  const row = COMMANDS.find(each => each.name === name)
  return row?.load() ?? Promise.reject(new Error(`no ${name}`))
}

describe('every help', () => {
  test.each([['--help'], ...NAMES.map(name => [name, '--help'])])(
    'fits into 80 columns for hookspan %s %s',
    async (...args) => {
      const lines = (await printed(...args.filter(arg => arg !== undefined))).split('\n')
      expect(lines.filter(line => displayWidth(line) > 80)).toEqual([])
    },
  )

  test.each(NAMES)('is the same for %s by every way of asking', async name => {
    const [help, ...others] = await Promise.all([
      printed(name, '--help'),
      printed(name, '-h'),
      printed('help', name),
      printed('--help', name),
      printed(name, 'x', '--nonsense', '--help'),
    ])
    expect(help).toMatch(new RegExp(`^Usage: hookspan ${name} .*\\n\\n[A-Z]`))
    for (const other of others) expect(other).toBe(help)
  })

  test.each(NAMES)('lists every accepted option of %s, and no other', async name => {
    const { options } = await loaded(name)
    const named = [...(await printed(name, '--help')).matchAll(/^ {2}(?:-(\w), | {4})--([a-z-]+)(?: (\S+))?/gm)]
    expect(named.map(([, , long]) => long).sort()).toEqual([...Object.keys(options), 'help'].sort())
    for (const [, short, long = '', value] of named.filter(([, , name]) => name !== 'help')) {
      const given = value === undefined ? [] : ['1']
      for (const spelled of [`--${long}`, ...(short === undefined ? [] : [`-${short}`])]) {
        expect(readOptions([spelled, ...given], options).operands).toEqual([])
      }
    }
  })

  test('mentions only options that exist', async () => {
    for (const { name, load } of COMMANDS) {
      const command = await load()
      const spoken = [...helpText(command).matchAll(/--([a-z][a-z-]+)/g)].map(([, long = '']) => long)
      const known = [...Object.keys(command.options), 'help']
      expect(
        spoken.filter(long => !known.includes(long)),
        name,
      ).toEqual([])
    }
  })
})

test('has every command in docs/commands.md', () => {
  const page = read('docs/commands.md')
  for (const name of NAMES) expect(page).toMatch(new RegExp(`^\\| \`hookspan ${name}[ \`]`, 'm'))
})

test('has defaults and repetition from the table', () => {
  const text = helpText({
    name: 'x',
    about: 'One.\n\n  a list   that stays\n\nTwo.',
    options: {
      last: { short: 'n', value: 'N', default: '5', help: 'the last N' },
      to: { value: 'T', many: true, help: `to ${'word '.repeat(12)}end` },
    },
    closing: 'Exits.',
  })
  expect(text).toBe(`Usage: hookspan x [OPTIONS]

One.

  a list   that stays

Two.

  -n, --last N  the last N (default 5)
      --to T    to word word word word word word word word word word word word
                end; may be given more than once
  -h, --help    print this help

Exits.
`)
})
