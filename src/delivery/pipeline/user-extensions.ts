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
      const isDone = await within(waitMillis, Promise.resolve(call(method)))
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
  const ask = <Answer>(method: keyof IMetricReader, of: unknown, usual?: Answer): Answer =>
    (proxy.call(method, of) ?? usual) as Answer
  return {
    setMetricProducer: producer => void proxy.call('setMetricProducer', producer),
    selectAggregation: of => ask('selectAggregation', of, { type: AggregationType.DEFAULT }),
    selectAggregationTemporality: of => ask('selectAggregationTemporality', of, AggregationTemporality.CUMULATIVE),
    selectCardinalityLimit: of => ask('selectCardinalityLimit', of, 2000),
    collect: options => ask('collect', options),
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
  const proxiesOf = (option: string, given: unknown, methods: readonly string[]): ExtensionProxy[] => {
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
  const processors = proxiesOf('spanProcessors', spanProcessors, ['onStart', 'onEnd'])
  const readers = proxiesOf('metricReaders', metricReaders, ['setMetricProducer', 'collect'])
  return { spanProcessors: processors.map(processorOf), metricReaders: readers.map(readerOf) }
}

/** Keeps the process alive during a wait: a request does not, as a hanging collector must not. False if time is up first. */
export async function within(millis: number, done: Promise<unknown>): Promise<boolean> {
  let hold: NodeJS.Timeout | undefined
  const elapsed = new Promise<boolean>(resolve => {
    hold = setTimeout(resolve, millis, false)
  })
  const isDone = await Promise.race([done.then(() => true), elapsed])
  clearTimeout(hold)
  return isDone
}
