import { booleanOf, elementsOf, numberOf, peek, textOf } from '../../contract/foreign.ts'

/** What was thrown, as plain data. */
export interface Failure {
  /** Of its class. */
  readonly name: string | undefined
  readonly message: string | undefined
  /** Of the HTTP answer. */
  readonly statusCode: number | undefined
  /** What the SDK makes of it: whether it would try again. */
  readonly isRetryable: boolean | undefined
}

/** What was thrown, as plain data; of retries that were given up, the last error. */
export function plainError(thrown: unknown): Failure {
  const error = peek(thrown, 'lastError') ?? elementsOf(peek(thrown, 'errors'), 1, 'last')[0] ?? thrown
  return {
    name: textOf(peek(error, 'name')),
    message: textOf(typeof error === 'string' ? error : peek(error, 'message')),
    statusCode: numberOf(peek(error, 'statusCode')),
    isRetryable: booleanOf(peek(error, 'isRetryable')),
  }
}

/** Somebody stopped it: no error of anything. */
export function isAborted(failure: unknown): boolean {
  const name = peek(failure, 'name')
  return name === 'AbortError' || name === 'ResponseAborted' || isStreamLeft(failure)
}

/**
 * The reader of a stream with a single consumer has cancelled it: the SDK then closes its controller a second time, and reports
 * the error of Node about that.
 */
export function isStreamLeft(failure: unknown): boolean {
  return peek(failure, 'name') === 'TypeError' && peek(failure, 'message') === CLOSED_TWICE
}

const CLOSED_TWICE = 'Invalid state: Controller is already closed'
