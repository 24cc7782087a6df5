import { booleanOf, elementsOf, numberOf, peek, textOf } from '../../contract/foreign.ts'

export interface PlainError {
  readonly name: string | undefined
  readonly message: string | undefined
  readonly statusCode: number | undefined
  readonly isRetryable: boolean | undefined
}

/** Converts an exception to plain data. For exhausted retries, the last error counts. */
export function plainError(thrown: unknown): PlainError {
  const error = peek(thrown, 'lastError') ?? elementsOf(peek(thrown, 'errors'), 1, 'last')[0] ?? thrown
  return {
    name: textOf(peek(error, 'name')),
    message: textOf(typeof error === 'string' ? error : peek(error, 'message')),
    statusCode: numberOf(peek(error, 'statusCode')),
    isRetryable: booleanOf(peek(error, 'isRetryable')),
  }
}

export function isAborted(failure: unknown): boolean {
  const name = peek(failure, 'name')
  return name === 'AbortError' || name === 'ResponseAborted' || isStreamLeft(failure)
}

/**
 * True if the single reader of a stream cancelled it: the SDK then closes its controller twice and reports Node's error
 * about that.
 */
export function isStreamLeft(failure: unknown): boolean {
  return peek(failure, 'name') === 'TypeError' && peek(failure, 'message') === CLOSED_TWICE
}

const CLOSED_TWICE = 'Invalid state: Controller is already closed'
