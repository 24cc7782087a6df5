import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { homeDirectory, stateHome } from '../config/paths.ts'
import { type ReceiverPlace, receiverPlace } from '../config/receiver-place.ts'
import { NOTHING, type Said, type Wanted, wantedBy } from './asking.ts'
import type { HookEvent } from './hook-event.ts'
import { readInput } from './input.ts'
import { listening } from './listening.ts'
import { post } from './post.ts'
import { countDropped, spool } from './spool.ts'
import { startReceiver } from './start-receiver.ts'
import { untilUp } from './until-up.ts'

const RECEIVER_MILLIS = 100
/** Where hooks decide. */
const DECIDING_MILLIS = 1000
/** A name of an endpoint. */
const HOST = /^[a-z][a-z0-9-]{0,40}$/
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

/**
 * Hands what an agent tells its hook, on standard input, to the receiver of this user; where there is none, leaves it in the
 * spool and has a receiver start. Ends the process, with 0 whatever happens, and says nothing: what a hook prints, and how it
 * ends, agents take for a decision. Where one is wanted, it is the one of the receiver.
 *
 * @param host names the endpoint: `claude-code`
 * @param program hookspan's own
 * @param options as `wantedBy` reads them
 * @param millis as long as the agent may wait for a receiver that does not answer
 */
export async function forwardAndExit(
  host: string | undefined,
  program: string,
  options: readonly string[],
  millis?: number,
): Promise<never> {
  const wanted = wantedBy(options)
  process.on('uncaughtException', () => void exitWith(wanted.otherwise))
  const said = await forward(host, program, wanted, millis).catch(() => undefined)
  return await exitWith(said ?? wanted.otherwise)
}

/** What was not written when a process exits is never read. */
async function exitWith({ code, out, error }: Said): Promise<never> {
  if (out.length > 0) await new Promise<unknown>(resolve => process.stdout.write(out, resolve))
  if (error !== '') await new Promise<unknown>(resolve => process.stderr.write(error, resolve))
  process.exit(code)
}

/** What the agent is told; undefined where nobody has said it. */
async function forward(
  host: string | undefined,
  program: string,
  wanted: Wanted,
  millis: number = wanted.decides === undefined ? RECEIVER_MILLIS : DECIDING_MILLIS,
): Promise<Said | undefined> {
  const home = stateHome(process.env, homeDirectory())
  if (host === undefined || !HOST.test(host) || home === undefined || process.stdin.isTTY) return undefined
  const place = receiverPlace(home)
  const body = await readInput(process.stdin)
  if (body === undefined) countDropped(place)
  if (body === undefined || body.length === 0) return undefined
  const event = eventOf(host, body, wanted.id)
  const said = await taken(event, place, program, wanted, millis)
  if (said !== undefined) return wanted.decides === undefined ? NOTHING : said
  spool(event, place)
  await startReceiver(place, program)
  if (wanted.waits) await untilUp(place)
  return undefined
}

function eventOf(host: string, body: Buffer, id: string | undefined): HookEvent {
  const told = process.env['TRACEPARENT']
  return {
    path: `/${host}`,
    // When this process began: the agent has fired the hook just before. `performance` says it, too, and takes a millisecond to load.
    at: Math.round(Date.now() - process.uptime() * 1000),
    id: id ?? `${process.pid}-${hex()}${hex()}`,
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

async function taken(
  event: HookEvent,
  place: ReceiverPlace,
  program: string,
  wanted: Wanted,
  millis: number,
): Promise<Said | undefined> {
  try {
    return await post(event, listening(place), versionOf(program), wanted, millis)
  } catch {
    return undefined
  }
}

/** The receiver leaves to a newer one when it learns of it. */
function versionOf(program: string): string {
  const { version } = JSON.parse(readFileSync(join(program, '../../../package.json'), 'utf8')) as { version: string }
  return version
}
