import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type FedRecord, START_AT } from '../support/feed.ts'
import { asLines, generatedRecords } from './generated-records.ts'
import { fixture } from './program.ts'
import { ScratchReplay, spansIn } from './scratch-replay.ts'

let scratch: ScratchReplay
beforeEach(() => {
  scratch = new ScratchReplay()
})
afterEach(() => scratch.remove())

const { records: RECORDS } = generatedRecords(10)
const LINES = asLines(RECORDS)
const NAMES = ['agent', 'api.m0', 'llm.m0', 'tool.read_file', 'tool.terminal']

async function namesOf(stdin: string | Uint8Array): Promise<string[]> {
  return (await scratch.spansOf(['-'], { stdin: [stdin] })).map(span => span.name).sort()
}

describe('standard input', () => {
  test.each<[string, string | Uint8Array]>([
    ['as it should be', LINES],
    ['without a final line end', LINES.trimEnd()],
    ['with line ends of Windows', LINES.replaceAll('\n', '\r\n')],
    ['with a byte order mark', `\ufeff${LINES}`],
    ['with blank lines', LINES.replaceAll('\n', '\n\n  \n')],
    ['with a bare NaN', LINES.replace('"input_tokens":10', '"input_tokens":NaN,"x":-Infinity,"y":[NaN , Infinity]')],
    ['with a line separator of Unicode in a text', LINES.replace('question 0', 'question\u2028 0')],
    ['with bytes that are no UTF-8', Buffer.from(LINES.replace('question 0', 'question \u00ff'), 'latin1')],
  ])('is read: %s', async (_what, text) => {
    expect(await namesOf(text)).toEqual(NAMES)
  })

  test('accepts a bare NaN in one place, and leaves texts with that word unchanged', async () => {
    const words = 'is [NaN, Infinity] a \\"number: NaN, or\\" not: NaN'
    const text = LINES.replace('"question 0"', `"${words}","temperature":NaN`)
    const spans = await scratch.spansOf(['-'], { stdin: [text] })
    expect(spans.find(span => span.name === 'llm.m0')?.attributes['input.value']).toBe(words.replaceAll('\\', ''))
  })

  test('may be empty', async () => {
    expect(await scratch.replay(['-'])).toEqual({
      code: 0,
      stdout: '',
      stderr: '0 records → 0 spans; nothing is stored\n',
    })
  })

  test('has the times of arrival for records without a time', async () => {
    let at = START_AT
    const now = (): number => {
      at += 1000
      return at
    }
    const untimed = asLines(RECORDS.map(({ at: _at, ...record }) => record))
    const spans = await scratch.spansOf(['-'], { stdin: [untimed], now })
    const { startAt = 0, endAt = 0 } = spans.find(span => span.name === 'agent') ?? {}
    expect(startAt).toBeGreaterThan(START_AT)
    expect(endAt - startAt).toBe(1000 * (RECORDS.length - 1))
    expect(spans.every(span => span.endAt > span.startAt)).toBe(true)
  })

  test('spaces records without a time like their arrival', async () => {
    let arrivals = 0
    const now = (): number => 5_000 + 250 * arrivals++
    const [first, second, ...others] = RECORDS as [FedRecord, FedRecord, ...FedRecord[]]
    const { at: _at, ...untimed } = second
    const spans = await scratch.spansOf(['-'], { stdin: [asLines([first, untimed, ...others])], now })
    expect(spans.find(span => span.name === 'llm.m0')?.startAt).toBe((first.at ?? 0) + 250)
  })

  test('is read beside files', async () => {
    const spans = await scratch.spansOf([fixture('hermes-turn.jsonl'), '-'], { stdin: [LINES] })
    expect(spans).toHaveLength(13 + 5)
  })
})

describe('a head line', () => {
  const head = (host: string): string => `${JSON.stringify({ fixture: { host } })}\n`
  const hosts = async (text: string, more: string[] = []): Promise<Set<unknown>> => {
    const spans = await scratch.spansOf(['-', ...more], { stdin: [text] })
    return new Set(spans.filter(span => span.name === 'agent').map(span => span.attributes['hermes.host']))
  }

  test('names the host of the next lines, also in concatenated files', async () => {
    expect(await hosts(head('pi') + LINES + head('opencode') + LINES)).toEqual(new Set(['pi', 'opencode']))
  })

  test('yields to --host', async () => {
    expect(await hosts(head('pi') + LINES, ['--host', 'openclaw'])).toEqual(new Set(['openclaw']))
  })
})

describe('a line that is no record', () => {
  const MALFORMED: [string, string][] = [
    ['nonsense', 'not JSON'],
    ['{"hook": "on_session_start", "payl', 'not JSON: it ends too early'],
    ['{"hook": "on_session_start"', 'not JSON: it ends too early'],
    ['{"hook": "on_session_start" "at": 1}', 'not JSON from column 29 on'],
    ['{"hook": "on_session_start", "at": NaN, oops}', 'not JSON'],
    ['[1, 2]', 'expected an object {"hook": …, "payload": …}, got a list'],
    ['42', 'expected an object {"hook": …, "payload": …}, got a number'],
    ['null', 'expected an object {"hook": …, "payload": …}, got null'],
    ['{"payload": {}}', 'it has no "hook"'],
    ['{"hook": 7}', 'its "hook" is a number, not a name'],
    ['{"hook": " "}', 'its "hook" is empty'],
    [
      '{"event": "PreToolUse", "tool_name": "x"}',
      'a raw event without a host; name it with --host (pi, openclaw, opencode, claude-agent-sdk, claude-code, openai-agents, ai-sdk, codex, cursor, copilot, gemini, qwen)',
    ],
    ['{"fixture": "hermes"}', 'it has no "hook"'],
  ]

  test.each(MALFORMED)('is reported: %s', async (line, problem) => {
    const [first = '', ...others] = LINES.split('\n')
    const file = scratch.put('in.jsonl', [first, line, ...others].join('\n'))
    const out = scratch.path('o.jsonl')
    const { code, stdout, stderr } = await scratch.replay([file, '--out', out])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr.split('\n')).toEqual([
      `hookspan replay: ${file} line 2: ${problem}; the line is skipped`,
      `10 records → 5 spans; written to ${out}`,
      '',
    ])
    expect(spansIn(out)).toHaveLength(5)
  })

  test('is reported without its content', async () => {
    const { stderr } = await scratch.replay(['-'], {
      stdin: ['sk-secret and so on\n{"hook": "x", secret}\n"secret"\n'],
    })
    expect(stderr).not.toContain('secret')
    expect(stderr.match(/standard input line \d/g)).toHaveLength(3)
  })

  test('is reported for the first of a thousand, and the rest are counted', async () => {
    const { code, stderr } = await scratch.replay(['-'], { stdin: ['x\n'.repeat(1000), LINES] })
    expect(code).toBe(1)
    const lines = stderr.trimEnd().split('\n')
    expect(lines).toHaveLength(22)
    expect(lines[19]).toBe('hookspan replay: standard input line 20: not JSON; the line is skipped')
    expect(lines[20]).toBe('hookspan replay: standard input: 980 further lines skipped')
    expect(lines[21]).toMatch(/^10 records → 5 spans; /)
  })
})

describe('a file that cannot be read', () => {
  test('is one line, and the others are replayed', async () => {
    const [missing, file] = [scratch.path('missing.jsonl'), scratch.put('in.jsonl', LINES)]
    const out = scratch.path('o.jsonl')
    expect(await scratch.replay([missing, scratch.home, file, '--out', out])).toEqual({
      code: 1,
      stdout: '',
      stderr: [
        `hookspan replay: cannot read ${missing}: there is no such file or directory`,
        `hookspan replay: cannot read ${scratch.home}: it is a directory`,
        `10 records → 5 spans; written to ${out}`,
        '',
      ].join('\n'),
    })
  })
})

describe('records without spans', () => {
  test('counts them without a failure', async () => {
    const odd = [
      { hook: 'from_the_future', at: RECORDS[0]!.at, payload: {} },
      { hook: 'on_session_finalize', payload: null },
      { hook: 'on_session_start', payload: { session_id: 'd' }, delivery_id: '1', at: RECORDS[0]!.at },
      { hook: 'on_session_start', payload: { session_id: 'd' }, delivery_id: '1', at: RECORDS[0]!.at },
    ]
    const { code, stderr } = await scratch.replay(['-', '--out', scratch.path('o.jsonl')], { stdin: [asLines(odd)] })
    expect(code).toBe(0)
    expect(stderr).toMatch(/\n4 records \(2 ignored, 1 duplicate, not read: 1 with unknown names\) → 1 span; /)
  })
})
