import type { JsonPath, JsonText } from './json5.ts'

/** A wanted value in a JSON document. Missing parent objects are created. */
export interface JsonChange {
  readonly path: JsonPath
  /** Undefined removes the value and parents that become empty. */
  readonly value?: unknown
}

/** The value at a path; undefined if there is none. */
export function valueAt(value: unknown, path: JsonPath): unknown {
  let current = value
  for (const step of path) {
    const isThere = typeof current === 'object' && current !== null && Object.hasOwn(current, step)
    current = isThere ? (current as Record<string | number, unknown>)[step] : undefined
  }
  return current
}

/**
 * Applies the changes with the standard JSON functions. Keeps indentation and line endings.
 *
 * @throws SyntaxError if the text is not strict JSON
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

/** The indentation of the document: empty if it is on one line, two spaces if it is an empty object. */
function indentationOf(text: string): string {
  return /\n([ \t]+)\S/.exec(text)?.[1] ?? (text.length > 2 && !text.includes('\n') ? '' : '  ')
}

/** The reason why rewriting the text would lose something. Undefined if it is safe. */
export function whyNotEditable(text: string): string | undefined {
  try {
    const kept = JSON.stringify(JSON.parse(text.trim()))
    return spelledShort(text) === kept ? undefined : 'numbers or names in it would not come out as they are'
  } catch {
    return 'it is JSON5, with comments or the like that would be lost'
  }
}

/** Removes whitespace and normalizes strings as the standard functions write them. */
function spelledShort(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|\s+/g, part => (part.startsWith('"') ? JSON.stringify(JSON.parse(part)) : ''))
}

/** Instructions for making the changes by hand, with file and line number. */
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

/** Additions at the same place are merged into one block: a duplicate name would hide the first. */
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

/** The path, or that of the outermost parent that would become empty. Never the whole document. */
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
