import { load } from '../load-package.ts'

// Each package and module is loaded on first use, so that an unconfigured backend loads nothing.

export function api(): typeof import('@opentelemetry/api') {
  return load('@opentelemetry/api')
}

export function resources(): typeof import('@opentelemetry/resources') {
  return load('@opentelemetry/resources')
}

function core(): typeof import('@opentelemetry/core') {
  return load('@opentelemetry/core')
}

export function conventions(): typeof import('@opentelemetry/semantic-conventions') {
  return load('@opentelemetry/semantic-conventions')
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

export function zlib(): typeof import('node:zlib') {
  return load('node:zlib')
}

/** Suppresses tracing while telemetry is sent, so that a host that traces its own HTTP requests does not trace ours. */
export function untraced<Result>(run: () => Result): Result {
  const { context } = api()
  return context.with(core().suppressTracing(context.active()), run)
}
