import { createRequire } from 'node:module'

/** Loads packages of OpenTelemetry when something that needs them is read: importing this room loads none. */
const load: NodeJS.Require = createRequire(import.meta.url)

export function api(): typeof import('@opentelemetry/api') {
  return load('@opentelemetry/api')
}

export function resources(): typeof import('@opentelemetry/resources') {
  return load('@opentelemetry/resources')
}
