import { describe, expect, test } from 'vitest'
import { type OptionTable, readOptions } from '../../src/cli/command.ts'

const TABLE = {
  session: { value: 'S', help: 'of this session' },
  last: { short: 'n', value: 'N', default: '5', aka: ['limit'], help: 'the last N' },
  backend: { value: 'TYPE', many: true, help: 'to this one' },
  follow: { short: 'f', help: 'keep watching' },
  json: { help: 'as JSON' },
} as const satisfies OptionTable

function read(...args: readonly string[]): ReturnType<typeof readOptions<typeof TABLE>> {
  return readOptions([...args], TABLE)
}

function refused(...args: readonly string[]): string {
  try {
    read(...args)
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`
  }
  return 'taken'
}

describe('options by their table', () => {
  test('leaves absent options unset', () => {
    expect(read()).toEqual({
      values: { session: undefined, last: '5', backend: [], follow: false, json: false },
      operands: [],
    })
  })

  test.each([
    [['--session', 'a', '--last', '2', '--json']],
    [['--session=a', '-n', '2', '--json']],
    [['-n2', '--json', '--session', 'a']],
    [['-n', '9', '-n', '2', '--json', '--session', 'a']],
  ])('parses %j', args => {
    expect(read(...args).values).toMatchObject({ session: 'a', last: '2', json: true })
  })

  test('parses several short ones in one, repeated ones, and words after --', () => {
    const { values, operands } = read('-fn3', 'one', '--backend', 'a', '--backend=b', '-', '--', '--json')
    expect(values).toMatchObject({ follow: true, last: '3', backend: ['a', 'b'], json: false })
    expect(operands).toEqual(['one', '-', '--json'])
  })

  test('accepts an empty value, or one with a dash where no option can follow', () => {
    expect(read('--session=', '--last=-4').values).toMatchObject({ session: '', last: '-4' })
    expect(read('--session', '-').values.session).toBe('-')
  })

  test.each([
    [['--sesion', 'a'], 'unknown option --sesion. Did you mean --session?'],
    [['--Follow'], 'unknown option --Follow. Did you mean --follow?'],
    [['--sesion=a'], 'unknown option --sesion. Did you mean --session?'],
    [['--limit', '3'], 'unknown option --limit. Did you mean --last?'],
    [['-session', 'a'], 'unknown option -session. Did you mean --session?'],
    [['-follow'], 'unknown option -follow. Did you mean --follow?'],
    [['-20'], 'unknown option -20. Did you mean -n 20?'],
    [['--hepl'], 'unknown option --hepl. Did you mean --help?'],
    [['--version'], 'unknown option --version. Did you mean hookspan --version?'],
    [['-v'], 'unknown option -v. Did you mean hookspan --version?'],
    [['--zzzzzz'], 'unknown option --zzzzzz'],
    [['-fx'], 'unknown option -x'],
    [['--__proto__'], 'unknown option --__proto__'],
    [['--a\u001b[31mb'], 'unknown option "--a\\u001b[31mb"'],
    [['--session'], '--session takes a value: --session S'],
    [['-n'], '-n takes a value: -n N'],
    [['--session', '--json'], '--session takes a value: --session S'],
    [['--json=yes'], '--json takes no value'],
  ])('rejects %j', (args, message) => {
    expect(refused(...args)).toBe(`WrongUse: ${message}`)
  })
})
