import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { homeDirectory, type ReceiverPlace, receiverPlace, stateHome } from '../../plugin/config/paths.ts'
import { NOTHING, type Said, type Wanted, wantedBy } from './asking.ts'
import type { HookEvent } from './hook-event.ts'
import { readInput } from './input.ts'
import { listening } from './listening.ts'
import { post } from './post.ts'
import { countDropped, spool } from './spool.ts'
import { startReceiver } from './start-receiver.ts'
import { untilUp } from './until-up.ts'

const RECEIVER_MILLIS = 100
const DECIDING_MILLIS = 1000
const HOST = /^[a-z][a-z0-9-]{0,40}$/
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

/**
 * Forwards a hook's standard input to the receiver of this user. If none answers, spools the event and starts a receiver.
 * Exits the process, always with 0 and without output, because agents take a hook's output and exit code for a decision. If a
 * decision is requested, prints that of the receiver.
 *
 * @param host names the endpoint: `claude-code`
 * @param program path of the hookspan command
 * @param options as parsed by `wantedBy`
 * @param millis longest time that the agent may wait for a receiver that does not answer
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

/** Waits for the output: data not yet written at exit is lost. */
async function exitWith({ code, out, error }: Said): Promise<never> {
  if (out.length > 0) await new Promise<unknown>(resolve => process.stdout.write(out, resolve))
  if (error !== '') await new Promise<unknown>(resolve => process.stderr.write(error, resolve))
  process.exit(code)
}

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
    // The start of this process, just after the agent fired the hook. `performance` has it, too, but takes a millisecond to
    // load.
    at: Math.round(Date.now() - process.uptime() * 1000),
    id: id ?? `${process.pid}-${hex()}${hex()}`,
    body,
    traceparent: told !== undefined && TRACEPARENT.test(told) ? told : undefined,
  }
}

/** Needs no security, only uniqueness. */
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

/** Sent along, so that an older receiver hands over to a newer one. */
function versionOf(program: string): string {
  const { version } = JSON.parse(readFileSync(join(program, '../../../package.json'), 'utf8')) as { version: string }
  return version
}
