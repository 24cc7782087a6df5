import { isRecord, parseJson } from './attribute-value.ts'
import { commonPairs } from './common-pairs.ts'

/** Longer texts are compared line by line without parsing: parsing megabytes of JSON does not improve the diff. */
const MAX_JSON_CHARS = 200_000
const MAX_LINES = 2_000
const MAX_DEPTH = 50

export type DiffLine = Readonly<{ sign: ' ' | '-' | '+'; text: string }>

/**
 * Splits a tool's arguments into lines, one per value, so that equal arguments give equal lines. JSON is written with sorted
 * keys, other text is split as it is.
 */
export function argumentLines(text: string): string[] {
  if (text === '') return []
  const lines: string[] = []
  const value = text.length > MAX_JSON_CHARS ? undefined : parseJson(text)
  if (value === undefined || typeof value === 'string') lines.push(...splitLines(value ?? text))
  else writeValue(lines, value, '', 0)
  if (lines.length <= MAX_LINES) return lines
  return [...lines.slice(0, MAX_LINES), lines.slice(MAX_LINES).join('\n')]
}

export function diffLines(a: readonly string[], b: readonly string[]): DiffLine[] {
  const lines: DiffLine[] = []
  let [atA, atB] = [0, 0]
  const until = (endA: number, endB: number): void => {
    for (; atA < endA; atA++) lines.push({ sign: '-', text: a[atA] ?? '' })
    for (; atB < endB; atB++) lines.push({ sign: '+', text: b[atB] ?? '' })
  }
  for (const [placeA, placeB] of commonPairs(a, b)) {
    until(placeA, placeB)
    lines.push({ sign: ' ', text: a[placeA] ?? '' })
    atA = placeA + 1
    atB = placeB + 1
  }
  until(a.length, b.length)
  return lines
}

/** Joins the string values of a JSON text and ignores their keys: agents name the same argument differently. */
export function argumentTexts(text: string): string {
  const value = text.length > MAX_JSON_CHARS ? undefined : parseJson(text)
  if (typeof value !== 'object' || value === null) return text.trim()
  const found: string[] = []
  const open: unknown[] = [value]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === 'string') found.push(next)
    else if (typeof next === 'object' && next !== null) open.push(...Object.values(next).slice(0, MAX_LINES))
  }
  return found.sort().join('\n')
}

function splitLines(text: string): string[] {
  return text.split(/\r?\n/)
}

function writeValue(lines: string[], value: unknown, name: string, depth: number): void {
  const indent = '  '.repeat(depth)
  if (typeof value === 'string' && value.includes('\n')) {
    lines.push(`${indent}${name}`.trimEnd(), ...splitLines(value).map(line => `${indent}  ${line}`))
    return
  }
  const entries = entriesOf(value)
  if (entries === undefined || entries.length === 0 || depth >= MAX_DEPTH) {
    lines.push(`${indent}${name}${entries !== undefined && entries.length > 0 ? '…' : JSON.stringify(value)}`)
    return
  }
  // No commas and no bracket lines: the last entry of an object would differ from an entry with a successor.
  if (name !== '') lines.push(`${indent}${name}`.trimEnd())
  for (const [key, entry] of entries) {
    if (lines.length > MAX_LINES) return
    writeValue(lines, entry, key, name === '' ? depth : depth + 1)
  }
}

function entriesOf(value: unknown): (readonly [string, unknown])[] | undefined {
  if (Array.isArray(value)) return value.map(entry => ['- ', entry] as const)
  if (typeof value !== 'object' || value === null) return undefined
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, entry]) => [`${/^[\w-]+$/.test(key) ? key : JSON.stringify(key)}: `, entry] as const)
}

/** Names of the old and the new text, per agent. */
const EDITS = [
  ['old_string', 'new_string'],
  ['oldString', 'newString'],
  ['old_str', 'new_str'],
  ['oldText', 'newText'],
  ['old_text', 'new_text'],
  ['old', 'new'],
  ['search', 'replace'],
] as const
const NESTED: ReadonlySet<string> = new Set(['edits', 'changes', 'operation', 'operations', 'input', 'command'])
const PATCHES: ReadonlySet<string> = new Set(['diff', 'patch', 'patchText', 'unified_diff'])
const MAX_EDITS = 100
const MAX_EDIT_DEPTH = 4

/** The edit in the arguments of a tool as lines of a diff: old and new text, a list of such pairs, or a patch. */
export function editLines(value: unknown, depth = 0): readonly DiffLine[] {
  if (typeof value === 'string') return /^(?:\*\*\* Begin Patch|@@ |<{5,} SEARCH)/m.test(value) ? patchLines(value) : []
  if (depth === MAX_EDIT_DEPTH || typeof value !== 'object' || value === null) return []
  if (!isRecord(value))
    return Object.values(value)
      .slice(0, MAX_EDITS)
      .flatMap(each => editLines(each, depth + 1))
  for (const [old, fresh] of EDITS) {
    const [before, after] = [value[old], value[fresh]]
    if (typeof before === 'string' && typeof after === 'string') {
      return diffLines(splitText(before), splitText(after))
    }
  }
  return Object.entries(value).flatMap(([name, entry]) => {
    if (PATCHES.has(name) && typeof entry === 'string') return /^[-+]/m.test(entry) ? patchLines(entry) : []
    return NESTED.has(name) ? editLines(entry, depth + 1) : []
  })
}

function splitText(text: string): string[] {
  return text === '' ? [] : text.split('\n')
}

/** Signs of a unified diff, or of a block between `<<<<<<< SEARCH`, `=======` and `>>>>>>> REPLACE`. */
function patchLines(text: string): DiffLine[] {
  let block: DiffLine['sign'] | undefined
  return text.split('\n').map(line => {
    if (/^<{5,} /.test(line)) block = '-'
    else if (/^={5,}$/.test(line) && block === '-') block = '+'
    else if (/^>{5,} /.test(line)) block = undefined
    else if (block !== undefined) return { sign: block, text: line }
    else if (/^[-+](?![-+]{2} )/.test(line)) return { sign: line.startsWith('+') ? '+' : '-', text: line.slice(1) }
    return { sign: ' ', text: line }
  })
}
