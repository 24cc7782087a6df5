import { ownValue, peek, textOf } from '../../contract/foreign.ts'

export interface Failure {
  readonly type: string | undefined
  readonly message: string | undefined
  readonly isAborted: boolean
  readonly isTimeout: boolean
}

export function failureOf(error: unknown): Failure {
  const name = textOf(peek(error, 'name'))
  return {
    type: typeOf(error, name),
    message: textOf(peek(error, 'message')) ?? textOf(error),
    isAborted: name === 'AbortError' || peek(error, 'code') === 'ABORT_ERR',
    isTimeout: name === 'TimeoutError',
  }
}

/** The most specific name of an error: many error classes do not set `name`. */
function typeOf(error: unknown, name: string | undefined): string | undefined {
  const named = name === 'Error' ? undefined : name
  const ofClass = textOf(ownValue(peek(error, 'constructor'), 'name'))
  return textOf(peek(error, 'type')) ?? named ?? textOf(peek(error, 'code')) ?? (name && (ofClass ?? name))
}

export function statusCodeOf(error: unknown): number | undefined {
  const said = peek(error, 'status') ?? peek(error, 'statusCode') ?? peek(peek(error, 'response'), 'status')
  return typeof said === 'number' ? said : undefined
}
