import { isDeepStrictEqual } from 'node:util'
import type { Pair, ParsedNode, YAMLMap, YAMLSeq } from 'yaml'
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
import { spliced, valueAt } from './json-config.ts'
import { NotEditable } from './plan.ts'

export type ListPath = readonly [outer: string, inner: string]

export interface YamlItem {
  readonly value: unknown
  readonly block: readonly string[]
  readonly flow: string
}

type YamlKeys = YAMLMap<ParsedNode, ParsedNode | null>
type YamlPair = Pair<ParsedNode, ParsedNode | null>

/** The items of the list; empty if there is none. @throws NotEditable */
export function listAt(text: string, path: ListPath): readonly unknown[] {
  const list = valueAt(valueIn(text), path) ?? []
  if (!Array.isArray(list)) throw new NotEditable(`${path.join('.')} is no list`)
  return list
}

/** Adds an item and keeps the rest byte by byte. @throws NotEditable */
export function addItem(text: string, path: ListPath, item: YamlItem): string {
  const list = listAt(text, path)
  return verified(text, added(text, path, item), path, [...list, item.value])
}

/** Removes our items. An empty list stays. @throws NotEditable */
export function removeItems(text: string, path: ListPath, isOurs: (value: unknown) => boolean): string {
  let after = text
  for (let index = listAt(text, path).findIndex(isOurs); index >= 0; index = listAt(after, path).findIndex(isOurs)) {
    const left = listAt(after, path).toSpliced(index, 1)
    after = verified(after, without(after, path, index), path, left)
  }
  return after
}

function added(text: string, [outer, inner]: ListPath, item: YamlItem): string {
  const root = rootOf(text)
  const map = root && pairOf(root, outer)
  if (map === undefined) return appended(text, [`${outer}:`, `  ${inner}:`, ...dashed(item.block, '    ')])
  if (isEmpty(map.value)) return replaced(text, map, `{${inner}: [${item.flow}]}`)
  if (!isMap(map.value)) throw new NotEditable(`${outer} holds no keys`)
  const list = pairOf(map.value as YamlKeys, inner)
  if (list === undefined) return withKey(text, map.value as YamlKeys, inner, item)
  if (isEmpty(list.value)) return replaced(text, list, `[${item.flow}]`)
  if (!isSeq(list.value)) throw new NotEditable(`${outer}.${inner} is no list`)
  return withItem(text, list.value as YAMLSeq.Parsed, item)
}

function withKey(text: string, map: YamlKeys, key: string, { block, flow }: YamlItem): string {
  const at = startOf(map.items[0]?.key)
  if (map.flow === true) return spliced(text, at, at, `${key}: [${flow}], `)
  const indent = indentAt(text, at)
  return spliced(text, at, at, [`${key}:`, ...dashed(block, `${indent}  `), indent].join(newlineOf(text)))
}

function withItem(text: string, list: YAMLSeq.Parsed, { block, flow }: YamlItem): string {
  const end = endOf(list.items.at(-1))
  if (list.flow === true) return spliced(text, end, end, `, ${flow}`)
  const lines = dashed(block, indentAt(text, startOf(list)))
  const after = text.indexOf('\n', end - 1) + 1
  return after === 0 ? appended(text, lines) : spliced(text, after, after, [...lines, ''].join(newlineOf(text)))
}

function without(text: string, [outer, inner]: ListPath, index: number): string {
  const root = rootOf(text)
  const map = root && pairOf(root, outer)?.value
  const list = map && isMap(map) ? pairOf(map as YamlKeys, inner) : undefined
  if (list === undefined || !isSeq(list.value)) throw new NotEditable(`${outer}.${inner} is no list`)
  const { items, flow } = list.value as YAMLSeq.Parsed
  if (items.length === 1) return replaced(text, list, '[]')
  const [item, next, before] = [items[index], items[index + 1], items[index - 1]]
  if (flow === true) {
    return next === undefined
      ? spliced(text, endOf(before), endOf(item), '')
      : spliced(text, startOf(item), startOf(next), '')
  }
  const start = text.lastIndexOf('\n', startOf(item)) + 1
  const end = next === undefined ? text.indexOf('\n', endOf(item) - 1) + 1 : text.lastIndexOf('\n', startOf(next)) + 1
  return spliced(text, start, end === 0 ? text.length : end, '')
}

function replaced(text: string, { key, value }: YamlPair, flow: string): string {
  const afterColon = text.indexOf(':', endOf(key)) + 1
  const end = endOf(value)
  // A block list starts on its own line, and its end is that of its last line.
  if (isSeq(value) && value.flow !== true) {
    return spliced(text, afterColon, text[end - 1] === '\n' ? end - 1 : end, ` ${flow}`)
  }
  const isAbsent = startOf(value) === endOf(value)
  const start = isAbsent ? afterColon : startOf(value)
  return spliced(text, start, isAbsent ? start : end, text[start - 1] === ' ' ? flow : ` ${flow}`)
}

function appended(text: string, lines: readonly string[]): string {
  const newline = newlineOf(text)
  const start = text === '' || text.endsWith('\n') ? text : `${text}${newline}`
  return `${start}${lines.join(newline)}${newline}`
}

function dashed(block: readonly string[], indent: string): string[] {
  return block.map((line, index) => `${indent}${index === 0 ? '- ' : '  '}${line}`)
}

function verified(before: string, after: string, [outer, inner]: ListPath, list: readonly unknown[]): string {
  const root = valueIn(before) as Readonly<Record<string, object>> | null
  const expected = { ...root, [outer]: { ...root?.[outer], [inner]: list } }
  if (isDeepStrictEqual(valueIn(after), expected)) return after
  throw new NotEditable('it is written in a way that hookspan does not know')
}

function parsed(text: string) {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, logLevel: 'silent' })
  const [error] = document.errors
  if (error === undefined) return document
  throw new NotEditable(`line ${lineCounter.linePos(error.pos[0]).line} is no YAML`)
}

function valueIn(text: string): unknown {
  return parsed(text).toJS({ maxAliasCount: 100 })
}

function rootOf(text: string): YamlKeys | undefined {
  const { contents } = parsed(text)
  if (contents === null || isEmpty(contents)) return undefined
  if (isMap(contents) && contents.flow !== true) return contents as YamlKeys
  throw new NotEditable('it is not written as lines of keys')
}

function pairOf(map: YamlKeys, name: string): YamlPair | undefined {
  const pair = map.items.find(({ key }) => isScalar(key) && key.value === name)
  if (isAlias(pair?.value)) throw new NotEditable(`${name} is an alias`)
  return pair
}

function isEmpty(node: ParsedNode | null): boolean {
  if (node === null || (isScalar(node) && node.value === null)) return true
  return (isMap(node) || isSeq(node)) && node.items.length === 0
}

function startOf(node: ParsedNode | null | undefined): number {
  return node?.range[0] ?? 0
}

function endOf(node: ParsedNode | null | undefined): number {
  return node?.range[1] ?? 0
}

function indentAt(text: string, at: number): string {
  return ' '.repeat(at - (text.lastIndexOf('\n', at - 1) + 1))
}

function newlineOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n'
}
