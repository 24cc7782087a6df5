import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Reply } from '../hosts/guarding.ts'
import type { Failing } from './decider.ts'

/** A line for a person or a model; as a header it must not get too long for who reads it. */
const ERROR_LIMIT = 4000

/** Who sends this header waits for what hooks decide; it says what shall be where they cannot be asked. */
export function failingIn(headers: IncomingHttpHeaders): Failing | undefined {
  const said = headers['x-hookspan-decide']
  return said === 'open' || said === 'closed' ? said : undefined
}

/** What is no body of it becomes headers, for a command that ends with it. Returns the body. */
export function setReply(response: ServerResponse, reply: Reply | undefined): string | undefined {
  const { body, exitCode, error } = reply ?? {}
  if (exitCode !== undefined) response.setHeader('x-hookspan-exit', exitCode)
  if (error !== undefined) {
    response.setHeader('x-hookspan-error', Buffer.from(error.slice(0, ERROR_LIMIT)).toString('base64url'))
  }
  if (body === undefined) return undefined
  response.setHeader('content-type', 'application/json')
  return JSON.stringify(body)
}
