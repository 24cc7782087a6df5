import { load } from '../load-package.ts'

// Packages of OpenTelemetry used by the trace log.

export function api(): typeof import('@opentelemetry/api') {
  return load('@opentelemetry/api')
}

export function resources(): typeof import('@opentelemetry/resources') {
  return load('@opentelemetry/resources')
}
