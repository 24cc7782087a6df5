import { booleanOf, idOf, peek } from '../../contract/foreign.ts'
import { plausibleTime } from '../base/event-machine.ts'
import { emitEndedCalls } from './calls.ts'
import type { Facts } from './facts.ts'
import { readLifecycle } from './run.ts'
import type { RunBook } from './run-book.ts'
import { readApproval } from './side-work.ts'
import type { RunTool } from './state.ts'
import { addToolFacts, startTool, toolOf } from './tools.ts'

type Read = (book: RunBook, facts: Facts) => void

const READINGS: ReadonlyMap<unknown, Read> = new Map<unknown, Read>([
  ['lifecycle', lifecycle],
  ['tool', tool],
  ['item', item],
  ['run_status', status],
  [
    'approval',
    (book, facts) => {
      const run = book.findRun(facts)
      if (run !== undefined) readApproval(run, facts)
    },
  ],
])

/**
 * Returns true for streams of agent events that are handled. The host never waits for them and catches their errors. They are
 * preferred over hooks: a failure in `before_tool_call` would block the tool.
 */
export function handlesStream(stream: unknown): boolean {
  return READINGS.has(stream)
}

export function readAgentEvent(book: RunBook, stream: unknown, facts: Facts): void {
  READINGS.get(stream)?.(book, facts)
}

/** Handles the start and end of a run. A run that failed before its first model call has no other events. */
function lifecycle(book: RunBook, facts: Facts): void {
  if (peek(facts.data, 'phase') === 'start') {
    book.announceRun(facts)
    return
  }
  const run = book.isAnnounced(facts) ? book.openedRun(facts) : book.findRun(facts)
  if (run === undefined) return
  run.hasLifecycle = true
  const endedAt = readLifecycle(run, facts)
  if (endedAt !== undefined) book.finishRun(run, endedAt)
}

function status(book: RunBook, facts: Facts): void {
  const { data } = facts
  const run = book.findRun(facts)
  if (run === undefined || peek(data, 'phase') !== 'retrying') return
  emitEndedCalls(run, { retried: true, maxRetries: peek(data, 'maxRetries'), reason: peek(data, 'reason') })
}

function tool(book: RunBook, facts: Facts): void {
  const { at, data } = facts
  const id = idOf(peek(data, 'toolCallId'))
  const phase = peek(data, 'phase')
  if (id === undefined) return
  if (phase === 'start') {
    const run = book.openedRun(facts)
    if (run === undefined) return
    const known = toolOf(run, id, peek(data, 'name'), at)
    emitEndedCalls(run, {})
    startTool(known, peek(data, 'args'), idOf(peek(data, 'parentToolCallId')))
  } else if (phase === 'result') {
    const isError = booleanOf(peek(data, 'isError'))
    addEndFacts(book, facts, id, { endAt: at, result: peek(data, 'result'), isError })
  }
}

/** Handles the display state of a tool: its start, and whether it was denied or failed. The arguments follow the start. */
function item(book: RunBook, facts: Facts): void {
  const { at, data } = facts
  const id = idOf(peek(data, 'toolCallId'))
  const phase = peek(data, 'phase')
  if (id === undefined || peek(data, 'kind') !== 'tool') return
  if (phase === 'start') {
    const run = book.openedRun(facts)
    if (run !== undefined) toolOf(run, id, peek(data, 'name'), plausibleTime(peek(data, 'startedAt'), at))
  } else if (phase === 'end') {
    const endAt = plausibleTime(peek(data, 'endedAt'), at)
    addEndFacts(book, facts, id, { endAt, status: peek(data, 'status'), error: peek(data, 'error') })
  }
}

function addEndFacts(book: RunBook, facts: Facts, id: string, news: Parameters<typeof addToolFacts>[1]): void {
  const known: RunTool | undefined = book.findRun(facts)?.tools.get(id)
  if (known !== undefined) addToolFacts(known, news)
}
