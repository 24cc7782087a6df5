import { expect, test } from 'vitest'
import { visibleText } from '../../../src/reading/display-text.ts'
import { countOf, humanAge } from '../../../src/reading/human-figures.ts'
import { ageMillis, ago, shortCount } from '../../../src/viewer/page/formats.ts'
import { TextLineSplitter } from '../../../src/viewer/page/line-splitter.ts'
import { countOpen, resumeCommand, stateOf, tabTitle } from '../../../src/viewer/page/open-traces.ts'
import type { OpenTraceRow } from '../../../src/viewer/server/api.ts'

test.each([
  [humanAge(900), '0 s'],
  [humanAge(59_999), '59 s'],
  [humanAge(81_000), '1 m 21 s'],
  [humanAge(-5), '0 s'],
  [ago(30_000), 'just now'],
  [ago(61_000), '1 m ago'],
  [ago(7_200_000), '2 h ago'],
  [ago(400_000_000), '4 d ago'],
  [shortCount(999), '999'],
  [shortCount(5_230), '5.2 k'],
  [shortCount(1_000), '1 k'],
  [shortCount(2_500_000), '2.5 M'],
  [countOf(1, 'turn'), '1 turn'],
  [countOf(1_200, 'turn'), '1 200 turns'],
])('formats %s', (text, expected) => {
  expect(text).toBe(expected)
})

test.each([
  ['90m', 5_400_000],
  ['7d', 604_800_000],
  ['all', undefined],
  ['', undefined],
  ['1y', undefined],
])('formats %s as an age', (text, millis) => {
  expect(ageMillis(text)).toBe(millis)
})

test('returns whole lines, however their pieces arrive', () => {
  const lines = new TextLineSplitter()
  expect(lines.splitChunk('{"a":')).toEqual([])
  expect(lines.splitChunk('1}\n\n{"b":2}\n{')).toEqual(['{"a":1}', '{"b":2}'])
  expect(lines.splitChunk('}\n')).toEqual(['{}'])
})

function open(traceId: string, more: Partial<OpenTraceRow>): OpenTraceRow {
  return {
    traceId,
    sessionId: '',
    agent: '',
    model: '',
    title: '',
    sessionTitle: '',
    state: 'open',
    startAt: 0,
    silentSince: 0,
    openSince: 0,
    isOwnerAlive: true,
    waitingSince: undefined,
    doing: [],
    tokens: undefined,
    cost: { dollars: 0, paidCount: 0, unknownCount: 0 },
    contextUsed: undefined,
    minutes: [],
    ...more,
  }
}

test('names the oldest question in the title of the tab', () => {
  const now = 1_000_000
  const traces = [
    open('new', { openSince: 2, silentSince: now }),
    open('dead', { state: 'owner-dead', waitingSince: 1 }),
    open('old', { openSince: 1, silentSince: now }),
    open('hung', { openSince: 5, silentSince: now - 120_000 }),
    open('longer hung', { openSince: 4, silentSince: now - 600_000 }),
    open('asking', {
      waitingSince: 1,
      silentSince: now - 600_000,
      doing: [{ spanId: 'a', kind: 'approval', name: 'approval.push', hint: 'git push --force', startAt: 1 }],
    }),
    open('asking later', { waitingSince: 2, silentSince: now, title: 'Publish it' }),
  ]
  expect(traces.map(trace => `${trace.traceId}: ${stateOf(trace, now)}`)).toEqual([
    'new: running',
    'dead: owner-dead',
    'old: running',
    'hung: hung',
    'longer hung: hung',
    'asking: waiting',
    'asking later: waiting',
  ])
  expect(countOpen(traces)).toEqual({ living: 6, waiting: 2 })
  expect([
    tabTitle(traces, true),
    tabTitle(traces.slice(0, 3), true),
    tabTitle([], true),
    tabTitle(traces, false),
  ]).toEqual(['● 2 waiting: git push --force · hookspan', '2 open · hookspan', 'hookspan', 'not connected · hookspan'])
})

test.each([
  ['claude-code', '6c0f8a2e-1b', 'claude --resume 6c0f8a2e-1b'],
  ['codex', 's_1.2', 'codex resume s_1.2'],
  ['claude-code', 'a; rm -rf ~', undefined],
  ['claude-code', '--dangerously-skip-permissions', undefined],
  ['claude-code', 'trace:aa', undefined],
  ['constructor', 'a', undefined],
  ['an agent without one', 'a', undefined],
])('has a resume command for %s, session %s', (agent, sessionId, command) => {
  expect(resumeCommand(open('t', { agent, sessionId }))).toBe(command)
})

test.each([
  ['ls\u001b[2K\u001b]0;x\u0007', 'ls␛[2K␛]0;x␇'],
  ['\u009b31m', '⟨U+009B⟩31m'],
  ['a\u202eb\u200bc\ufeff', 'a⟨U+202E⟩b⟨U+200B⟩c⟨U+FEFF⟩'],
  ['one\r\ntwo\n\tthree\rfour', 'one\ntwo\n\tthree␍four'],
  ['\ud800', '⟨U+D800⟩'],
  ['a\u2028b', 'a⟨U+2028⟩b'],
  ['<b>&amp;</b> 日本語 é 👍', '<b>&amp;</b> 日本語 é 👍'],
  [`o${'\u0301'.repeat(50)}`, `o${'\u0301'.repeat(4)}`],
])('masks nothing in %j', (text, expected) => {
  expect(visibleText(text)).toBe(expected)
})
