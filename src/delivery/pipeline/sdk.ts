import type { Context } from '@opentelemetry/api'
import { load } from '../load-package.ts'

// Each package and module is loaded on first use, so that an unconfigured backend loads nothing.

let openTelemetryApi: typeof import('@opentelemetry/api') | undefined

/** Cached: each span needs it, and `require` resolves a name anew each time. */
export function api(): typeof import('@opentelemetry/api') {
  openTelemetryApi ??= load<typeof import('@opentelemetry/api')>('@opentelemetry/api')
  return openTelemetryApi
}

export const traceSdk = (): typeof import('@opentelemetry/sdk-trace-base') => load('@opentelemetry/sdk-trace-base')
export const metricsSdk = (): typeof import('@opentelemetry/sdk-metrics') => load('@opentelemetry/sdk-metrics')
export const transformer = (): typeof import('@opentelemetry/otlp-transformer') =>
  load('@opentelemetry/otlp-transformer')
export const prometheusExporter = (): typeof import('@opentelemetry/exporter-prometheus') =>
  load('@opentelemetry/exporter-prometheus')
export const tls = (): typeof import('node:tls') => load('node:tls')
export const http = (): typeof import('node:http') => load('node:http')
export const https = (): typeof import('node:https') => load('node:https')
export const http2 = (): typeof import('node:http2') => load('node:http2')
export const zlib = (): typeof import('node:zlib') => load('node:zlib')
export const childProcess = (): typeof import('node:child_process') => load('node:child_process')

/** The key of `@opentelemetry/core`, which is not loaded for it. `createContextKey` of the API is `Symbol.for`. */
const SUPPRESSION_KEY = Symbol.for('OpenTelemetry SDK Context Key SUPPRESS_TRACING')

export function isTracingSuppressed(context: Context): boolean {
  return context.getValue(SUPPRESSION_KEY) === true
}

/** Suppresses tracing while telemetry is sent, so that a host that traces its own HTTP requests does not trace ours. */
export function untraced<Arguments extends unknown[], Result>(
  run: (...given: Arguments) => Result,
  ...given: Arguments
): Result {
  const { context } = api()
  return context.with(context.active().setValue(SUPPRESSION_KEY, true), run, undefined, ...given)
}
