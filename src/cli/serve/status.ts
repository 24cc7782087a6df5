import { readdirSync } from 'node:fs'
import { type ReceiverFiles, receiverFiles } from '../../receiver/receiver-files.ts'
import type { Health } from '../../receiver/running-receiver.ts'
import { type CommandIo, EXIT } from '../command.ts'
import { findRunning, holderOf, type RunningReceiver, where } from './receiver-process.ts'

const REFUSED: Readonly<Record<string, string>> = {
  cutOff: 'cut off',
  json: 'invalid JSON',
  protobuf: 'invalid protobuf',
  gzip: 'invalid gzip',
  service: 'spans of an unsupported service',
  rate: 'rate limit',
  busy: 'too many pending',
  size: 'too large',
  token: 'missing or wrong token',
  host: 'wrong Host header',
  origin: 'from a web page',
  path: 'unknown path',
  older: 'from a newer hookspan',
  connections: 'too many connections',
  spoolFile: 'files in the spool',
  spoolPlace: 'spool is not a directory',
}

/** Prints whether a receiver runs and its counters. Exit code 1 if none answers. */
export async function showStatus(io: CommandIo): Promise<number> {
  const place = receiverFiles(io.env, io.home)
  const running = await findRunning(place)
  const lines = running === undefined ? notRunning(place) : whatRuns(running)
  for (const line of lines) io.stdout.write(`${line}\n`)
  return running === undefined ? EXIT.failed : EXIT.ok
}

function notRunning(place: ReceiverFiles): string[] {
  const holder = holderOf(place)
  const waiting = filesIn(place.spool)
  return [
    holder === undefined
      ? 'No receiver is running; start one with "hookspan serve --detach".'
      : `The receiver (pid ${holder}) does not answer; stop it with "hookspan serve --stop".`,
    ...(waiting > 0 ? [`${count(waiting, 'event')} pending in ${place.spool}`] : []),
  ]
}

function filesIn(directory: string): number {
  try {
    return readdirSync(directory).filter(name => /^\d{13}-.*\.json$/.test(name)).length
  } catch {
    return 0
  }
}

function whatRuns({ peer: { address }, health }: RunningReceiver): string[] {
  const { counts, lines } = health
  const refused = Object.entries(counts.refused).map(([why, number]) => `${REFUSED[why] ?? why}: ${number}`)
  const ignored = Object.entries(health.recorder.agents).flatMap(([host, { hooks }]) =>
    hooks.ignored > 0 ? [`${count(hooks.ignored, 'event')}${host === '' ? '' : ` of ${host}`}`] : [],
  )
  return [
    `Receiver running: version ${health.version}, pid ${health.pid}, since ${new Date(health.startedAt).toISOString()}`,
    `  address  ${where(address)}`,
    `  open     ${count(health.openTurns, 'turn')}`,
    `  received ${taken(health)}`,
    ...(ignored.length > 0 ? [`  ignored  ${ignored.join(', ')}`] : []),
    ...(refused.length > 0 ? [`  refused  ${refused.join(', ')}`] : []),
    ...(counts.dropped > 0
      ? [`  lost     ${count(counts.dropped, 'event')}: no receiver was running, and the spool was full`]
      : []),
    ...Object.entries(health.lostHooks ?? {}).map(
      ([host, number]) => `  lost     ${count(number, 'hook')} of ${host}: sent and never received`,
    ),
    ...(lines.length > 0 ? ['  messages', ...lines.map(line => `    ${line}`)] : []),
  ]
}

function taken({ counts: { deliveries, spooled, duplicates, unreadable }, waiting }: Health): string {
  const parts = [
    count(deliveries, 'delivery', 'deliveries'),
    ...(spooled > 0 ? [`${spooled} from the spool`] : []),
    ...(duplicates > 0 ? [`${duplicates} duplicates ignored`] : []),
    ...(unreadable > 0 ? [`${unreadable} could not be read`] : []),
    ...(waiting > 0 ? [`${waiting} queued`] : []),
  ]
  return parts.join(', ')
}

function count(number: number, one: string, several = `${one}s`): string {
  return `${number} ${number === 1 ? one : several}`
}
