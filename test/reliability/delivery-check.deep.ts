import { describe, expect, test } from 'vitest'
import type { AcceptedSpan, ChaosRequest } from '../support/chaos-sink.mjs'
import {
  type Backend,
  checkDelivery,
  checkSameSpans,
  type HostAccount,
  SENDER_HEADER,
} from '../support/delivery-check.ts'
import type { WitnessLine } from '../support/witness.ts'

const AT = 1_795_256_100_000
const TURN = { 'hermes.turn.id': 't' }

/** A turn with a tool that has ended, and one that is open. */
const WITNESS: readonly WitnessLine[] = [
  { at: AT, hook: 'on_session_start', key: 'session t' },
  { at: AT + 10, hook: 'pre_tool_call', key: 'tool c1' },
  { at: AT + 20, hook: 'post_tool_call', key: 'tool c1' },
  { at: AT + 500, hook: 'pre_tool_call', key: 'tool c2' },
  { at: AT + 900, hook: 'saved', key: String(AT + 750) },
  { at: AT + 1000, hook: 'pre_tool_call', key: 'tool c3' },
]
const HOST: HostAccount = {
  name: 'h0',
  witness: WITNESS,
  cutAt: AT + 1000,
  certain: 'what there was time to save',
  openAs: ['crashed'],
}

function span(spanId: string, from: number, to: number, more: Partial<AcceptedSpan> = {}): AcceptedSpan {
  return {
    traceId: 'trace',
    spanId,
    parentSpanId: spanId === 'root' ? undefined : 'root',
    name: spanId,
    kind: 1,
    flags: 1,
    status: { code: 1, message: undefined },
    startTimeUnixNano: `${AT + from}000000`,
    endTimeUnixNano: `${AT + to}000000`,
    events: [],
    links: [],
    resource: {},
    scope: '',
    request: 0,
    acceptedAt: AT,
    ...more,
    attributes: { ...TURN, 'hermes.span.kind': 'tool', 'gen_ai.tool.call.id': spanId, ...more.attributes },
  }
}

const CRASHED = { 'hermes.span.incomplete': 'crashed' }
const ROOT_ATTRIBUTES = { ...CRASHED, 'hermes.span.kind': 'session', 'hermes.turn.final_status': 'crashed' }
const ROOT = span('root', 0, 1000, { attributes: ROOT_ATTRIBUTES })
const C1 = span('c1', 10, 20)
const C2 = span('c2', 500, 900, { attributes: CRASHED })

function request(more: Partial<ChaosRequest> = {}): ChaosRequest {
  const empty = {
    path: '/v1/traces',
    method: 'POST',
    headers: { [SENDER_HEADER]: 'h0' },
    bytes: 0,
    spans: 0,
    spanIds: [],
  }
  return { ordinal: 0, at: AT, answer: 200, answeredAt: AT, ...empty, ...more }
}

function backend(...accepted: readonly AcceptedSpan[]): Backend {
  return { accepted, requests: [request(), request()] }
}

test('finds no fault', () => {
  expect(checkDelivery([HOST], backend(ROOT, C1, C2))).toEqual({
    problems: [],
    told: 4,
    open: 3,
    uncertain: 0,
    excusedRepeats: 0,
    unnotedMillis: 0,
  })
})

const marked = { attributes: CRASHED }
const rootWithoutStatus = span('root', 0, 1000, { attributes: { ...CRASHED, 'hermes.span.kind': 'session' } })

const WRONG: [string, readonly AcceptedSpan[]][] = [
  ['lost: tool c1, told 990 ms and 980 ms before the last line', [ROOT, C2]],
  ['open and lost: tool c2, told 500 ms before the last line', [ROOT, C1]],
  ['twice: tool c1: in request 0 and in 1, cut after 1000 ms', [ROOT, C1, C2, { ...C1, request: 1 }]],
  ['twice, and not the same: tool c1: name "c1" ≠ "x"', [ROOT, C1, C2, { ...C1, name: 'x' }]],
  ['two spans for one: tool c1', [ROOT, C1, C2, { ...C1, spanId: 'other' }]],
  ['never told: tool c9', [ROOT, C1, C2, span('c9', 0, 1)]],
  [`wrong start: tool c2: ${AT + 501}000000, not ${AT + 500}000000`, [ROOT, C1, span('c2', 501, 900, marked)]],
  [`wrong end: tool c1: ${AT + 21}000000, not ${AT + 20}000000`, [ROOT, span('c1', 10, 21), C2]],
  [`ends before it starts: tool c2: ${AT + 400}000000`, [ROOT, C1, span('c2', 500, 400, marked)]],
  ['was open, but is not marked: tool c2: undefined', [ROOT, C1, span('c2', 500, 900)]],
  ['wrongly marked: tool c1: crashed', [ROOT, span('c1', 10, 20, marked), C2]],
  ['root without its final status: session t: undefined', [rootWithoutStatus, C1, C2]],
  ['in another trace than its parent: tool c1', [ROOT, { ...C1, traceId: 'other' }, C2]],
  ['without its parent: tool c1', [ROOT, { ...C1, parentSpanId: 'gone' }, C2]],
]

test.each(WRONG)('finds the fault: %s', (problem, accepted) => {
  expect(checkDelivery([HOST], backend(...accepted)).problems).toEqual([problem])
})

describe('the excuse of a kill', () => {
  const lateEnd: WitnessLine = { at: AT + 990, hook: 'post_tool_call', key: 'tool c2' }
  const host = { ...HOST, witness: [...WITNESS.slice(0, -1), lateEnd, ...WITNESS.slice(-1)] }

  test.each([
    ['the end of a span, which is open then', C2],
    ['nothing', span('c2', 500, 990)],
  ])('covers %s', (_what, c2) => {
    expect(checkDelivery([host], backend(ROOT, C1, c2))).toMatchObject({ problems: [], uncertain: 1 })
  })

  test('covers a repeat of spans acknowledged in the last moment, or never', () => {
    const twice = [ROOT, C1, C2, { ...C1, request: 1 }]
    for (const answeredAt of [AT + 800, AT + 1100, undefined]) {
      const first = answeredAt === undefined ? { ...request(), answeredAt: undefined } : request({ answeredAt })
      const check = checkDelivery([HOST], { accepted: twice, requests: [first as ChaosRequest, request()] })
      expect(check).toMatchObject({
        problems: [],
        excusedRepeats: 1,
        unnotedMillis: answeredAt === AT + 800 ? 200 : 0,
      })
    }
  })

  test("covers no repeat of another process's spans", () => {
    const first = request({ answeredAt: AT + 1100, headers: { [SENDER_HEADER]: 'h1' } })
    const check = checkDelivery([HOST], {
      accepted: [ROOT, C1, C2, { ...C1, request: 1 }],
      requests: [first, request()],
    })
    expect(check.problems).toEqual(['twice: tool c1: in request 0 and in 1, cut after -100 ms'])
  })

  test('covers only the last line after an exit', () => {
    const exited = { ...HOST, certain: 'all but the last line' } as const
    expect(checkDelivery([exited], backend(ROOT, C1, C2)).problems).toEqual([])
    expect(checkDelivery([{ ...exited, witness: host.witness }], backend(ROOT, C1, C2)).problems).not.toEqual([])
  })

  test('covers nothing if the host continued to its own end', () => {
    const host: HostAccount = { name: 'h0', witness: WITNESS, certain: 'everything', openAs: ['crashed'] }
    expect(checkDelivery([host], backend(ROOT, C1, C2)).problems).toEqual([
      'open and lost: tool c3, told 0 ms before the last line',
    ])
  })
})

test('ignores open spans of a live process', () => {
  const alive: HostAccount = { name: 'h0', witness: WITNESS, certain: 'everything' }
  expect(checkDelivery([alive], backend(C1)).problems).toEqual([])
  expect(checkDelivery([alive], backend()).problems).toEqual([
    'lost: tool c1, told 990 ms and 980 ms before the last line',
  ])
})

test('excuses known losses, and nothing else', () => {
  const options = { mayMiss: new Set(['tool c1']) }
  expect(checkDelivery([HOST], backend(ROOT, C2), options).problems).toEqual([])
  expect(checkDelivery([HOST], backend(ROOT, C1), options).problems).toEqual([
    'open and lost: tool c2, told 500 ms before the last line',
  ])
})

test('requires a mark on a span that is cut by the end of its turn', () => {
  const end: WitnessLine[] = ['tool c2', 'tool c3', 'session t'].map(key => ({
    at: AT + 1100,
    hook: 'on_session_end',
    key,
  }))
  const host: HostAccount = { name: 'h0', witness: [...WITNESS, ...end], certain: 'everything', openAs: [] }
  const cut = { attributes: { 'hermes.span.incomplete': 'turn_ended' } }
  const root = span('root', 0, 1100, { attributes: { 'hermes.span.kind': 'session' } })
  const [c2, c3] = [span('c2', 500, 1100, cut), span('c3', 1000, 1100, cut)]
  expect(checkDelivery([host], backend(root, C1, c2, c3)).problems).toEqual([])
  expect(checkDelivery([host], backend(root, C1, c2, span('c3', 1000, 1100))).problems).toEqual([
    'wrongly marked: tool c3: undefined',
  ])
})

test('requires the same spans in both backends, in any order', () => {
  const other = { ...C1, request: 7, acceptedAt: AT + 9 }
  expect(checkSameSpans(backend(C1, C2), backend(other))).toEqual([])
  const changed = { ...other, status: { code: 2, message: 'broke' } }
  expect(checkSameSpans(backend(C1), backend(changed))).toEqual([
    'not the same on both: tool c1: status {"code":1} ≠ {"code":2,"message":"broke"}',
  ])
})
