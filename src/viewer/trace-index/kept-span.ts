import { DEFAULT_NAMESPACE, namespaceOf } from '../../reading/span-attributes.ts'
import type { Attributes, StoredSpan } from '../../reading/stored-span.ts'
import type { Database } from './database.ts'

/**
 * The attributes stored per span: those that sums, outcomes and filters use, as `summarize` and `FilterMatcher` read them. A
 * leading dot stands for the span's namespace. The index of each name is stored: append to these lists only, and raise
 * `SCHEMA_VERSION`.
 */
const TEXTS = [
  'gen_ai.operation.name',
  'openinference.span.kind',
  '.span.kind',
  '.host',
  'gen_ai.agent.name',
  '.session.kind',
  '.session.is_subagent',
  'gen_ai.request.model',
  'gen_ai.response.model',
  'llm.model_name',
  'gen_ai.tool.name',
  'tool.name',
  '.turn.final_status',
  '.tool.outcome',
  '.subagent.status',
  '.approval.timed_out',
  '.approval.choice',
  '.skill.result_status',
  'gen_ai.response.finish_reason',
  'llm.finish_reason',
  'gen_ai.response.finish_reasons',
  'http.response.status_code',
  'gen_ai.response.status_code',
  'error.type',
  '.tool.blocked_by',
  '.hook.verdict',
  '.hook.action',
  '.hook.failure',
  '.approval.surface',
] as const
const NUMBERS = [
  'gen_ai.usage.input_tokens',
  'gen_ai.usage.output_tokens',
  'llm.token_count.prompt',
  'llm.token_count.completion',
  'gen_ai.usage.cache_read.input_tokens',
  'llm.token_count.prompt_details.cache_read',
  '.turn.tokens.input',
  '.turn.tokens.output',
  '.turn.number',
  'llm.cost.total',
] as const
/** Guards against hostile input. */
const MAX_CHARS = 500
const MAX_NAMES = 16
/** Pseudo-attribute: the span of another trace that started this one. */
const PARENT = '→ parent'

const RUNNING = 1
const OK = 2
const ERROR = 4
const REMOTE = 8

export interface SpanRow {
  readonly place: number
  readonly nth: number
  readonly length: number
  readonly span_id: string
  readonly parent_id: string | null
  readonly start_at: number
  readonly end_at: number
  readonly flags: number
  readonly kept: number
  readonly named: number
  readonly rest: string | null
}

const COLUMNS = [
  'place',
  'nth',
  'length',
  'span_id',
  'parent_id',
  'start_at',
  'end_at',
  'flags',
  'kept',
  'named',
  'rest',
] as const satisfies readonly (keyof SpanRow)[]
const INSERT = `INSERT INTO span (trace, ${COLUMNS.join(', ')}) VALUES (?, ${COLUMNS.map(() => '?').join(', ')})`

/** `[namespace, {index of the name: value}]`; without a namespace the names are written out. */
type Kept = readonly [string | null, Readonly<Record<string, unknown>>]
/** `[{index of the name: number}, status message]` */
type Rest = readonly [Readonly<Record<string, number>>, string?]

interface Shared {
  readonly namespace: string
  readonly attributes: Attributes
  readonly names: readonly string[]
}

const MAX_REMEMBERED = 20_000
const MAX_NAMED = 2 ** 26

/** Converts spans to rows and back. A span read back has only the stored data. */
export class KeptSpans {
  readonly #database: Database
  readonly #ids = new Map<string, number>()
  readonly #shared = new Map<number, Shared>()
  readonly #spelled = new Map<string, readonly string[]>()

  constructor(database: Database) {
    this.#database = database
  }

  /** Clears the caches. Call after a rollback, or when texts were removed. */
  forget(): void {
    this.#ids.clear()
    this.#shared.clear()
  }

  add(trace: number, span: StoredSpan, where: Pick<SpanRow, 'place' | 'nth' | 'length'>): SpanRow {
    const namespace = namespaceOf(span) ?? DEFAULT_NAMESPACE
    const row: SpanRow = {
      ...where,
      span_id: span.spanId,
      parent_id: span.parentSpanId ?? null,
      start_at: span.startAt,
      end_at: span.endAt,
      flags: flagsOf(span),
      kept: this.#idOf(JSON.stringify([namespace, this.#keptTexts(span, namespace)] satisfies Kept)),
      named: this.#idOf(JSON.stringify([null, foundBy(span, namespace)] satisfies Kept)),
      rest: restOf(span, namespace),
    }
    this.#database.run(INSERT, trace, ...COLUMNS.map(name => row[name]))
    return row
  }

  read(traceId: string, row: SpanRow): StoredSpan {
    const { flags } = row
    const { attributes, namespace } = this.#sharedOf(row)
    const [numbers, message] = row.rest === null ? [undefined, undefined] : (JSON.parse(row.rest) as Rest)
    return {
      traceId,
      spanId: row.span_id,
      ...(row.parent_id !== null && { parentSpanId: row.parent_id }),
      ...((flags & REMOTE) !== 0 && { parentIsRemote: true }),
      name: '',
      kind: 'unspecified',
      startAt: row.start_at,
      endAt: row.end_at,
      status: (flags & ERROR) !== 0 ? 'error' : (flags & OK) !== 0 ? 'ok' : 'unset',
      ...(message !== undefined && { statusMessage: message }),
      attributes: numbers === undefined ? attributes : withNumbers(attributes, numbers, namespace),
      events: [],
      links: [],
      resource: {},
      scope: { name: '' },
      ...((flags & RUNNING) !== 0 && { running: true }),
    }
  }

  namesOf(row: SpanRow): readonly string[] {
    return this.#sharedOf(row).names
  }

  #idOf(text: string): number {
    const known = this.#ids.get(text)
    if (known !== undefined) return known
    this.#database.run('INSERT OR IGNORE INTO kept (text) VALUES (?)', text)
    const { id } = this.#database.get<{ id: number }>('SELECT id FROM kept WHERE text = ?', text) ?? { id: 0 }
    if (this.#ids.size >= MAX_REMEMBERED) this.#ids.clear()
    this.#ids.set(text, id)
    return id
  }

  #sharedOf({ kept, named }: SpanRow): Shared {
    const key = kept * MAX_NAMED + named
    const known = this.#shared.get(key)
    if (known !== undefined) return known
    const [namespace, texts] = this.#textsOf(kept)
    const [, sessions] = this.#textsOf(named)
    const attributes = Object.create(null) as Record<string, string>
    for (const [number, value] of Object.entries(texts)) {
      attributes[spelled(TEXTS[Number(number)] ?? '', namespace ?? '')] = value as string
    }
    Object.assign(attributes, sessions)
    const shared = { namespace: namespace ?? '', attributes, names: namesIn(attributes) }
    if (this.#shared.size >= MAX_REMEMBERED) this.#shared.clear()
    this.#shared.set(key, shared)
    return shared
  }

  #textsOf(id: number): Kept {
    const text = this.#database.get<{ text: string }>('SELECT text FROM kept WHERE id = ?', id)?.text
    return JSON.parse(text ?? '[null,{}]') as Kept
  }

  #keptTexts({ attributes }: StoredSpan, namespace: string): Record<string, unknown> {
    const kept: Record<string, unknown> = {}
    for (const [number, name] of this.#spelledTexts(namespace).entries()) {
      const value = bounded(attributes[name])
      if (value !== undefined) kept[number] = value
    }
    return kept
  }

  #spelledTexts(namespace: string): readonly string[] {
    const known = this.#spelled.get(namespace)
    if (known !== undefined) return known
    const names = TEXTS.map(name => spelled(name, namespace))
    if (this.#spelled.size >= MAX_NAMES) this.#spelled.clear()
    this.#spelled.set(namespace, names)
    return names
  }
}

function flagsOf({ running, status, parentIsRemote }: StoredSpan): number {
  const how = status === 'ok' ? OK : status === 'error' ? ERROR : 0
  return (running === true ? RUNNING : 0) | how | (parentIsRemote === true ? REMOTE : 0)
}

function spelled(name: string, namespace: string): string {
  return name.startsWith('.') ? namespace + name : name
}

/** Keeps only the first entry of a list, because only that one is used. */
function bounded(value: unknown): unknown {
  if (Array.isArray(value)) return typeof value[0] === 'string' ? [value[0].slice(0, MAX_CHARS)] : undefined
  if (typeof value === 'string') return value.slice(0, MAX_CHARS)
  return typeof value === 'number' || typeof value === 'boolean' ? value : undefined
}

function isOfSession(name: string): boolean {
  return isSessionId(name) || name.endsWith('.subagent.child_session_id')
}

function isSessionId(name: string): boolean {
  return name === 'session.id' || name.endsWith('.session.id') || name === 'gen_ai.conversation.id'
}

/** The names by which the session is found, and the link to the span that started this trace. */
function foundBy({ attributes, links }: StoredSpan, namespace: string): Record<string, unknown> {
  const names = Object.keys(attributes).filter(name => name.length < MAX_CHARS && isOfSession(name))
  const found = names.slice(0, MAX_NAMES).flatMap((name): (readonly [string, string])[] => {
    const value = attributes[name]
    return typeof value === 'string' ? [[name, value.slice(0, MAX_CHARS)]] : []
  })
  const parent = links.find(link => link.attributes[`${namespace}.link`] === 'parent')
  if (parent !== undefined) found.push([PARENT, `${parent.traceId}:${parent.spanId}`.slice(0, MAX_CHARS)])
  // `fromEntries` defines keys that an assignment would not: an attribute may be named `__proto__`.
  return Object.fromEntries(found)
}

function restOf({ attributes, status, statusMessage }: StoredSpan, namespace: string): string | null {
  const numbers: Record<string, number> = {}
  for (const [number, name] of NUMBERS.entries()) {
    const value = attributes[spelled(name, namespace)]
    if (typeof value === 'number' && Number.isFinite(value)) numbers[number] = value
  }
  const message = status === 'error' ? statusMessage?.slice(0, MAX_CHARS) : undefined
  if (Object.keys(numbers).length === 0 && message === undefined) return null
  return JSON.stringify(message === undefined ? [numbers] : [numbers, message])
}

function withNumbers(attributes: Attributes, numbers: Readonly<Record<string, number>>, namespace: string): Attributes {
  const all = Object.assign(Object.create(null), attributes) as Record<string, Attributes[string]>
  for (const [number, value] of Object.entries(numbers)) {
    all[spelled(NUMBERS[Number(number)] ?? '', namespace)] = value
  }
  return all
}

const USED: ReadonlyMap<string, string> = new Map([
  ['gen_ai.request.model', 'model'],
  ['gen_ai.response.model', 'model'],
  ['llm.model_name', 'model'],
  ['gen_ai.tool.name', 'tool'],
  ['tool.name', 'tool'],
  [PARENT, 'parent'],
])

function namesIn(attributes: Attributes): readonly string[] {
  const names = new Set<string>()
  for (const [name, value] of Object.entries(attributes)) {
    const kind = USED.get(name) ?? (isSessionId(name) ? 'session' : undefined)
    if (kind !== undefined && typeof value === 'string') names.add(`${kind}:${value}`)
  }
  return [...names]
}
