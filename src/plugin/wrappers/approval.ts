import { ownValue, textOf } from '../../contract/foreign.ts'
import type { ApprovalResponse } from '../../contract/index.ts'
import { type Course, madeId, merged, once, picked } from './course.ts'
import { failureOf } from './failure.ts'
import type { ApprovalHandle, ApprovalOptions, ToolIds } from './handles.ts'
import { settle } from './settle.ts'

const GRANTED = 'once'
const DENIED = 'deny'

/** Synonyms of the two choices that the hooks define. */
const SAME_WORD: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [true, GRANTED],
  ['allow', GRANTED],
  ['allowed', GRANTED],
  ['approve', GRANTED],
  ['approved', GRANTED],
  ['yes', GRANTED],
  [false, DENIED],
  ['denied', DENIED],
  ['reject', DENIED],
  ['rejected', DENIED],
  ['no', DENIED],
])

export function runApproval<Result>(
  course: Course,
  options: ApprovalOptions,
  inside: ToolIds | undefined,
  run: (approval: ApprovalHandle) => Result,
): Result {
  const ids = inside ?? course.ids
  // Unique, because two questions may be open at once.
  const pair = { ...ids, request_id: madeId(course) }
  course.emit('pre_approval_request', merged(options, pair))
  const about = { ...picked(options, ['pattern_key', 'surface']), ...pair }
  const end = once((said: ApprovalResponse) => void course.emit('post_approval_response', merged(said, about)))
  return settle(() => run({ ids, end: fields => end(fields ?? {}) }), {
    ended: answer => end(choiceOf(answer)),
    failed: error => end({ choice: wordOf(error) }),
  })
}

function choiceOf(answer: unknown): ApprovalResponse {
  const said = ownValue(answer, 'choice') ?? answer
  const choice = SAME_WORD.get(typeof said === 'string' ? said.trim().toLowerCase() : said) ?? textOf(said)
  return choice === undefined ? {} : { choice }
}

function wordOf(error: unknown): string {
  const { isAborted, isTimeout } = failureOf(error)
  if (isTimeout) return 'timeout'
  return isAborted ? 'cancelled' : 'error'
}
