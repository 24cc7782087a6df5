import type { BackendType } from '../../delivery/backends/backend-config.ts'
import { BACKEND_TYPES, BACKENDS } from '../../delivery/backends/rows.ts'

export function ownFields(type: BackendType): readonly string[] {
  return Object.keys(BACKENDS[type].options)
}

/** Environment variables that provide a type's own field if it is absent. The first one that is set counts. */
export function vendorVariables(type: BackendType): readonly (readonly [field: string, names: readonly string[]])[] {
  return Object.entries(BACKENDS[type].options).map(([field, { variables }]) => [field, variables ?? []])
}

const OPTIONS = BACKEND_TYPES.flatMap(type => Object.entries(BACKENDS[type].options))

/** True if the value of a type's own field may be shown. Unknown fields may hold credentials. */
export function isShownField(name: string): boolean {
  const rows = OPTIONS.filter(([key]) => key === name)
  return rows.length > 0 && rows.every(([, { secret }]) => !secret)
}

/** True if the value is a path, in which `~/` is the home directory. */
export function isPathField(name: string): boolean {
  return OPTIONS.some(([key, { path }]) => key === name && path)
}

/** The fields that every backend has. `docs/configuration.md` is generated from this. */
export const BACKEND_FIELDS = {
  type: 'One of the types below; the only required field',
  name: 'Name in messages and statistics; default: the type',
  endpoint: 'http(s) URL: base, or the full URL of a signal; default: by type',
  exact_endpoint: 'Use the endpoint as it is; default: append `/v1/traces`, `/v1/metrics` or `/v1/logs` if missing',
  headers: 'Mapping of HTTP headers; they override those of the type',
  protocol: '`http/json` or `http/protobuf`; default: by type',
  compression: '`gzip` or `none`',
  timeout_ms: 'Time limit of a request, retries included; default: `span_batch_export_timeout_ms`',
  traces: 'Send traces; default: if the type accepts them',
  metrics: 'Send metrics; default: if the type accepts them',
  logs: 'Send [log events](opentelemetry.md#log-events); default: no',
  temporality: 'Metric temporality: `cumulative`, `delta` or `lowmemory`; default: by type',
  certificate: 'Path of a PEM file with the certificate authorities to trust',
  client_certificate: 'Path of a PEM file with the client certificate (mTLS) and its intermediates',
  client_key: 'Path of a PEM file with the key of that certificate, without a passphrase',
} as const
