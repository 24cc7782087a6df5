import { booleanOf, idOf, peek } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { tellWaiting } from './calls.ts'
import { type Facts, saidAt } from './facts.ts'
import { readLifecycle } from './run.ts'
import type { RunBook } from './run-book.ts'
import { readApproval } from './side-work.ts'
import type { Run } from './state.ts'
import { learn, startTool, toolOf } from './tools.ts'

/**
 * Streams of agent events that tell something. The host never waits for them and survives what they throw, so what a hook
 * tells too is better taken from here: a failure in `before_tool_call` would cost the tool.
 */
export const STREAMS: readonly string[] = ['lifecycle', 'tool', 'item', 'run_status', 'approval']

export function readAgentEvent(book: RunBook, stream: unknown, facts: Facts): HookRecord[] {
  if (stream === 'lifecycle') return lifecycle(book, facts)
  if (stream === 'tool') return tool(book, facts)
  if (stream === 'item') return item(book, facts)
  const run = STREAMS.includes(stream as string) ? book.find(facts) : undefined
  if (run === undefined) return []
  return stream === 'approval' ? readApproval(run, facts) : status(run, facts)
}

/** A run that failed before it called a model has its start and its end here, and nothing between. */
function lifecycle(book: RunBook, facts: Facts): HookRecord[] {
  if (peek(facts.data, 'phase') === 'start') {
    book.announce(facts)
    return []
  }
  const read = (run: Run): HookRecord[] => {
    run.hasLifecycle = true
    const endedAt = readLifecycle(run, facts)
    return endedAt === undefined ? [] : book.finish(run, endedAt)
  }
  if (book.isAnnounced(facts)) return book.in(facts, read)
  const run = book.find(facts)
  return run === undefined ? [] : read(run)
}

/** `run_status`: the host is going to try again, and says how often it would. */
function status(run: Run, { data }: Facts): HookRecord[] {
  if (peek(data, 'phase') !== 'retrying') return []
  return tellWaiting(run, { retried: true, maxRetries: peek(data, 'maxRetries'), reason: peek(data, 'reason') })
}

function tool(book: RunBook, facts: Facts): HookRecord[] {
  const { at, data } = facts
  const id = idOf(peek(data, 'toolCallId'))
  const phase = peek(data, 'phase')
  if (id === undefined) return []
  if (phase === 'start') {
    return book.in(facts, run => {
      const parentId = idOf(peek(data, 'parentToolCallId'))
      const known = toolOf(run, id, peek(data, 'name'), at)
      return [...tellWaiting(run, {}), ...startTool(run, known, peek(data, 'args'), parentId)]
    })
  }
  const known = phase === 'result' ? book.find(facts)?.tools.get(id) : undefined
  if (known === undefined) return []
  learn(known, { endAt: at, result: peek(data, 'result'), isError: booleanOf(peek(data, 'isError')) })
  return []
}

/** What is shown of a tool: when it began, and whether it was refused or has failed. Its arguments come after its start. */
function item(book: RunBook, facts: Facts): HookRecord[] {
  const { at, data } = facts
  const id = idOf(peek(data, 'toolCallId'))
  const phase = peek(data, 'phase')
  if (id === undefined || peek(data, 'kind') !== 'tool') return []
  if (phase === 'start') {
    return book.in(facts, run => {
      toolOf(run, id, peek(data, 'name'), saidAt(peek(data, 'startedAt'), at))
      return []
    })
  }
  const known = phase === 'end' ? book.find(facts)?.tools.get(id) : undefined
  if (known === undefined) return []
  const endAt = saidAt(peek(data, 'endedAt'), at)
  learn(known, { endAt, status: peek(data, 'status'), error: peek(data, 'error') })
  return []
}
