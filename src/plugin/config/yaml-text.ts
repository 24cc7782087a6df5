import type { Alias, Document, LineCounter, Pair, ParsedNode, Scalar, YAMLError } from 'yaml'
import { load } from '../../delivery/load-package.ts'
import { CopyBudget, emptyMap, isPlainMap, type Plain, type PlainMap, Unusable } from './plain.ts'

type Yaml = typeof import('yaml')

/** The content of a file: every scalar as its literal text, and the line of every key and element. */
export interface ParsedText {
  readonly values: PlainMap
  readonly lines: ReadonlyMap<string, number>
}

/** The reason why a text cannot be parsed. `line` and `column` count from 1, and are absent if unknown. */
export interface TextFault {
  readonly fault: string
  readonly line?: number
  readonly column?: number
}

/**
 * Limits far above any real configuration. Tokens (about six a line): parsing can cost a hundred times as much as counting
 * tokens, and many small ones are slowest. Aliases: resolving one searches the whole document. Keys: every value's path
 * contains its keys, so long keys use much memory.
 */
const MAX_PIECES = 30_000
const MAX_ALIASES = 100
const MAX_KEY_LENGTH = 200

const FAULTS: Partial<Record<YAMLError['code'], string>> = {
  BAD_INDENT: 'the indentation is wrong, or a bracket or quote is not closed',
  BLOCK_AS_IMPLICIT_KEY: 'there is a mapping where a value should be (a missing line break, or quotes)',
  DUPLICATE_KEY: 'the same key is there twice',
  MISSING_CHAR: 'a quote, bracket, comma, colon or space is missing',
  MULTILINE_IMPLICIT_KEY: 'a key is followed by no colon',
  MULTIPLE_DOCS: 'there is more than one document',
  NON_STRING_KEY: 'a key is not text',
  TAB_AS_INDENT: 'there is a tab where only spaces may be',
}

export function parseYaml(text: string): ParsedText | TextFault {
  try {
    return parse(text, load<Yaml>('yaml'))
  } catch (error) {
    // The parser recurses, so deep nesting overflows the stack.
    return { fault: error instanceof RangeError ? 'it is nested too deeply' : 'the YAML parser failed' }
  }
}

function sizeFault(text: string, yaml: Yaml): TextFault | undefined {
  let pieces = 0
  let aliases = 0
  for (const piece of new yaml.Lexer().lex(text)) {
    if (piece.startsWith('*')) aliases += 1
    pieces += 1
    if (aliases > MAX_ALIASES) return { fault: `it has more than ${MAX_ALIASES} aliases (*name)` }
    if (pieces > MAX_PIECES) return { fault: 'it has far more keys and values than a configuration can have' }
  }
  return undefined
}

function parse(text: string, yaml: Yaml): ParsedText | TextFault {
  const tooLarge = sizeFault(text, yaml)
  if (tooLarge) return tooLarge
  const lineCounter = new yaml.LineCounter()
  const document = yaml.parseDocument(text, {
    // Every scalar stays literal text: 1.10 is not 1.1, and the key table defines the types.
    schema: 'failsafe',
    prettyErrors: false,
    stringKeys: true,
    // Off, because the parser compares each key with every other one. `#readMap` checks for duplicates.
    uniqueKeys: false,
    logLevel: 'error',
    lineCounter,
  })
  const [error] = document.errors
  if (error) return faultOf(error, lineCounter)
  if (!document.contents || isNothing(document.contents, yaml)) return { values: emptyMap<Plain>(), lines: new Map() }
  const read = yaml.isMap(document.contents) ? readNodes(document.contents, yaml, document, lineCounter) : undefined
  if (read && ('fault' in read || isPlainMap(read.values))) return read as ParsedText | TextFault
  return { fault: 'expected a mapping of keys to values', line: 1, column: 1 }
}

// The parser's own messages quote the file, which may contain secrets.
function faultOf(error: YAMLError, lineCounter: LineCounter): TextFault {
  const { line, col } = lineCounter.linePos(error.pos[0])
  return { fault: FAULTS[error.code] ?? 'it is not valid YAML', line, column: col }
}

function isNothing(node: ParsedNode, yaml: Yaml): boolean {
  return yaml.isScalar(node) && node.type === 'PLAIN' && /^(~|null)?$/i.test(String(node.value ?? ''))
}

/** Reads the nodes of a document. The first fault ends the reading. */
function readNodes(root: unknown, yaml: Yaml, document: Document.Parsed, lineCounter: LineCounter) {
  const lines = new Map<string, number>()
  const budget = new CopyBudget()
  const targets = new Map<Alias, unknown>()
  let fault: TextFault | undefined

  function read(node: unknown, path: string, depth: number): Plain {
    if (budget.spent(depth)) return new Unusable('something nested too deeply')
    if (yaml.isAlias(node)) return read(targetOf(node), path, depth + 1)
    if (yaml.isMap(node)) return readMap(node.items, path, depth)
    if (yaml.isSeq(node)) return node.items.map((item, at) => readEntry(`${path}[${at}]`, item, item, depth))
    return yaml.isScalar(node) && !isNothing(node as ParsedNode, yaml) ? String(node.value) : undefined
  }

  function readMap(items: readonly Pair[], path: string, depth: number): PlainMap {
    const map = emptyMap<Plain>()
    for (const { key, value } of items) {
      const name = String((key as Scalar).value)
      if (name.length > MAX_KEY_LENGTH) refuse(key, `a key is longer than ${MAX_KEY_LENGTH} characters`)
      if (name in map) refuse(key, FAULTS.DUPLICATE_KEY)
      if (fault) return map
      map[name] = readEntry(path === '' ? name : `${path}.${name}`, key, value, depth)
    }
    return map
  }

  /** @param place the node whose line is that of the entry */
  function readEntry(path: string, place: unknown, value: unknown, depth: number): Plain {
    const position = positionOf(place)
    if (position) lines.set(path, position.line)
    return read(value, path, depth + 1)
  }

  /** Resolves an alias once: an alias inside an aliased value is read as often as that value. */
  function targetOf(alias: Alias): unknown {
    if (!targets.has(alias)) targets.set(alias, alias.resolve(document))
    return targets.get(alias)
  }

  function refuse(key: unknown, reason = ''): void {
    const { line, col } = positionOf(key) ?? lineCounter.linePos(0)
    fault ??= { fault: reason, line, column: col }
  }

  function positionOf(node: unknown) {
    const range = yaml.isNode(node) ? node.range : undefined
    return range ? lineCounter.linePos(range[0]) : undefined
  }

  const values = read(root, '', 0)
  return fault ?? { values, lines }
}
