import type { HostEvent } from '../agents/host-event.ts'
import { numberOf, peek, textOf } from '../contract/foreign.ts'

export interface JournalEntry {
  readonly host: string
  readonly at: number
  readonly id?: string | undefined
  readonly event: HostEvent & { readonly at: number }
}

export type JournalLine =
  | { readonly kind: 'header'; readonly version: number }
  | { readonly kind: 'ids'; readonly ids: readonly string[] }
  /** `isPast`: nothing of the event was open any more when the journal was last compacted. */
  | { readonly kind: 'entry'; readonly entry: JournalEntry; readonly isPast: boolean }
  | { readonly kind: 'damaged' }

const HEADER = 'hookspan.journal'
export const JOURNAL_VERSION = 1

export function headerLine(): string {
  return `${JSON.stringify({ [HEADER]: { version: JOURNAL_VERSION } })}\n`
}

export function idsLine(ids: readonly string[]): string {
  return `${JSON.stringify({ ids })}\n`
}

/** Replaces the opening brace of a line to mark its entry as past. */
export const PAST: Buffer = Buffer.from('{"past":true,')

export function entryLine({ host, at, id, event }: JournalEntry): string {
  return `${JSON.stringify({ host, at, id, event })}\n`
}

export function readLine(text: string): JournalLine {
  let line: unknown
  try {
    line = JSON.parse(text)
  } catch {
    return { kind: 'damaged' }
  }
  const header = peek(line, HEADER)
  if (header !== undefined) return { kind: 'header', version: numberOf(peek(header, 'version')) ?? 0 }
  const ids = peek(line, 'ids')
  if (Array.isArray(ids)) return { kind: 'ids', ids: ids.filter(id => typeof id === 'string') }
  const entry = readEntry(line)
  return entry === undefined ? { kind: 'damaged' } : { kind: 'entry', entry, isPast: peek(line, 'past') === true }
}

function readEntry(line: unknown): JournalEntry | undefined {
  const [host, at, id, event] = ['host', 'at', 'id', 'event'].map(name => peek(line, name))
  if (typeof host !== 'string' || typeof at !== 'number') return undefined
  if (textOf(peek(event, 'event')) === undefined || typeof peek(event, 'at') !== 'number') return undefined
  return { host, at, ...(typeof id === 'string' ? { id } : {}), event: event as JournalEntry['event'] }
}
