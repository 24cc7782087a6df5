import { type ArrayNode, type JsonNode, type JsonPath, nodeAt, type ObjectNode, parseJson5 } from './json5-document.ts'

/** A change of a JSON value. */
export type JsonChange =
  /** The value at the path, in objects that are made where they are missing. */
  | { readonly kind: 'set'; readonly path: JsonPath; readonly value: unknown }
  /** One more element at the end of the list at the path, which is there. */
  | { readonly kind: 'add'; readonly path: JsonPath; readonly value: unknown }
  /** What is at the path goes, and what would be left empty around it. */
  | { readonly kind: 'remove'; readonly path: JsonPath }

interface Style {
  readonly unit: string
  readonly newline: string
  /** The whole text stands in one line. */
  readonly isOneLine: boolean
  /** After a comma or a colon: one, or none where a program wrote it as short as it could. */
  readonly space: '' | ' '
}

/** Makes the changes in strict JSON one after another; all other characters of the text stay what they are. */
export function editJson(text: string, changes: readonly JsonChange[]): string {
  return changes.reduce(editOnce, text)
}

function editOnce(text: string, change: JsonChange): string {
  const root = parseJson5(text)
  const style = styleOf(text)
  if (change.kind === 'remove') return removeAt(text, root, prunedPath(root, change.path))
  const { parent, rest } = deepestAt(root, change.path)
  if (rest.length === 0 && change.kind === 'set') {
    return splice(text, parent, written(change.value, lineIndent(text, parent.start), style))
  }
  if (parent.kind === 'scalar') return text
  const [key, ...inner] = rest
  const value = inner.reduceRight<unknown>((nested, name) => ({ [name]: nested }), change.value)
  return insert(text, parent, key === undefined ? '' : `${JSON.stringify(key)}:`, value, style)
}

/** How far the path leads: the last value that is there, and the part of the path that is not. */
export function deepestAt(root: JsonNode, path: JsonPath): { parent: JsonNode; rest: JsonPath; depth: number } {
  let depth = path.length
  while (depth > 0 && nodeAt(root, path.slice(0, depth)) === undefined) depth--
  return { parent: nodeAt(root, path.slice(0, depth)) ?? root, rest: path.slice(depth), depth }
}

/** The path, or that of the outermost value that would have nothing else in it; never the whole document. */
export function prunedPath(root: JsonNode, path: JsonPath): JsonPath {
  let pruned = path
  while (pruned.length > 1) {
    const outer = nodeAt(root, pruned.slice(0, -1))
    if (outer === undefined || outer.kind === 'scalar' || outer.items.length > 1) break
    pruned = pruned.slice(0, -1)
  }
  return pruned
}

function insert(text: string, into: ArrayNode | ObjectNode, name: string, value: unknown, style: Style): string {
  const last = into.items.at(-1)
  if (last === undefined) return fill(text, into, name, value, style)
  const indent = ownLineIndent(text, last.start)
  if (indent !== undefined) {
    return splice(text, last.end, `,${style.newline}${indent}${member(name, written(value, indent, style), style)}`)
  }
  return splice(text, last.end, `,${style.space}${member(name, inOneLine(value, style), style)}`)
}

function fill(text: string, into: ArrayNode | ObjectNode, name: string, value: unknown, style: Style): string {
  const [open, close] = into.kind === 'array' ? '[]' : '{}'
  if (style.isOneLine) return splice(text, into, open + member(name, inOneLine(value, style), style) + close)
  const outer = lineIndent(text, into.start)
  const inner = outer + style.unit
  const content = member(name, written(value, inner, style), style)
  return splice(text, into, `${open}${style.newline}${inner}${content}${style.newline}${outer}${close}`)
}

function removeAt(text: string, root: JsonNode, path: JsonPath): string {
  const outer = nodeAt(root, path.slice(0, -1))
  const step = path.at(-1)
  if (outer === undefined || outer.kind === 'scalar') return text
  const index = outer.kind === 'array' ? Number(step) : outer.items.findLastIndex(({ key }) => key === step)
  const item = outer.items[index]
  if (item === undefined) return text
  const [before, after] = [outer.items[index - 1], outer.items[index + 1]]
  if (before !== undefined) return splice(text, { start: before.end, end: item.end }, '')
  if (after !== undefined) return splice(text, { start: item.start, end: after.start }, '')
  return splice(text, outer, outer.kind === 'array' ? '[]' : '{}')
}

function splice(text: string, place: number | { readonly start: number; readonly end: number }, put: string): string {
  const { start, end } = typeof place === 'number' ? { start: place, end: place } : place
  return text.slice(0, start) + put + text.slice(end)
}

function member(name: string, value: string, { space }: Style): string {
  return name === '' ? value : name + space + value
}

function written(value: unknown, indent: string, style: Style): string {
  if (style.isOneLine) return inOneLine(value, style)
  return JSON.stringify(value, null, style.unit).replaceAll('\n', style.newline + indent)
}

function inOneLine(value: unknown, { space }: Style): string {
  return space === '' ? JSON.stringify(value) : JSON.stringify(value, null, 1).replace(/\n\s*/g, space)
}

function styleOf(text: string): Style {
  const body = text.trim()
  const isOneLine = body.length > 2 && !body.includes('\n')
  return {
    unit: /^([ \t]+)\S/m.exec(text)?.[1] ?? '  ',
    newline: text.includes('\r\n') ? '\r\n' : '\n',
    isOneLine,
    space: isOneLine && !/[,:] /.test(body) ? '' : ' ',
  }
}

/** The spaces before it when it is the first of its line. */
function ownLineIndent(text: string, offset: number): string | undefined {
  const start = text.lastIndexOf('\n', offset - 1) + 1
  const before = text.slice(start, offset)
  return start > 0 && before.trim() === '' ? before : undefined
}

function lineIndent(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1
  return /^[ \t]*/.exec(text.slice(start, offset))?.[0] ?? ''
}
