import { METRIC, type MetricKey } from '../../src/contract/semconv/index.ts'
import { INSTRUMENTS } from '../../src/tracker/instrument-table.ts'
import { NEXT_EXCEPTIONS } from './exceptions.ts'
import { GEN_AI_NEXT_ATTRIBUTES, GEN_AI_NEXT_METRICS, GEN_AI_NEXT_SPANS } from './gen-ai-next-table.ts'
import { GEN_AI_ATTRIBUTES, GEN_AI_METRICS, GEN_AI_OPERATIONS, LATER_METRICS } from './gen-ai-table.ts'
import { attributeNamed, metricNameProblem, NAMESPACE } from './lint-names.ts'
import { valueProblem } from './lint-value.ts'
import type { OtlpAttribute, OtlpMetric, OtlpPoint, OtlpSpan, Telemetry } from './telemetry.ts'

export type SpanNames = 'hermes' | 'semconv'

const KINDS = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER']
/** Of a span's status. */
const ERROR = 2
const ROWS = new Map(
  (Object.entries(METRIC) as [MetricKey, string][]).map(([key, name]) => [
    name.replace('{ns}', NAMESPACE),
    INSTRUMENTS[key],
  ]),
)

/** Holds telemetry against the conventions, and keeps each different problem once. */
export class Lint {
  readonly #problems = new Set<string>()
  readonly #isNext: boolean
  /** Exceptions that something was written by. */
  readonly exceptions: Set<string> = new Set()

  /** @param isNext hold it against the names since v1.41 */
  constructor(isNext = false) {
    this.#isNext = isNext
  }

  get problems(): string[] {
    return [...this.#problems]
  }

  telemetry({ spans, resources, metrics }: Telemetry, names: SpanNames): void {
    for (const attributes of resources) this.#attributes('resource', attributes)
    for (const span of spans) this.span(span, names)
    for (const metric of metrics) this.metric(metric)
  }

  span(span: OtlpSpan, names: SpanNames): void {
    const { attributes, events = [], links = [] } = span
    this.#attributes('span', attributes)
    for (const event of events) {
      this.#check(`event ${event.name}`, eventProblem(event.name))
      this.#attributes('event', event.attributes ?? [])
    }
    for (const link of links) this.#attributes('link', link.attributes ?? [])
    this.#operation(span, names)
    if (this.#isNext) this.#moved(span)
    this.#status(span)
  }

  metric(metric: OtlpMetric): void {
    const { name, unit } = metric
    const next = GEN_AI_NEXT_METRICS[name]
    if (next !== undefined && this.#isNext) {
      for (const point of pointsOf(metric)) this.#point(name, point, next.attributes, undefined)
      return
    }
    const { problem, exception } = metricNameProblem(name)
    this.#check(`metric ${name}`, problem)
    if (exception !== undefined) this.exceptions.add(exception)
    const own = ROWS.get(name)
    const convention = GEN_AI_METRICS[name] ?? LATER_METRICS[name]
    const expected = convention ?? own
    if (expected === undefined) return
    const kind = convention === undefined ? own?.kind : 'histogram'
    const found = kindOf(metric)
    this.#check(`metric ${name}`, found === kind ? undefined : `is a ${found}, not a ${kind}`)
    this.#check(`metric ${name}`, unit === expected.unit ? undefined : `has the unit ${unit}, not ${expected.unit}`)
    const labels = convention?.attributes ?? own?.labels ?? []
    for (const point of pointsOf(metric)) this.#point(name, point, labels, expected.buckets)
  }

  #point(name: string, point: OtlpPoint, labels: readonly string[], buckets: readonly number[] | undefined): void {
    const { attributes = [], explicitBounds } = point
    const same = buckets === undefined || JSON.stringify(explicitBounds) === JSON.stringify(buckets)
    this.#check(`metric ${name}`, same ? undefined : `has the buckets ${explicitBounds?.join(' ')}`)
    for (const { key } of attributes) {
      this.#check(`metric ${name}`, labels.includes(key) ? undefined : `has the attribute ${key}, which is not its own`)
    }
    // Labels of our own instruments have short names of their own.
    this.#attributes(
      `metric ${name}`,
      attributes.filter(({ key }) => key.includes('.')),
    )
  }

  #attributes(where: string, attributes: readonly OtlpAttribute[]): void {
    for (const { key, value } of attributes) {
      const known = attributeNamed(key, this.#isNext)
      if ('problem' in known) this.#check(`${where}: ${key}`, known.problem)
      else {
        this.#unlessExcepted(key, `${where}: ${key}`, valueProblem(known.row, value))
        if (known.exception !== undefined) this.exceptions.add(known.exception)
      }
    }
  }

  #operation({ name, kind, attributes }: OtlpSpan, names: SpanNames): void {
    const text = (key: string): string | undefined =>
      attributes.find(found => found.key === key)?.value['stringValue'] as string
    const operation = text('gen_ai.operation.name')
    const said = KINDS[kind] ?? String(kind)
    if (operation === undefined) {
      this.#check(
        `span ${text('hermes.span.kind')}`,
        said === 'INTERNAL' ? undefined : `is ${said}, without an operation`,
      )
      return
    }
    const row = GEN_AI_OPERATIONS[operation]
    if (row === undefined) {
      this.#check(`span ${operation}`, 'is an operation that has no row')
      return
    }
    this.#check(`span ${operation}`, row.kinds.some(kind => kind === said) ? undefined : `is ${said}`)
    if (names === 'hermes') return
    const named = text(row.named)
    const expected = named === undefined ? operation : `${operation} ${named}`
    this.#check(`span ${operation}`, name === expected ? undefined : `is called "${name}", not "${expected}"`)
  }

  /** What a span of an operation may have since, and may no more. */
  #moved({ attributes }: OtlpSpan): void {
    const said = attributes.find(({ key }) => key === 'gen_ai.operation.name')?.value['stringValue']
    const row = GEN_AI_NEXT_SPANS[String(said)]
    for (const { key } of attributes) {
      const name = key.replace(/^gen_ai\./, '')
      if (name === key) continue
      const isNew = GEN_AI_NEXT_ATTRIBUTES[name] !== undefined && GEN_AI_ATTRIBUTES[name] === undefined
      const isStray = isNew && !row?.gained.includes(name)
      this.#check(`span ${said}`, isStray ? `has ${key}, which is not its own` : undefined)
      const isLost = row?.lost.includes(name)
      this.#unlessExcepted(`${said} ${key}`, `span ${said}`, isLost ? `has ${key} no more` : undefined)
    }
  }

  #status({ attributes, status }: OtlpSpan): void {
    const kind = attributes.find(({ key }) => key === 'hermes.span.kind')?.value['stringValue']
    const hasType = attributes.some(({ key }) => key === 'error.type')
    const isError = status?.code === ERROR
    this.#check(`span ${kind}`, isError && !hasType ? 'has the status ERROR and no error.type' : undefined)
    this.#check(`span ${kind}`, hasType && !isError ? 'has an error.type and not the status ERROR' : undefined)
  }

  #unlessExcepted(name: string, what: string, problem: string | undefined): void {
    const isExcepted = this.#isNext && problem !== undefined && NEXT_EXCEPTIONS[name] !== undefined
    if (isExcepted) this.exceptions.add(name)
    else this.#check(what, problem)
  }

  #check(what: string, problem: string | undefined): void {
    if (problem !== undefined) this.#problems.add(`${what} ${problem}`)
  }
}

function eventProblem(name: string): string | undefined {
  const isKnown = name === 'exception' || !('problem' in attributeNamed(name))
  return isKnown ? undefined : 'is no event of ours, nor of the conventions'
}

function kindOf({ sum, gauge, histogram }: OtlpMetric): string {
  if (histogram) return 'histogram'
  if (gauge) return 'gauge'
  return sum?.isMonotonic ? 'counter' : 'up_down_counter'
}

function pointsOf({ sum, gauge, histogram }: OtlpMetric): readonly OtlpPoint[] {
  return (histogram ?? gauge ?? sum)?.dataPoints ?? []
}
