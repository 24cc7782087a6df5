import { parentPort, workerData } from 'node:worker_threads'
import type { Change, OpenTrace, SourceStatus } from './answers.ts'
import { type IndexSettings, LocalIndex, type Question } from './local-index.ts'

/** A message to this thread: a query, or the request to close. */
export type Asked = { readonly id: number; readonly question: Question; readonly given: unknown } | 'close'

/** A message from this thread: the result of a query, or an unsolicited status with the changes. */
export type Told =
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly problem: string }
  | { readonly status: SourceStatus; readonly open: readonly OpenTrace[]; readonly change: Change | undefined }

const POLL_MILLIS = 250
const OPEN_MILLIS = 1_000
const MAX_NAMED = 1_000
/** Under constant changes, the pause is this many times the duration of a step, at most `MOST_MILLIS`. */
const RESTING_SHARE = 4
const MAX_MILLIS = 800

let isClosing = false
let wake: () => void = () => undefined

function tell(told: Told): void {
  parentPort?.postMessage(told)
}

/** Lets queries run between two slices of a step. */
async function pause(): Promise<void> {
  await new Promise(resolve => setImmediate(resolve))
}

async function answer(index: LocalIndex, asked: Asked): Promise<void> {
  if (asked === 'close') {
    isClosing = true
    index.stop()
    wake()
    return
  }
  const { id, question, given } = asked
  try {
    tell({ id, answer: await index.ask(question, given as never) })
  } catch (error) {
    tell({ id, problem: error instanceof Error ? error.message : String(error) })
  }
}

async function work(index: LocalIndex): Promise<void> {
  const traceIds = new Set<string>()
  let [toldAt, openAt, hasChanged] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, true]
  while (!isClosing) {
    const begunAt = performance.now()
    const step = await index.step()
    if (isClosing) return
    hasChanged ||= step !== undefined
    if (step?.isNew === true) for (const id of step.traceIds) traceIds.add(id)
    const isOpenDue = begunAt >= openAt + OPEN_MILLIS || step?.isNew === true
    if (isOpenDue) {
      await index.lookWhatIsOpen()
      index.touch()
      openAt = begunAt
    }
    if (begunAt >= toldAt + POLL_MILLIS && (hasChanged || isOpenDue)) {
      const change = { traceIds: [...traceIds].slice(0, MAX_NAMED), isMore: traceIds.size > MAX_NAMED }
      const status = index.status()
      if (status !== undefined) tell({ status, open: index.openTraces, change: hasChanged ? change : undefined })
      toldAt = begunAt
      hasChanged = false
      traceIds.clear()
    }
    if (step === undefined) await rest(POLL_MILLIS)
    else if (index.isUpToDate) await rest(Math.min(MAX_MILLIS, (performance.now() - begunAt) * RESTING_SHARE))
  }
}

async function rest(millis: number): Promise<void> {
  await new Promise<void>(resolve => {
    const timer = setTimeout(resolve, millis)
    wake = () => {
      clearTimeout(timer)
      resolve()
    }
  })
}

/**
 * Suppresses Node 22's warning that its SQLite is experimental, which does not help the user. This `process` is the thread's own.
 */
function keepQuietAboutExperiments(): void {
  const listeners = process.listeners('warning')
  process.removeAllListeners('warning')
  process.on('warning', warning => {
    if (warning.name !== 'ExperimentalWarning') for (const listener of listeners) listener(warning)
  })
}

keepQuietAboutExperiments()
const index = await LocalIndex.open(workerData as IndexSettings, pause)
parentPort?.on('message', (asked: Asked) => void answer(index, asked))
try {
  await work(index)
} finally {
  index.close()
  parentPort?.close()
}
