import json5 from 'json5'
import type { Node } from 'jsonc-parser'
import jsonc from 'jsonc-parser'
import { readText, restorable } from './config-file.ts'
import { type FileChange, type NoChange, NotEditable, orByHand, type Plan } from './plan.ts'

export const FRESH = '{}\n'

export interface JsonConfig {
  readonly file: string
  readonly value: unknown
  readonly before: string | undefined
  readonly text: string
}

export async function readConfig(file: string, mayBeBlank = false): Promise<JsonConfig> {
  const before = await readText(file)
  const text = before === undefined || (mayBeBlank && before.trim() === '') ? FRESH : before
  try {
    return { file, before, text, value: readJson(text) }
  } catch (error) {
    throw new Error(`${file}, ${(error as Error).message}; it stays as it is`, { cause: error })
  }
}

export function about<Result>({ file, value }: JsonConfig, run: (root: unknown) => Result): Result {
  try {
    return run(value)
  } catch (error) {
    throw new Error(`${file} stays as it is: ${(error as Error).message}`, { cause: error })
  }
}

/** Leaves changes that cannot be made without a loss to the user. @param whyByHand why hookspan must not edit the file */
export function planEdit(
  config: JsonConfig,
  changes: readonly JsonChange[],
  unchanged: Pick<NoChange, 'why' | 'notes'>,
  more: Pick<FileChange, 'notes'> & Partial<FileChange>,
  whyByHand?: string,
): Plan {
  const { file, before, text } = config
  if (changes.length === 0) return { kind: 'nothing', file, ...unchanged }
  const plan = (): Plan => {
    const after = editJson(text, changes)
    if (whyByHand !== undefined) throw new NotEditable(whyByHand)
    return { kind: 'change', file, before, after, isUsers: true, ...more }
  }
  return orByHand(file, plan, () => describeChanges(config, changes))
}

/** Restores the original byte by byte if only our change was made since. */
export function exactUndo(
  config: JsonConfig,
  enabling: (root: unknown) => readonly JsonChange[],
): ReturnType<typeof restorable> {
  return restorable(config, FRESH, [old => editJson(old, enabling(readJson(old)))])
}

/** A path in a value: member names, and element indexes from 0. */
export type JsonPath = readonly (string | number)[]

export interface JsonChange {
  readonly path: JsonPath
  /** Undefined removes the value and parents that become empty. */
  readonly value?: unknown
}

const BYTE_ORDER_MARK = /^\uFEFF/
/** A comma, after blanks and comments. */
const COMMA = /^(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*,/

/** JSON with comments and trailing commas, or JSON5. Of duplicate names, the last counts. @throws Error with the position */
export function readJson(text: string): unknown {
  const root = treeOf(text)
  if (root !== undefined) return jsonc.getNodeValue(root)
  try {
    return json5.parse(text)
  } catch (error) {
    const { message, lineNumber, columnNumber } = error as Error & { lineNumber: number; columnNumber: number }
    const what = message.replace(/^JSON5: | at \d+:\d+$/g, '')
    throw new Error(`line ${lineNumber}, column ${columnNumber}: ${what}`, { cause: error })
  }
}

function treeOf(text: string): Node | undefined {
  const errors: unknown[] = []
  const root = jsonc.parseTree(text.replace(BYTE_ORDER_MARK, ' '), errors as never[], { allowTrailingComma: true })
  return errors.length === 0 ? root : undefined
}

export function valueAt(value: unknown, path: JsonPath): unknown {
  let current = value
  for (const step of path) {
    const isThere = typeof current === 'object' && current !== null && Object.hasOwn(current, step)
    current = isThere ? (current as Record<string | number, unknown>)[step] : undefined
  }
  return current
}

/** Applies the changes. All else, comments included, is kept byte by byte. @throws NotEditable */
export function editJson(text: string, changes: readonly JsonChange[]): string {
  return changes.reduce((edited, change) => {
    const root = treeOf(edited)
    if (root === undefined) throw new NotEditable('it is JSON5, and hookspan edits only JSON with comments')
    const value: unknown = jsonc.getNodeValue(root)
    const isRemoval = change.value === undefined
    const path = isRemoval ? prunedPath(value, change.path) : change.path
    const after = isRemoval ? withoutNode(edited, root, path) : withValue(edited, root, change, text)
    if (isRemoval) remove(value, path)
    else set(value, path, change.value)
    // The parser finds the first of two equal names, and the last one counts.
    if (JSON.stringify(readJson(after)) !== JSON.stringify(value))
      throw new NotEditable(repeatedName(text, change.path))
    return after
  }, text)
}

/** The first name of the path that is there more than once, and its lines in the text of the user. */
function repeatedName(text: string, path: JsonPath): string {
  const root = treeOf(text)
  for (const [depth, name] of path.entries()) {
    const { children = [] } = (root && jsonc.findNodeAtLocation(root, path.slice(0, depth))) ?? {}
    const same = children.filter(({ children: [key] = [] }) => key?.value === name)
    const lines = new Set(same.map(({ offset }) => text.slice(0, offset).split('\n').length))
    if (same.length > 1) return `${JSON.stringify(name)} is in it more than once (line ${[...lines].join(' and ')})`
  }
  return 'a name in it is there more than once'
}

/** Writes values as the text does: its line breaks and indent. An empty indent means all on one line. */
function styleOf(text: string) {
  const newline = text.includes('\r\n') ? '\r\n' : '\n'
  const isOneLine = text.trim().length > 2 && !text.trim().includes('\n')
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? (isOneLine ? '' : '  ')
  const render = (value: unknown, depth: number): string =>
    JSON.stringify(value, null, indent).replaceAll('\n', newline + indent.repeat(depth))
  return {
    render,
    lineAt: (depth: number): string => (indent === '' ? '' : newline + indent.repeat(depth)),
    member(name: string | number, value: unknown, depth: number): string {
      const rendered = render(value, depth)
      return typeof name === 'number' ? rendered : `${JSON.stringify(name)}:${indent === '' ? '' : ' '}${rendered}`
    },
  }
}

function withValue(text: string, root: Node, { path, value }: JsonChange, original: string): string {
  const style = styleOf(text)
  const found = jsonc.findNodeAtLocation(root, [...path])
  if (found !== undefined) return spliced(text, found.offset, endOf(found), style.render(value, path.length))
  let depth = path.length - 1
  while (depth > 0 && jsonc.findNodeAtLocation(root, path.slice(0, depth)) === undefined) depth--
  const into = jsonc.findNodeAtLocation(root, path.slice(0, depth)) ?? root
  if (into.type !== 'object' && into.type !== 'array') throw new NotEditable(repeatedName(original, path))
  const nested = path.slice(depth + 1).reduceRight((inner: unknown, step) => ({ [step]: inner }), value)
  const close = endOf(into) - 1
  const last = into.children?.at(-1)
  const member = style.member(path[depth] ?? '', nested, depth + 1)
  if (last === undefined) {
    const inside = text.slice(into.offset + 1, close)
    const isBlank = inside.trim() === ''
    const line = style.lineAt(depth + 1) + member + (isBlank ? style.lineAt(depth) : '')
    return spliced(text, into.offset + 1, isBlank ? close : into.offset + 1, line)
  }
  const tail = text.slice(endOf(last), close)
  const isInLine =
    !text.slice(into.offset, endOf(into)).includes('\n') && (into.type === 'array' || typeof value !== 'object')
  const hasComma = COMMA.test(tail)
  const start = isInLine ? (style.lineAt(0) === '' ? '' : ' ') : style.lineAt(depth + 1)
  const item = isInLine && into.type === 'array' ? JSON.stringify(nested) : member
  const end = endOf(last) + tail.trimEnd().length
  const added = spliced(text, end, end, start + item + (hasComma ? ',' : ''))
  return hasComma ? added : spliced(added, endOf(last), endOf(last), ',')
}

function withoutNode(text: string, root: Node, path: JsonPath): string {
  const found = jsonc.findNodeAtLocation(root, [...path])
  const node = found?.parent?.type === 'property' ? found.parent : found
  const siblings = node?.parent?.children
  if (node === undefined || siblings === undefined) return text
  const commaAfter = (sibling: Node): number => COMMA.exec(text.slice(endOf(sibling)))?.[0].length ?? 0
  const end = endOf(node) + commaAfter(node)
  const before = siblings[siblings.indexOf(node) - 1]
  const isLast = before !== undefined && end === endOf(node)
  const separator = isLast ? endOf(before) + commaAfter(before) : node.offset
  if (isLast && text.slice(separator, node.offset).trim() === '') return spliced(text, separator - 1, end, '')
  const lineStart = /\r?\n[ \t]*$/.exec(text.slice(0, node.offset))?.index
  const isOwnLine = lineStart !== undefined && /^[ \t]*(?:\r?\n|$)/.test(text.slice(end))
  const spaces = /^[ \t]*/.exec(text.slice(end))?.[0].length ?? 0
  const rest = isOwnLine ? spliced(text, lineStart, end, '') : spliced(text, node.offset, end + spaces, '')
  if (isLast) return spliced(rest, separator - 1, separator, '')
  // An object or list that became empty loses its line breaks.
  const { offset } = node.parent as Node
  return siblings.length === 1 ? rest.slice(0, offset + 1) + rest.slice(offset + 1).replace(/^\s+(?=[}\]])/, '') : rest
}

function endOf({ offset, length }: Node): number {
  return offset + length
}

export function spliced(text: string, start: number, end: number, part: string): string {
  return text.slice(0, start) + part + text.slice(end)
}

function describeChanges({ file, value }: JsonConfig, changes: readonly JsonChange[]): string[] {
  // Additions at the same place are merged into one block: a duplicate name would hide the first.
  const additions = new Map<string, object>()
  const lines = changes.flatMap(({ path, value: wanted }) => {
    if (wanted === undefined) return [`${file}: take out ${nameOf(prunedPath(value, path))}`]
    if (valueAt(value, path) !== undefined) return [`${file}: change ${nameOf(path)} to ${JSON.stringify(wanted)}`]
    let depth = path.length
    while (depth > 0 && valueAt(value, path.slice(0, depth)) === undefined) depth--
    const into = path.slice(0, depth)
    const isList = Array.isArray(valueAt(value, into))
    const name = nameOf(into) || 'the outermost braces'
    const block = additions.get(name) ?? (isList ? [] : {})
    additions.set(name, block)
    set(block, isList ? [0] : path.slice(depth), wanted)
    return []
  })
  const blocks = [...additions].flatMap(([name, block]) => {
    return [`${file}: add to ${name}:`, ...JSON.stringify(block, null, 2).split('\n').slice(1, -1)]
  })
  return [...lines, ...blocks]
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
  const steps = path.map(step => (typeof step === 'number' ? `[${step}]` : `.${step}`))
  return steps.join('').replace(/^\./, '')
}
