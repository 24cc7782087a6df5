import type { JsonPath, JsonText } from './json5.ts'

/** What is to be at a place of a JSON value, in objects that are made where they are missing. */
export interface JsonChange {
  readonly path: JsonPath
  /** Undefined: what is there goes, and what would be left empty around it. */
  readonly value?: unknown
}

/** What is at the path; undefined where there is nothing. */
export function valueAt(value: unknown, path: JsonPath): unknown {
  let current = value
  for (const step of path) {
    const isThere = typeof current === 'object' && current !== null && Object.hasOwn(current, step)
    current = isThere ? (current as Record<string | number, unknown>)[step] : undefined
  }
  return current
}

/**
 * The text with the changes made: read and written by the standard functions, with its own indentation and line ends.
 *
 * @throws SyntaxError when it is no strict JSON
 */
export function editJson(text: string, changes: readonly JsonChange[]): string {
  const value: unknown = JSON.parse(text.trim())
  for (const { path, value: wanted } of changes) {
    if (wanted === undefined) remove(value, prunedPath(value, path))
    else set(value, path, wanted)
  }
  const [[before = ''], [behind = '']] = [/^\s*/.exec(text) ?? [], /\s*$/.exec(text) ?? []]
  const written = JSON.stringify(value, null, indentationOf(text.trim()))
  return before + (text.includes('\r\n') ? written.replaceAll('\n', '\r\n') : written) + behind
}

/** None of what is written in one line; two blanks of what is empty. */
function indentationOf(text: string): string {
  return /\n([ \t]+)\S/.exec(text)?.[1] ?? (text.length > 2 && !text.includes('\n') ? '' : '  ')
}

/** Why the text cannot be edited so without losing something; undefined when it can. */
export function whyNotEditable(text: string): string | undefined {
  try {
    const kept = JSON.stringify(JSON.parse(text.trim()))
    return spelledShort(text) === kept ? undefined : 'numbers or names in it would not come out as they are'
  } catch {
    return 'it is JSON5, with comments or the like that would be lost'
  }
}

/** Strict JSON without blanks, each string as the standard functions write it. */
function spelledShort(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|\s+/g, part => (part.startsWith('"') ? JSON.stringify(JSON.parse(part)) : ''))
}

/** The changes as lines that tell a person what to write, and in which line of which file. */
export function describeChanges(file: string, { value, lineOf }: JsonText, changes: readonly JsonChange[]): string[] {
  const place = (path: JsonPath): string => `${file}:${lineOf(path)}:`
  const additions = new Map<string, Addition>()
  const lines = changes.flatMap(({ path, value: wanted }) => {
    if (wanted === undefined) {
      const pruned = prunedPath(value, path)
      return [`${place(pruned)} take out ${nameOf(pruned)}`]
    }
    if (valueAt(value, path) !== undefined) {
      return [`${place(path)} change ${nameOf(path)} to ${JSON.stringify(wanted)}`]
    }
    add(additions, value, path, wanted)
    return []
  })
  const blocks = [...additions.values()].flatMap(({ into, block }) => {
    const where = into.length === 0 ? 'the outermost braces' : nameOf(into)
    return [`${place(into)} add to ${where}:`, ...JSON.stringify(block, null, 2).split('\n').slice(1, -1)]
  })
  return [...lines, ...blocks]
}

interface Addition {
  readonly into: JsonPath
  readonly block: object
}

/** What goes into the same place is one block: a name that is there twice would hide the first. */
function add(additions: Map<string, Addition>, root: unknown, path: JsonPath, wanted: unknown): void {
  let depth = path.length
  while (depth > 0 && valueAt(root, path.slice(0, depth)) === undefined) depth--
  const into = path.slice(0, depth)
  const key = JSON.stringify(into)
  const isList = Array.isArray(valueAt(root, into))
  const { block } = additions.get(key) ?? { block: isList ? [] : {} }
  additions.set(key, { into, block })
  set(block, isList ? [0] : path.slice(depth), wanted)
}

function set(root: unknown, path: JsonPath, wanted: unknown): void {
  let holder = root as Record<string | number, unknown>
  for (const step of path.slice(0, -1)) {
    holder[step] ??= {}
    holder = holder[step] as Record<string | number, unknown>
  }
  holder[path.at(-1) ?? ''] = wanted
}

function remove(root: unknown, path: JsonPath): void {
  const holder = valueAt(root, path.slice(0, -1))
  const step = path.at(-1) ?? ''
  if (Array.isArray(holder)) holder.splice(Number(step), 1)
  else delete (holder as Record<string, unknown>)[step]
}

/** The path, or that of the outermost value that would have nothing else in it; never the whole document. */
function prunedPath(root: unknown, path: JsonPath): JsonPath {
  const outer = path.slice(0, -1)
  const isAlone = outer.length > 0 && Object.keys(valueAt(root, outer) ?? {}).length === 1
  return isAlone ? prunedPath(root, outer) : path
}

function nameOf(path: JsonPath): string {
  return path
    .map(step => (typeof step === 'number' ? `[${step}]` : step))
    .join('.')
    .replaceAll('.[', '[')
}
