import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { homeDirectory, stateHome } from '../config/paths.ts'
import { type ReceiverPlace, receiverPlace } from '../config/receiver-place.ts'
import type { HookEvent } from './hook-event.ts'
import { readInput } from './input.ts'
import { listening } from './listening.ts'
import { post } from './post.ts'
import { countDropped, spool } from './spool.ts'
import { startReceiver } from './start-receiver.ts'

const RECEIVER_MILLIS = 100
/** A name of an endpoint. */
const HOST = /^[a-z][a-z0-9-]{0,40}$/
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

/**
 * Hands what an agent tells its hook, on standard input, to the receiver of this user; where there is none, leaves it in the
 * spool and has a receiver start. Ends the process, with 0 whatever happens, and says nothing: what a hook prints, and how it
 * ends, agents take for a decision.
 *
 * @param host names the endpoint: `claude-code`
 * @param program hookspan's own
 * @param millis as long as the agent may wait for a receiver that does not answer
 */
export async function forwardAndExit(
  host: string | undefined,
  program: string,
  millis: number = RECEIVER_MILLIS,
): Promise<never> {
  const exit = (): never => process.exit(0)
  process.on('uncaughtException', exit)
  await forward(host, program, millis).catch(exit)
  return exit()
}

async function forward(host: string | undefined, program: string, millis: number): Promise<void> {
  const home = stateHome(process.env, homeDirectory())
  if (host === undefined || !HOST.test(host) || home === undefined || process.stdin.isTTY) return
  const place = receiverPlace(home)
  const body = await readInput(process.stdin)
  if (body === undefined) return countDropped(place)
  if (body.length === 0) return
  const event = eventOf(host, body)
  if (await isTaken(event, place, program, millis)) return
  spool(event, place)
  await startReceiver(place, program)
}

function eventOf(host: string, body: Buffer): HookEvent {
  const told = process.env['TRACEPARENT']
  return {
    path: `/${host}`,
    // When this process began: the agent has fired the hook just before. `performance` says it, too, and takes a millisecond to load.
    at: Math.round(Date.now() - process.uptime() * 1000),
    id: `${process.pid}-${hex()}${hex()}`,
    body,
    traceparent: told !== undefined && TRACEPARENT.test(told) ? told : undefined,
  }
}

/** It guards nothing; it only has to differ. */
function hex(): string {
  return Math.floor(Math.random() * 2 ** 32)
    .toString(16)
    .padStart(8, '0')
}

async function isTaken(event: HookEvent, place: ReceiverPlace, program: string, millis: number): Promise<boolean> {
  try {
    return await post(event, listening(place), versionOf(program), millis)
  } catch {
    return false
  }
}

/** The receiver leaves to a newer one when it learns of it. */
function versionOf(program: string): string {
  const { version } = JSON.parse(readFileSync(join(program, '../../../package.json'), 'utf8')) as { version: string }
  return version
}
