import type { IMetricReader } from '@opentelemetry/sdk-metrics'
import type { SpanProcessor as SdkSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { metricsSdk } from './sdk.ts'

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

type ExtensionProxy = ReturnType<typeof proxyOf>

/** Calls a processor or reader of the user. If one of its methods throws or never settles, nothing else is affected. */
function proxyOf(target: object, name: string, waitMillis: number, warn: (line: string) => void) {
  const warned = new Set<string>()
  const warnOnce = (method: string, what: string): void => {
    if (!warned.has(method)) warn(`${name}: its ${method} ${what}; everything else goes on`)
    warned.add(method)
  }
  const call = (method: string, ...of: unknown[]): unknown => {
    try {
      const answer = (target as Methods)[method]?.(...of)
      if (!(answer instanceof Object && 'then' in answer)) return answer
      return Promise.resolve(answer).catch(() => warnOnce(method, 'failed'))
    } catch {
      return warnOnce(method, 'failed')
    }
  }
  return {
    call,
    async callBounded(method: string): Promise<void> {
      let isDone = false
      const done = Promise.resolve(call(method)).then(() => {
        isDone = true
      })
      await within(waitMillis, done)
      if (!isDone) warnOnce(method, `was not done after ${waitMillis} ms`)
    },
  }
}

function hasMethods(given: unknown, methods: readonly string[]): given is object {
  try {
    return given instanceof Object && methods.every(method => typeof (given as Methods)[method] === 'function')
  } catch {
    return false
  }
}

function proxiesOf(
  option: string,
  given: unknown,
  methods: readonly string[],
  waitMillis: number,
  warn: (line: string) => void,
): ExtensionProxy[] {
  if (given === undefined) return []
  if (!Array.isArray(given)) {
    warn(`${option}: expected a list; nothing is added`)
    return []
  }
  return given.flatMap((one: unknown, index) => {
    const name = `${option}[${index}]`
    if (hasMethods(one, methods)) return [proxyOf(one, name, waitMillis, warn)]
    warn(`${name}: expected an object with the methods ${methods.join(', ')}; it is left out`)
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
  const cumulative = AggregationTemporality.CUMULATIVE
  type Of<Method extends keyof IMetricReader> = ReturnType<IMetricReader[Method]>
  const usual = { type: AggregationType.DEFAULT } as const
  return {
    setMetricProducer: producer => void proxy.call('setMetricProducer', producer),
    selectAggregation: of => (proxy.call('selectAggregation', of) ?? usual) as Of<'selectAggregation'>,
    selectAggregationTemporality: of =>
      (proxy.call('selectAggregationTemporality', of) ?? cumulative) as Of<'selectAggregationTemporality'>,
    selectCardinalityLimit: of => (proxy.call('selectCardinalityLimit', of) ?? 2000) as number,
    collect: options => proxy.call('collect', options) as Of<'collect'>,
    forceFlush: () => proxy.callBounded('forceFlush'),
    shutdown: () => proxy.callBounded('shutdown'),
  }
}

/** Processors and readers that can be called safely. */
export interface UserExtensions {
  readonly spanProcessors: readonly SpanProcessor[]
  readonly metricReaders: readonly IMetricReader[]
}

export function userExtensions(
  { spanProcessors, metricReaders }: UserExtensionOptions,
  waitMillis: number,
  warn: (line: string) => void,
): UserExtensions {
  const processors = proxiesOf('spanProcessors', spanProcessors, ['onStart', 'onEnd'], waitMillis, warn)
  const readers = proxiesOf('metricReaders', metricReaders, ['setMetricProducer', 'collect'], waitMillis, warn)
  return { spanProcessors: processors.map(processorOf), metricReaders: readers.map(readerOf) }
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
