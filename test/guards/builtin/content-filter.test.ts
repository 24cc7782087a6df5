import { describe, expect, test } from 'vitest'
import { type ContentFilterOptions, contentFilter } from '../../../src/guards/builtin/index.ts'
import { inWords } from '../asking.ts'
import { Agent } from './steps.ts'

const TOKEN = `ghp_${'a1B2c3D4e5'.repeat(4)}`.slice(0, 40)
const CARD = '4111 1111 1111 1111'

async function resultOf(result: unknown, options?: ContentFilterOptions): Promise<unknown> {
  const outcome = await new Agent(contentFilter(options)).ask('afterTool', { result })
  return outcome.decision === 'block' ? inWords(outcome) : outcome.value
}

const REDACTED: Record<string, readonly [given: unknown, left: unknown, options?: ContentFilterOptions]> = {
  'a text': [`token ${TOKEN}!`, 'token [REDACTED]!'],
  'deep in a result': [
    { content: [{ type: 'text', text: `it is ${TOKEN}` }], details: { lines: 3 } },
    { content: [{ type: 'text', text: 'it is [REDACTED]' }], details: { lines: 3 } },
  ],
  'under a key that says so': [
    { user: 'a', password: 'plain words' },
    { user: 'a', password: '[REDACTED]' },
  ],
  'a list under such a key': [{ api_key: ['abc', 'def'] }, { api_key: ['[REDACTED]', '[REDACTED]'] }],
  'JSON in a text': [`{"password":"hunter22hunter"}`, '{"password":"[REDACTED]"}'],
  'a card': [`card ${CARD}, please`, 'card [REDACTED], please'],
  'a card that is a number': [{ card: 4111111111111111 }, { card: '[REDACTED]' }],
  'a fixed text': ['project Bluebird is late', 'project [REDACTED] is late', { patterns: { redact: ['Bluebird'] } }],
  'a fixed text with a dollar': ['it costs $5$&', 'it costs [REDACTED]$&', { patterns: { redact: ['$5'] } }],
  'a regular expression, each time': [
    'AC-123 and AC-456',
    '[REDACTED] and [REDACTED]',
    { patterns: { redact: [{ regex: 'AC-\\d{3}' }] } },
  ],
}

test.each(Object.entries(REDACTED))('masks %s', async (_, [given, left, options]) => {
  expect(await resultOf(given, options)).toEqual(left)
})

const LEFT: Record<string, readonly [given: unknown, options?: ContentFilterOptions]> = {
  'what is none': [{ text: 'ls -l', count: 5, none: null, list: [true] }],
  'a number that is no card': [{ number: 4111111111111112 }],
  'a secret, where it may pass': [TOKEN, { secrets: 'pass' }],
  'a card, where it may pass': [CARD, { cards: 'pass' }],
  'an empty text under a secret key': [{ password: '' }],
  nothing: [null],
}

test.each(Object.entries(LEFT))('leaves %s unchanged', async (_, [given, options]) => {
  const outcome = await new Agent(contentFilter(options)).ask('afterTool', { result: given })
  expect([outcome.isRewritten, outcome.decision, outcome.value]).toEqual([false, 'pass', given])
})

const BLOCKED: Record<string, readonly [given: unknown, what: string, options: ContentFilterOptions]> = {
  'a secret': [{ deep: [TOKEN] }, 'a secret', { secrets: 'block' }],
  'a card': [{ deep: [CARD] }, 'the number of a payment card', { cards: 'block' }],
  'a pattern': ['project Bluebird', 'what a pattern of the person names', { patterns: { block: ['Bluebird'] } }],
  'a glob': ['secret.pem', 'what a pattern of the person names', { patterns: { block: [{ glob: '*.pem' }] } }],
}

describe.each(Object.entries(BLOCKED))('%s that must not pass', (_, [given, what, options]) => {
  test('is blocked, and nothing of it is quoted', async () => {
    const agent = new Agent(contentFilter(options))
    const outcome = await agent.ask('afterTool', { result: given })
    expect(inWords(outcome)).toBe(`block by content-filter: What came back held ${what} and is kept back.`)
    const said = JSON.stringify([outcome.reason, outcome.detail, outcome.runs, agent.lines])
    expect(said).not.toMatch(/ghp_|4111|Bluebird|\.pem/)
  })
})

test('is masked in all three phases, or in those that are named', async () => {
  const ask = async (options?: ContentFilterOptions) => {
    const agent = new Agent(contentFilter(options))
    const outcomes = [
      await agent.ask('afterModel', { text: TOKEN }),
      await agent.ask('afterTool', { result: TOKEN }),
      await agent.ask('afterTurn', { answer: TOKEN }),
    ]
    return outcomes.map(({ isRewritten }) => isRewritten)
  }
  expect(await ask()).toEqual([true, true, true])
  expect(await ask({ phases: ['afterTurn'] })).toEqual([false, false, true])
})

test('survives a cycle', async () => {
  const circle: Record<string, unknown> = { text: TOKEN }
  circle['self'] = circle
  const left = (await resultOf(circle)) as { self: { text: string; self: unknown } }
  expect(left.self.text).toBe('[REDACTED]')
  expect(left.self.self).toBe(left.self)
})

test('reports fields, and not texts', async () => {
  const agent = new Agent(contentFilter())
  const { runs } = await agent.ask('afterTool', { result: TOKEN })
  expect(runs).toMatchObject([{ hook: 'content-filter', verdict: 'rewrite', rewrittenFields: ['result'] }])
  expect(JSON.stringify(runs)).not.toContain('ghp_')
})
