import { numberOf, peek, textOf } from '../../contract/foreign.ts'

/** An `error` of a message or of `session.error`: `{name, data: {message, statusCode?, isRetryable?}}`. */
export interface OpencodeFailure {
  readonly type: string
  readonly message: string | undefined
  readonly statusCode: number | undefined
  /** The user stopped the run, which is not an error. */
  readonly isAbort: boolean
}

const ABORTED = 'MessageAbortedError'
const UNNAMED = 'UnknownError'

export function failureOf(error: unknown): OpencodeFailure | undefined {
  if (error === undefined || error === null) return undefined
  const name = textOf(peek(error, 'name')) ?? UNNAMED
  const data = peek(error, 'data')
  const isAbort = name === ABORTED
  return {
    type: isAbort ? 'aborted' : name,
    message: textOf(peek(data, 'message')) ?? textOf(peek(error, 'message')) ?? textOf(error),
    statusCode: numberOf(peek(data, 'statusCode')),
    isAbort,
  }
}
