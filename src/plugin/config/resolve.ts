import { isKeyName, KEY_NAMES, KEY_ROWS, type KeyName, type KeyRow, variableOf } from './keys.ts'
import { type BrokenFile, type ConfigFile, loadConfigFile } from './load.ts'
import { nearestName } from './nearest.ts'
import { otelOffer } from './otel.ts'
import { type Environment, homeDirectory, variable } from './paths.ts'
import { emptyMap, isBlank, isPlainMap, type Plain, type PlainMap, plainCopy, Unusable } from './plain.ts'
import { readValue } from './read-value.ts'
import { type ProblemLevel, Problems, type ReadResult, refuse, report, type Site, showName } from './reading.ts'
import type { ConfigSource, Resolution, ResolvedConfig, UserConfig } from './types.ts'

export interface ConfigInput {
  readonly code?: UserConfig | undefined
  readonly env?: Environment | undefined
  readonly home?: string | undefined
  readonly hostName?: string | undefined
}

/**
 * Merges defaults, file, environment and options in code. Later ones win key by key (for maps: entry by entry). Never throws.
 * An unusable value is reported as a problem, and the value of the next lower source counts.
 *
 * @example resolveConfig({ code: { sample_rate: 0.1 }, hostName: 'pi' }).config.service_name // 'pi'
 */
export function resolveConfig(input?: ConfigInput): Resolution {
  const given = readInput(input)
  const problems = new Problems()
  const found = loadConfigFile(given.env, given.home, problems)
  const [file, broken] = found && 'fault' in found ? [undefined, found] : [found]
  const resolver = new Resolver(given, collectSources(given, file, problems), problems, broken)
  return { ...resolver.resolve(), file: file?.path, broken: broken?.key, problems: problems.found }
}

function collectSources(given: GivenInput, file: ConfigFile | undefined, problems: Problems): readonly Source[] {
  const { code, env } = given
  const options = isPlainMap(code) ? code : emptyMap<Plain>()
  if (code !== options && code !== undefined)
    problems.add('error', 'options', refuse(code, 'a mapping of keys').reason, 'options in code')
  const variablePlace = (path: string): string => PREFIX + path.replace(/[.[].*$/s, '').toUpperCase()
  const variables = Object.fromEntries([
    ...unknownVariables(env).map(name => [withoutPrefix(name), undefined]),
    ...KEY_NAMES.map(key => [key, variable(env, variableOf(key))]),
  ])
  const ofFile = file && sourceOf('file', file.values, path => file.place(path))
  const ofEnvironment = sourceOf('environment', variables, variablePlace)
  const ofCode = sourceOf('code', options, () => 'options in code')
  if (ofFile) warnAboutUnknownKeys(ofFile, problems)
  warnAboutVariables(env, ofEnvironment, problems)
  warnAboutUnknownKeys(ofCode, problems)
  return [...(ofFile ? [ofFile] : []), ofEnvironment, ofCode]
}

const BROKEN: ConfigSource = { from: 'file', detail: 'a file that cannot be used' }

interface ResolvedValue {
  readonly value: unknown
  readonly source: ConfigSource
}

class Resolver {
  readonly #given: GivenInput
  readonly #sources: readonly Source[]
  readonly #problems: Problems
  readonly #broken: BrokenFile | undefined
  readonly #held = new Map<KeyName, ResolvedValue>()
  readonly #rejections: (() => void)[] = []

  constructor(given: GivenInput, sources: readonly Source[], problems: Problems, broken: BrokenFile | undefined) {
    this.#broken = broken
    this.#given = given
    this.#sources = sources
    this.#problems = problems
  }

  resolve(): Pick<Resolution, 'config' | 'sources'> {
    for (const key of KEY_NAMES) this.#resolveKey(key)
    // Reported last, because only now the fallback values are known.
    if (this.#broken !== undefined) {
      const { key, fault, place } = this.#broken
      const isClosed = this.#get('content_capture').source === BROKEN
      const outcome = isClosed ? 'no file is read, and no content is captured' : 'no file is read'
      this.#problems.add('error', key, fault, place, outcome)
    }
    for (const reportRejection of this.#rejections) reportRejection()
    this.#fitBatch()
    const config: Record<string, unknown> = {}
    for (const key of KEY_NAMES) config[key] = Object.freeze(this.#get(key).value)
    const sources = new Map(KEY_NAMES.map(key => [key, this.#get(key).source]))
    return { config: Object.freeze(config) as unknown as ResolvedConfig, sources }
  }

  #resolveKey(key: KeyName): void {
    const { closed } = KEY_ROWS[key]
    const isClosed = this.#broken !== undefined && closed !== undefined
    this.#held.set(key, isClosed ? { value: closed, source: BROKEN } : defaultOf(KEY_ROWS[key], this.#given.hostName))
    for (const source of this.#sources) {
      if (source.from === 'environment' && key !== 'backends') this.#takeOtel(key)
      const site = this.#site(key, source.place, 'error')
      const detail = source.from === 'code' ? {} : { detail: source.place(key) }
      this.#take(site, readValue(KEY_ROWS[key], source.values[key], site), { from: source.from, ...detail })
    }
    // OpenTelemetry's variables describe backends for any program, so they never add to configured ones.
    if (key === 'backends' && this.#get(key).source.from === 'default') this.#takeOtel(key)
  }

  #takeOtel(key: KeyName): void {
    const site = this.#site(key, () => 'environment', 'warning')
    const offer = otelOffer(key, this.#get(key).value, site)
    if (!offer) return
    const { place, reading } = offer
    this.#take({ ...site, place: () => place }, reading, { from: 'environment', detail: place })
  }

  #take(site: Site, reading: ReadResult | undefined, source: ConfigSource): void {
    const key = site.path as KeyName
    if (!reading) return
    if ('reason' in reading) {
      this.#rejections.push(() => report(site, reading.reason, `using ${shown(KEY_ROWS[key], this.#get(key))}`))
      const { closed } = KEY_ROWS[key]
      if (closed !== undefined) this.#held.set(key, { value: closed, source })
      return
    }
    const value = { value: reading.value, source }
    this.#held.set(key, KEY_ROWS[key].type === 'map' ? merged(this.#get(key), value) : value)
  }

  // The SDK would correct this too, but only report it to its own log.
  #fitBatch(): void {
    const [batch, queue] = [this.#get('span_batch_max_export_batch_size'), this.#get('span_batch_max_queue_size')]
    if (Number(batch.value) <= Number(queue.value)) return
    this.#held.set('span_batch_max_export_batch_size', queue)
    if (batch.source.from === 'default') return
    const text = `${batch.value} is more than span_batch_max_queue_size`
    const place = batch.source.detail ?? batch.source.from
    this.#problems.add('warning', 'span_batch_max_export_batch_size', text, place, `using ${queue.value}`)
  }

  #site(key: KeyName, place: (path: string) => string, level: ProblemLevel): Site {
    const { env, home } = this.#given
    return { path: key, name: key, level, problems: this.#problems, env, home, place }
  }

  #get(key: KeyName): ResolvedValue {
    return this.#held.get(key) ?? defaultOf(KEY_ROWS[key], undefined)
  }
}

// The service name of Hermes in its existing dashboards.
const SERVICE_OF_HOST: ReadonlyMap<string, string> = new Map([['hermes', 'hermes-agent']])

function defaultOf(row: KeyRow, hostName: string | undefined): ResolvedValue {
  if (!row.fromHost || hostName === undefined) return { value: row.default, source: { from: 'default' } }
  return { value: SERVICE_OF_HOST.get(hostName) ?? hostName, source: { from: 'default', detail: 'name of the host' } }
}

function merged(below: ResolvedValue, above: ResolvedValue): ResolvedValue {
  const value = Object.assign(emptyMap<unknown>(), below.value, above.value)
  if (below.source.from === 'default') return { value, source: above.source }
  const [upper, lower] = [above, below].map(({ source }) => source.detail ?? source.from)
  return { value, source: { from: above.source.from, detail: `${upper}, then ${lower}` } }
}

const MANIFOLD: ReadonlySet<string> = new Set(['map', 'backends', 'hooks', 'prices', 'keep'])

function shown(row: KeyRow, { value, source }: ResolvedValue): string {
  const empty = typeof value === 'object' && value !== null && Object.keys(value).length === 0
  if (value === undefined && row.type === 'hooks') return 'the usual folder'
  if (value === undefined || empty) return 'none'
  if (typeof value !== 'object') return String(value)
  return row.private || MANIFOLD.has(row.type)
    ? `what ${source.detail ?? source.from} says`
    : Object.values(value as object).join(row.type === 'prometheus' ? ':' : ', ')
}

/**
 * The problems with the hook settings, one line each. Includes an unreadable file, because it may contain hook settings. It is
 * omitted if another source sets `hooks`.
 */
export function hookProblems({ problems, broken, sources }: Resolution): string[] {
  const mayHaveSaid = sources.get('hooks')?.from === 'default' ? broken : undefined
  return problems.filter(({ key }) => /^hooks\b/.test(key) || key === mayHaveSaid).map(({ message }) => message)
}

/** A checked copy of `ConfigInput`: reading it cannot throw. */
type GivenInput = ReturnType<typeof readInput>

interface Source {
  readonly from: ConfigSource['from']
  readonly values: PlainMap
  readonly place: (path: string) => string
  /** Names that are no keys, and were probably meant for one. */
  readonly slips: ReadonlySet<string>
}

function readInput(input: unknown) {
  const [home, hostName] = [readProperty(input, 'home'), readProperty(input, 'hostName')]
  return {
    code: plainCopy(readProperty(input, 'code')),
    env: copyEnvironment(readProperty(input, 'env') ?? process.env),
    home: typeof home === 'string' ? home : homeDirectory(),
    hostName: typeof hostName === 'string' ? hostName.trim() || undefined : undefined,
  }
}

function readProperty(holder: unknown, name: string): unknown {
  try {
    return typeof holder === 'object' && holder !== null ? (holder as Record<string, unknown>)[name] : undefined
  } catch {
    return undefined
  }
}

function copyEnvironment(env: unknown): Environment {
  const copy = emptyMap<string>()
  try {
    for (const name of Object.keys(env as object)) {
      const value = readProperty(env, name)
      if (typeof value === 'string') copy[name] = value
    }
  } catch {
    return copy
  }
  return copy
}

/** A misspelt privacy key must not leave privacy open: the key counts as set to an unusable value. */
function sourceOf(from: Source['from'], values: PlainMap, place: Source['place']): Source {
  const slips = new Map<string, string>()
  for (const name of Object.keys(values)) {
    const key = isKeyName(name) ? undefined : meantKey(name)
    const isOpen = key !== undefined && KEY_ROWS[key].closed !== undefined && isBlank(values[key])
    if (isOpen && !slips.has(key)) slips.set(key, name)
  }
  const reason = (name: string): string => `perhaps meant by ${showName(name)}, which is no key`
  const unusable = [...slips].map(([key, name]) => [key, new Unusable('', reason(name))])
  return {
    from,
    values: { ...values, ...Object.fromEntries(unusable) },
    place: path => place(slips.get(path) ?? path),
    slips: new Set(slips.values()),
  }
}

/** The key that a name was probably meant for. Privacy keys also match other words (`capture_content`). */
function meantKey(name: string): KeyName | undefined {
  const near = nearestName(name, KEY_NAMES) as KeyName | undefined
  const words = name.toLowerCase()
  return near ?? (words.includes('content') && words.includes('capture') ? 'content_capture' : undefined)
}

function warnAboutUnknownKeys({ values, place, slips }: Source, problems: Problems): void {
  for (const name of Object.keys(values)) {
    if (isKeyName(name) || slips.has(name)) continue
    const outcome = (): string => {
      const meant = nearestKey(name)
      return meant === undefined ? 'ignoring it' : `did you mean ${meant}?`
    }
    problems.add('warning', showName(name), 'there is no such key', place(name), outcome)
  }
}

/** Warns only about likely misspellings: other parts of the program, and other programs, have variables of their own. */
function warnAboutVariables(env: Environment, source: Source, problems: Problems): void {
  for (const name of unknownVariables(env)) {
    const meant = nearestKey(withoutPrefix(name))
    if (!meant || source.slips.has(withoutPrefix(name))) continue
    const outcome = `did you mean ${PREFIX}${meant.toUpperCase()}?`
    problems.add('warning', name, 'there is no such variable', 'environment', outcome)
  }
}

function unknownVariables(env: Environment): string[] {
  return Object.keys(env).filter(name => name.startsWith(PREFIX) && !KNOWN_VARIABLES.has(name))
}

function withoutPrefix(name: string): string {
  return name.slice(PREFIX.length).toLowerCase()
}

/** Renamed keys with old names from which the new ones cannot be guessed. */
const RENAMED: ReadonlyMap<string, KeyName> = new Map([['delegation', 'parent']])

function nearestKey(name: string): string | undefined {
  return RENAMED.get(name.toLowerCase()) ?? nearestName(name, KEY_NAMES)
}

const PREFIX = 'HOOKSPAN_'
const KNOWN_VARIABLES: ReadonlySet<string> = new Set(['HOOKSPAN_CONFIG', ...KEY_NAMES.map(variableOf)])
