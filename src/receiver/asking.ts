import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { HookReply } from '../agents/guard-protocol.ts'
import type { Failing } from './decider.ts'

/** Bounds an error line for a user or a model, which travels as a header. */
const ERROR_LIMIT = 4000

/** Reads the header of a client that waits for a decision. It says how to decide if the hooks cannot be asked. */
export function failingIn(headers: IncomingHttpHeaders): Failing | undefined {
  const said = headers['x-hookspan-decide']
  return said === 'open' || said === 'closed' ? said : undefined
}

/** Sets the exit code and the error as headers, for a command that ends with them. Returns the body. */
export function setReply(response: ServerResponse, reply: HookReply | undefined): string | undefined {
  const { body, exitCode, error } = reply ?? {}
  if (exitCode !== undefined) response.setHeader('x-hookspan-exit', exitCode)
  if (error !== undefined) {
    response.setHeader('x-hookspan-error', Buffer.from(error.slice(0, ERROR_LIMIT)).toString('base64url'))
  }
  if (body === undefined) return undefined
  response.setHeader('content-type', 'application/json')
  return JSON.stringify(body)
}
