import { setImmediate, setTimeout } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import type { OpenTraceRow, SourceStatus, TraceChange } from './answers.ts'
import { type IndexQuery, type IndexSubject, LocalIndex } from './local-index.ts'

export type IndexThreadRequest = { readonly id: number; readonly query: IndexQuery; readonly given: unknown } | 'close'

export type IndexThreadMessage =
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly problem: string }
  | {
      readonly status: SourceStatus
      readonly open: readonly OpenTraceRow[]
      readonly change: TraceChange | undefined
    }

const POLL_MILLIS = 250
const OPEN_MILLIS = 1_000
const MAX_NAMED = 1_000
/** Under constant changes, the pause is this many times the duration of a step, at most `MAX_REST_MILLIS`. */
const REST_SHARE = 4
const MAX_REST_MILLIS = 800

const closing = new AbortController()

function post(message: IndexThreadMessage): void {
  parentPort?.postMessage(message)
}

async function handleRequest(index: LocalIndex, request: IndexThreadRequest): Promise<void> {
  if (request === 'close') {
    closing.abort()
    index.stop()
    return
  }
  const { id, query, given } = request
  try {
    post({ id, answer: await index.query(query, given as never) })
  } catch (error) {
    post({ id, problem: error instanceof Error ? error.message : String(error) })
  }
}

async function keepUpToDate(index: LocalIndex): Promise<void> {
  const traceIds = new Set<string>()
  let [postedAt, openAt, hasChanged] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, true]
  while (!closing.signal.aborted) {
    const startedAt = performance.now()
    const step = await index.step()
    if (closing.signal.aborted) return
    hasChanged ||= step !== undefined
    if (step?.isNew === true) for (const id of step.traceIds) traceIds.add(id)
    const isOpenDue = startedAt >= openAt + OPEN_MILLIS || step?.isNew === true
    if (isOpenDue) {
      await index.readOpenTraces()
      openAt = startedAt
    }
    if (startedAt >= postedAt + POLL_MILLIS && (hasChanged || isOpenDue)) {
      const change = { traceIds: [...traceIds].slice(0, MAX_NAMED), isMore: traceIds.size > MAX_NAMED }
      post({ status: index.status(), open: index.openTraces, change: hasChanged ? change : undefined })
      postedAt = startedAt
      hasChanged = false
      traceIds.clear()
    }
    if (step === undefined) await rest(POLL_MILLIS)
    else if (index.isUpToDate) await rest(Math.min(MAX_REST_MILLIS, (performance.now() - startedAt) * REST_SHARE))
  }
}

/** Ends early if the index closes. */
function rest(millis: number): Promise<void> {
  return setTimeout(millis, undefined, { signal: closing.signal }).catch(() => undefined)
}

const index = new LocalIndex(workerData as IndexSubject, () => setImmediate())
parentPort?.on('message', (request: IndexThreadRequest) => void handleRequest(index, request))
try {
  await keepUpToDate(index)
} finally {
  index.save()
  // Deno's port cannot be closed.
  if (parentPort && 'close' in parentPort) parentPort.close()
  else process.exit()
}
