import { readdirSync } from 'node:fs'
import type { Health } from '../../receiver/peer.ts'
import type { Place } from '../../receiver/place.ts'
import { type CommandIo, EXIT } from '../command.ts'
import { findRunning, holderOf, placeIn, type Running } from './receiver-process.ts'

/** Labels of refusals whose name is not readable. */
const REFUSED: Readonly<Record<string, string>> = {
  cutOff: 'cut off',
  json: 'no JSON',
  protobuf: 'no protobuf',
  gzip: 'no gzip',
  service: 'spans of services that none are taken from',
  rate: 'too many a second',
  busy: 'too much at once',
  size: 'too large',
  token: 'no token, or a wrong one',
  host: 'another Host',
  origin: 'from a web page',
  path: 'unknown path',
  older: 'from a newer hookspan',
  connections: 'too many connections',
  spoolFile: 'files in the spool',
  spoolPlace: 'a spool that is no directory',
}

/** Prints whether a receiver runs and its counters. Exit code 1 if none answers. */
export async function showStatus(io: CommandIo): Promise<number> {
  const place = placeIn(io)
  const running = await findRunning(place)
  const lines = running === undefined ? notRunning(place) : whatRuns(running)
  for (const line of lines) io.stdout.write(`${line}\n`)
  return running === undefined ? EXIT.failed : EXIT.ok
}

function notRunning(place: Place): string[] {
  const holder = holderOf(place)
  const waiting = filesIn(place.spool)
  return [
    holder === undefined
      ? 'No receiver runs; "hookspan serve --detach" starts one.'
      : `The receiver (pid ${holder}) does not answer; "hookspan serve --stop" ends it.`,
    ...(waiting > 0 ? [`${count(waiting, 'event')} wait for one in ${place.spool}`] : []),
  ]
}

function filesIn(directory: string): number {
  try {
    return readdirSync(directory).filter(name => /^\d{13}-.*\.json$/.test(name)).length
  } catch {
    return 0
  }
}

function whatRuns({ peer: { address }, health }: Running): string[] {
  const { counts, lines } = health
  const refused = Object.entries(counts.refused).map(([why, number]) => `${REFUSED[why] ?? why}: ${number}`)
  const ignored = Object.entries(health.recorder.agents).flatMap(([host, { hooks }]) =>
    hooks.ignored > 0 ? [`${count(hooks.ignored, 'event')}${host === '' ? '' : ` of ${host}`}`] : [],
  )
  return [
    `A receiver runs: version ${health.version}, pid ${health.pid}, since ${new Date(health.startedAt).toISOString()}`,
    `  listens  ${where(address)}`,
    `  open     ${count(health.openTurns, 'turn')}`,
    `  taken    ${taken(health)}`,
    ...(ignored.length > 0 ? [`  ignored  ${ignored.join(', ')}`] : []),
    ...(refused.length > 0 ? [`  refused  ${refused.join(', ')}`] : []),
    ...(counts.dropped > 0
      ? [`  lost     ${count(counts.dropped, 'event')}: no receiver ran, and the spool was full`]
      : []),
    ...Object.entries(health.lostHooks ?? {}).map(
      ([host, number]) => `  lost     ${count(number, 'hook')} of ${host}: fired and never received`,
    ),
    ...(lines.length > 0 ? ['  it said', ...lines.map(line => `    ${line}`)] : []),
  ]
}

export function where({ socket, port }: { readonly socket: string | null; readonly port: number | null }): string {
  return [...(port === null ? [] : [`http://127.0.0.1:${port}`]), ...(socket === null ? [] : [socket])].join('  ')
}

function taken({ counts: { deliveries, spooled, duplicates, unreadable }, waiting }: Health): string {
  const parts = [
    count(deliveries, 'delivery', 'deliveries'),
    ...(spooled > 0 ? [`${spooled} of them from the spool`] : []),
    ...(duplicates > 0 ? [`${duplicates} more came twice`] : []),
    ...(unreadable > 0 ? [`${unreadable} could not be read`] : []),
    ...(waiting > 0 ? [`${waiting} wait`] : []),
  ]
  return parts.join(', ')
}

function count(number: number, one: string, several = `${one}s`): string {
  return `${number} ${number === 1 ? one : several}`
}
