import type { Context } from '@opentelemetry/api'
import { load } from '../load-package.ts'

// Each package and module is loaded on first use, so that an unconfigured backend loads nothing.

let openTelemetryApi: typeof import('@opentelemetry/api') | undefined

/** Cached: each span needs it, and `require` resolves a name anew each time. */
export function api(): typeof import('@opentelemetry/api') {
  openTelemetryApi ??= load<typeof import('@opentelemetry/api')>('@opentelemetry/api')
  return openTelemetryApi
}

export function traceSdk(): typeof import('@opentelemetry/sdk-trace-base') {
  return load('@opentelemetry/sdk-trace-base')
}

export function metricsSdk(): typeof import('@opentelemetry/sdk-metrics') {
  return load('@opentelemetry/sdk-metrics')
}

export function transformer(): typeof import('@opentelemetry/otlp-transformer') {
  return load('@opentelemetry/otlp-transformer')
}

export function prometheusExporter(): typeof import('@opentelemetry/exporter-prometheus') {
  return load('@opentelemetry/exporter-prometheus')
}

export function tls(): typeof import('node:tls') {
  return load('node:tls')
}

export function http(): typeof import('node:http') {
  return load('node:http')
}

export function https(): typeof import('node:https') {
  return load('node:https')
}

export function http2(): typeof import('node:http2') {
  return load('node:http2')
}

export function zlib(): typeof import('node:zlib') {
  return load('node:zlib')
}

export function childProcess(): typeof import('node:child_process') {
  return load('node:child_process')
}

let contextKey: symbol | undefined

/** The key of `@opentelemetry/core`, which is not loaded for it. */
function suppressionKey(): symbol {
  contextKey ??= api().createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING')
  return contextKey
}

export function isTracingSuppressed(context: Context): boolean {
  return context.getValue(suppressionKey()) === true
}

/** Suppresses tracing while telemetry is sent, so that a host that traces its own HTTP requests does not trace ours. */
export function untraced<Arguments extends unknown[], Result>(
  run: (...given: Arguments) => Result,
  ...given: Arguments
): Result {
  const { context } = api()
  return context.with(context.active().setValue(contextKey ?? suppressionKey(), true), run, undefined, ...given)
}
