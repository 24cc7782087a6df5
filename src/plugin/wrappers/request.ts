import { peek } from '../../contract/foreign.ts'
import type { ApiEnd, ApiError } from '../../contract/index.ts'
import { type Course, idIn, merged, once, picked } from './course.ts'
import { failureOf, statusCodeOf } from './failure.ts'
import type { RequestHandle, RequestIds, RequestOptions } from './handles.ts'
import { addFacts, answerOf } from './model-answer.ts'
import { settle } from './settle.ts'

export function requestIds({ ids, requests }: Course, options: RequestOptions): RequestIds {
  const id = idIn(options, 'api_request_id', () => `${ids.turn_id}:r${requests.size + 1}`)
  const ordinal = requests.get(id) ?? requests.size + 1
  requests.set(id, ordinal)
  return { ...ids, api_request_id: id, api_call_count: ordinal }
}

export function runRequest<Result>(
  { emit }: Course,
  options: RequestOptions,
  ids: RequestIds,
  run: (request: RequestHandle) => Result,
): Result {
  emit('pre_api_request', merged(options, ids))
  const about = { ...picked(options, ['model', 'provider', 'retry_count']), ...ids }
  const end = once((said: ApiEnd & ApiError) => {
    const hook = peek(said, 'error') === undefined ? 'post_api_request' : 'api_request_error'
    emit(hook, merged(said, about))
  })
  let streamed: ApiEnd | undefined
  return settle(() => run({ ids, end: fields => end(fields ?? {}) }), {
    came: chunk => {
      streamed = addFacts(streamed ?? { first_chunk_at: Date.now() / 1000 }, chunk)
    },
    ended: answer => end(streamed ?? answerOf(answer)),
    failed: error => end(failedBy(error)),
  })
}

function failedBy(error: unknown): ApiError {
  const { type, message } = failureOf(error)
  const status = statusCodeOf(error)
  return { error: { type, message }, ...(status === undefined ? {} : { status_code: status }) }
}
