import type { IMetricReader } from '@opentelemetry/sdk-metrics'
import type { SpanProcessor as SdkSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { metricsSdk } from './sdk.ts'
import type { Reporter } from './settings.ts'

/** A processor of the OpenTelemetry SDK, of `@opentelemetry/sdk-trace-base` */
export type SpanProcessor = SdkSpanProcessor
/** A reader of the OpenTelemetry SDK, of `@opentelemetry/sdk-metrics` */
export type MetricReader = IMetricReader

/** Processors and readers passed by the user. Unchecked: the values need not match their types. */
export interface UserExtensionOptions {
  readonly spanProcessors?: readonly SpanProcessor[] | undefined
  readonly metricReaders?: readonly IMetricReader[] | undefined
}

type Methods = Readonly<Record<string, (...of: unknown[]) => unknown>>

/** A processor or reader of the user. If one of its methods throws or never settles, nothing else is affected. */
class ExtensionProxy {
  readonly #methods: Methods
  readonly #name: string
  readonly #waitMillis: number
  readonly #warn: (line: string) => void
  readonly #warned = new Set<string>()

  constructor(methods: object, name: string, waitMillis: number, warn: (line: string) => void) {
    this.#methods = methods as Methods
    this.#name = name
    this.#waitMillis = waitMillis
    this.#warn = warn
  }

  call(method: string, ...of: unknown[]): unknown {
    try {
      const answer = this.#methods[method]?.(...of)
      if (answer instanceof Object && 'then' in answer) {
        return Promise.resolve(answer).catch(() => this.#warnOnce(method, 'failed'))
      }
      return answer
    } catch {
      this.#warnOnce(method, 'failed')
      return undefined
    }
  }

  async callBounded(method: string): Promise<void> {
    let isDone = false
    const done = Promise.resolve(this.call(method)).then(() => {
      isDone = true
    })
    await within(this.#waitMillis, done)
    if (!isDone) this.#warnOnce(method, `was not done after ${this.#waitMillis} ms`)
  }

  #warnOnce(method: string, what: string): void {
    if (this.#warned.has(method)) return
    this.#warned.add(method)
    this.#warn(`${this.#name}: its ${method} ${what}; everything else goes on`)
  }
}

function hasMethods(given: unknown, methods: readonly string[]): given is object {
  try {
    return (
      given instanceof Object &&
      methods.every(method => typeof (given as Record<string, unknown>)[method] === 'function')
    )
  } catch {
    return false
  }
}

function proxiesOf(
  option: string,
  given: unknown,
  methods: readonly string[],
  { waitMillis, report }: { readonly waitMillis: number; readonly report: Pick<Reporter, 'warn'> },
): ExtensionProxy[] {
  if (given === undefined) return []
  if (!Array.isArray(given)) {
    report.warn(`${option}: expected a list; nothing is added`)
    return []
  }
  const warn = (line: string): void => report.warn(line)
  return given.flatMap((one: unknown, index) => {
    const name = `${option}[${index}]`
    if (hasMethods(one, methods)) return [new ExtensionProxy(one, name, waitMillis, warn)]
    report.warn(`${name}: expected an object with the methods ${methods.join(', ')}; it is left out`)
    return []
  })
}

function processorOf(proxy: ExtensionProxy): SpanProcessor {
  return {
    onStart: (span, context) => void proxy.call('onStart', span, context),
    onEnd: span => void proxy.call('onEnd', span),
    forceFlush: () => proxy.callBounded('forceFlush'),
    shutdown: () => proxy.callBounded('shutdown'),
  }
}

/** Instruments ask a reader for aggregation and limits. Without an answer the defaults of the SDK apply. */
function readerOf(proxy: ExtensionProxy): IMetricReader {
  const { AggregationTemporality, AggregationType } = metricsSdk()
  type Of<Method extends keyof IMetricReader> = ReturnType<IMetricReader[Method]>
  const usual = { type: AggregationType.DEFAULT } as const
  return {
    setMetricProducer: producer => void proxy.call('setMetricProducer', producer),
    selectAggregation: of => (proxy.call('selectAggregation', of) as Of<'selectAggregation'> | undefined) ?? usual,
    selectAggregationTemporality: of =>
      (proxy.call('selectAggregationTemporality', of) as Of<'selectAggregationTemporality'> | undefined) ??
      AggregationTemporality.CUMULATIVE,
    selectCardinalityLimit: of =>
      (proxy.call('selectCardinalityLimit', of) as Of<'selectCardinalityLimit'> | undefined) ?? 2000,
    collect: options => proxy.call('collect', options) as Of<'collect'>,
    forceFlush: () => proxy.callBounded('forceFlush'),
    shutdown: () => proxy.callBounded('shutdown'),
  }
}

export class UserExtensions {
  readonly spanProcessors: readonly SpanProcessor[]
  readonly metricReaders: readonly IMetricReader[]

  constructor(
    { spanProcessors, metricReaders }: UserExtensionOptions,
    waitMillis: number,
    report: Pick<Reporter, 'warn'> = { warn: () => undefined },
  ) {
    const how = { waitMillis, report }
    this.spanProcessors = proxiesOf('spanProcessors', spanProcessors, ['onStart', 'onEnd'], how).map(processorOf)
    this.metricReaders = proxiesOf('metricReaders', metricReaders, ['setMetricProducer', 'collect'], how).map(readerOf)
  }

  /** Flushes the processors only: the meter provider flushes the readers. */
  async flush(): Promise<void> {
    await Promise.all(this.spanProcessors.map(processor => processor.forceFlush()))
  }

  async shutdown(): Promise<void> {
    await Promise.all(this.spanProcessors.map(processor => processor.shutdown()))
  }
}

/** Keeps the process alive during a wait. Requests do not: a hanging collector must not hold the process. */
export async function within(millis: number, done: Promise<unknown>): Promise<void> {
  let hold: NodeJS.Timeout | undefined
  const elapsed = new Promise(resolve => {
    hold = setTimeout(resolve, millis)
  })
  await Promise.race([done, elapsed])
  clearTimeout(hold)
}
