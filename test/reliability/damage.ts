import { appendFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { spansOfJson } from '../support/otlp-spans.mjs'
import { spanKey } from '../support/witness.ts'

/** What has happened to a segment, and which spans that costs: their ends, or the notes of their starts. */
export interface Damage {
  readonly what: string
  /** Whether the person must be told, because something is lost. */
  readonly isLoss: boolean
  inflict(path: string): ReadonlySet<string>
}

const NUL_BYTES = 4096

export const DAMAGES: readonly Damage[] = [
  {
    what: 'it is cut in the middle of its last line of spans',
    isLoss: true,
    inflict(path) {
      const lines = linesOf(path)
      const last = lines.findLastIndex(hasSpans)
      const kept = lines.slice(0, last).join('\n')
      truncateSync(path, Buffer.byteLength(kept) + 1 + Math.floor(Buffer.byteLength(lines[last] ?? '') / 2))
      return new Set(lines.slice(last).flatMap(keysOf))
    },
  },
  {
    what: 'a line in the middle has become NUL bytes',
    isLoss: true,
    inflict: path => replaceMiddle(path, line => '\0'.repeat(Buffer.byteLength(line))),
  },
  {
    what: 'a line in the middle has lost its second half',
    isLoss: true,
    inflict: path => replaceMiddle(path, line => line.slice(0, line.length / 2).padEnd(line.length)),
  },
  {
    what: 'NUL bytes follow, as after a power failure',
    isLoss: false,
    inflict(path) {
      appendFileSync(path, Buffer.alloc(NUL_BYTES))
      return new Set()
    },
  },
  {
    what: 'a line follows that somebody else has written',
    isLoss: false,
    inflict(path) {
      appendFileSync(path, `${JSON.stringify({ hello: 'there' })}\n`)
      return new Set()
    },
  },
]

/** Overwrites one line of spans in the middle, in place: what is delivered up to where is said in bytes. */
function replaceMiddle(path: string, change: (line: string) => string): ReadonlySet<string> {
  const lines = linesOf(path)
  const candidates = [...lines.keys()].filter(index => hasSpans(lines[index] ?? ''))
  const middle = candidates[Math.floor(candidates.length / 2)] ?? 0
  const line = lines[middle] ?? ''
  writeFileSync(path, lines.with(middle, change(line)).join('\n'))
  return new Set(keysOf(line))
}

function linesOf(path: string): string[] {
  return readFileSync(path, 'utf8').split('\n')
}

function hasSpans(line: string): boolean {
  return line.startsWith('{"resourceSpans"')
}

function keysOf(line: string): string[] {
  if (line === '') return []
  const { 'hookspan.open': open, ...request } = JSON.parse(line) as { 'hookspan.open'?: object }
  return spansOfJson(open ?? request).map(spanKey)
}
